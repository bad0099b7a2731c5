/**
 * Takes the jobs that rebuild figures from the log, one after the other over all organizations, and leads each through
 * its phases (`runs.ts`). Every step is a transaction of its own or can be done again, so whoever has the duty goes on
 * where the last one ended. It is a unit like a partition: leased where several processes share the work.
 *
 * Decision: one run at a time. A run reads the whole log; two would read it twice as slowly, beside those who count.
 */
import { Cause, Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { DAY_MS } from "../figures/grain.ts"
import { Outbox } from "@dowser/log/outbox"
import { EventLog } from "@dowser/log/event-log/event-log"
import type { FingerprintKey } from "@dowser/log/fingerprint"
import { Identifiers } from "@dowser/log/identifiers"
import { Erasures, makerOf } from "../erasure/erasures.ts"
import { linksOf, placeOf } from "../erasure/linking.ts"
import { rewritePartition } from "../erasure/rewriting.ts"
import { removeRows } from "../erasure/rows.ts"
import { CONTENTS } from "../erasure/subjects.ts"
import { expireTombstones, extendTombstone, readTombstones } from "../erasure/tombstones.ts"
import { holdingPartition, readOffsets } from "../offsets/offsets.ts"
import { makeAttribution } from "../processors/attribution/processor.ts"
import { readersOf, type Runnable } from "../processors/runnable.ts"
import type { RunnerOptions } from "../runner/runner.ts"
import { BEHAVIOUR_EVENTS, deadLettersOf, partitionsOf, SEARCH_SERVED, TOPICS, type Topic } from "@dowser/log/topics"
import { daysWithin, readExtent } from "./extent.ts"
import {
  finishJob,
  nextJob,
  readJob,
  type RebuildingJob,
  startRun,
  tellProgress,
  tellReceipt,
  tellSwapped,
  toPhase,
  toSwapping
} from "./jobs.ts"
import { forgetRun, readPartitions, readRuns, type Run } from "./runs.ts"
import { emptyShadows, forgetMaker, lockPartitions, nextDay, settlePopularity, swapDay } from "./swap.ts"

const REPLAYS = "replays"
/** Who counts what is replayed. */
const GROUP = "attribution" satisfies ReturnType<typeof makeAttribution>["name"]
const INPUTS: ReadonlyArray<Topic> = [SEARCH_SERVED, BEHAVIOUR_EVENTS]
const LOOK_EVERY_MS = 250
const IDLE_LOOK_MS = 500
const AGAIN_MS = 1_000
const EXPIRE_EVERY_MS = 3_600_000
/** Of the whole way: reading the log, then the days. */
const BUILT = 0.8

export interface CoordinatorOptions {
  readonly visitorPartitions: number
  readonly fingerprintKey: FingerprintKey
}

const iso = (at: number): string => new Date(at).toISOString()
const added = (
  receipt: Readonly<Record<string, number>>,
  prefix: string,
  more: Readonly<Record<string, number>>
): Readonly<Record<string, number>> => {
  const sum: Record<string, number> = { ...receipt }
  for (const [name, n] of Object.entries(more)) sum[prefix + name] = (sum[prefix + name] ?? 0) + n
  return sum
}
const part = (receipt: Readonly<Record<string, number>>, prefix: string) =>
  Object.entries(receipt)
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, n]) => [key.slice(prefix.length), n] as const)
const TABLE = "table:",
  ENTRIES = "entries:",
  RECORDS = "records:",
  HIDDEN = "hidden:"

/**
 * Runs until interrupted, or until the duty is somebody else's. `probe` is told of the phase before each step, for
 * tests.
 */
export const coordinate = (
  { fingerprintKey, visitorPartitions }: CoordinatorOptions,
  { fence, probe }: Pick<RunnerOptions, "fence"> & { readonly probe?: (phase: string) => Effect.Effect<void> }
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const log = yield* EventLog
    const outbox = yield* Outbox
    const now = Clock.currentTimeMillis
    /** A transaction of whoever has the duty. */
    const inCharge = <A, E, R>(effect: Effect.Effect<A, E, R>) => holdingPartition(REPLAYS, 0, fence, effect)
    const withGroup = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      inCharge(Effect.andThen(lockPartitions(GROUP, visitorPartitions), effect))
    const partitionCount = (topic: Topic) => partitionsOf(topic, visitorPartitions)

    const start = Effect.fnUntraced(function* (job: RebuildingJob) {
      const at = yield* now
      const extent = yield* readExtent(INPUTS, visitorPartitions, at)
      const days =
        job.type === "subject_erasure"
          ? extent
          : daysWithin({ fromAt: job.config.from_at, beforeAt: job.config.before_at }, extent)
      yield* inCharge(
        Effect.andThen(
          emptyShadows,
          startRun(
            {
              ...days,
              group: GROUP,
              jobId: job.id,
              organizationId: job.organizationId,
              phase: job.type === "subject_erasure" ? "linking" : "building"
            },
            at
          )
        )
      )
    })

    const fail = (run: Run, error: string) =>
      withGroup(
        Effect.gen(function* () {
          yield* forgetRun(run.jobId)
          yield* finishJob(run.jobId, yield* now, { error })
        })
      )

    /** Of a run's erasure. */
    const tombstoneOf = ({ jobId }: Run) =>
      Effect.map(readTombstones, (all) => all.find((tombstone) => tombstone.jobId === jobId)!)
    const contentPartitions = TOPICS.filter(({ name }) => CONTENTS.has(name)).flatMap((topic) =>
      Array.from({ length: partitionCount(topic) }, (_, partition) => ({ topic, partition }))
    )

    const link = Effect.fnUntraced(function* (run: Run) {
      const tombstone = yield* tombstoneOf(run)
      // Searches that were answered before the erasure and appended a moment after it lie behind its offsets.
      const reach: Record<string, number> = {}
      for (const { partition, topic } of contentPartitions)
        reach[`${topic.name}/${partition}`] = (yield* log.bounds(topic.name, partition)).endOffset
      const { entries, isCut, prints } = yield* linksOf(tombstone, reach, fingerprintKey)
      yield* inCharge(
        Effect.gen(function* () {
          yield* extendTombstone(tombstone, prints)
          yield* toPhase(run, "linking", "building", {
            ...added({}, ENTRIES, entries),
            linked: prints.length - 1,
            ...(isCut ? { linked_cut: 1 } : {})
          })
        })
      )
    })

    const build = Effect.fnUntraced(function* (run: Run) {
      const partitions = yield* readPartitions(run.jobId)
      const failure = partitions.find((partition) => partition.failure !== undefined)?.failure
      if (failure !== undefined) return yield* fail(run, failure)
      const isBuilt = partitions.length === visitorPartitions && partitions.every(({ isAdopted }) => isAdopted)
      const done = partitions.reduce(
        (sum, { isAdopted, recordsDone, recordsTotal }) => sum + (isAdopted ? recordsTotal : recordsDone),
        0
      )
      const total = partitions.reduce((sum, { recordsTotal }) => sum + recordsTotal, 0)
      const share = total === 0 ? 0 : (Math.min(1, done / total) * partitions.length) / visitorPartitions
      yield* tellProgress(run.jobId, Math.round(100 * BUILT * share) / 100, yield* now)
      if (!isBuilt) return yield* Effect.sleep(LOOK_EVERY_MS)
      // What retention took while shadows were built, some of them may have missed.
      const extent = yield* readExtent(INPUTS, visitorPartitions, yield* now)
      yield* inCharge(
        toSwapping(run, extent.isCut ? Math.max(run.fromAt, extent.fromAt) : run.fromAt, {
          events: partitions.reduce((sum, { entries }) => sum + entries, 0)
        })
      )
    })

    const swap = Effect.fnUntraced(function* (run: Run) {
      const shadows = (yield* readPartitions(run.jobId)).map(({ shadow }) => shadow)
      const day = yield* nextDay(run.organizationId, shadows, run.swappedBefore, run.beforeAt)
      if (day >= run.beforeAt) return yield* inCharge(toPhase(run, "swapping", "settling"))
      yield* withGroup(
        Effect.gen(function* () {
          const rows = yield* swapDay(run.organizationId, shadows, day)
          yield* tellSwapped(run, day + DAY_MS, added(run.receipt, TABLE, rows))
        })
      )
      yield* tellProgress(
        run.jobId,
        Math.round(100 * (BUILT + ((0.95 - BUILT) * (day + DAY_MS - run.fromAt)) / (run.beforeAt - run.fromAt))) / 100,
        yield* now
      )
    })

    const settle = Effect.fnUntraced(function* (run: Run) {
      const job = yield* readJob(run.jobId)
      yield* withGroup(
        Effect.gen(function* () {
          const query_popularity = yield* settlePopularity(run.organizationId)
          let receipt = added(run.receipt, TABLE, { query_popularity })
          if (job.type === "event_replay") return yield* finishReplay(run, job, receipt)
          const { prints } = yield* tombstoneOf(run)
          receipt = added(receipt, TABLE, yield* forgetMaker(run.organizationId, prints.map(makerOf)))
          // The rows are the shadows' now, and so is the state: nobody needs to repeat anything.
          yield* sql`DELETE FROM stream_replay_partitions WHERE job_id = ${run.jobId}`
          yield* toPhase(run, "settling", "cleaning", receipt)
        })
      )
    })

    const rangeOf = ({ beforeAt, fromAt }: Run) =>
      beforeAt > fromAt ? { from: iso(fromAt), to: iso(beforeAt - 1) } : {}
    const tablesOf = (receipt: Run["receipt"]) => part(receipt, TABLE).map(([name, rows]) => ({ name, rows }))

    const finishReplay = Effect.fnUntraced(function* (
      run: Run,
      job: RebuildingJob & { readonly type: "event_replay" },
      receipt: Run["receipt"]
    ) {
      const at = yield* now
      const told = { target: job.config.target, ...rangeOf(run), events: receipt.events ?? 0 }
      yield* forgetRun(run.jobId)
      yield* finishJob(run.jobId, at, { result: { ...told, tables: tablesOf(receipt) } })
      yield* outbox.put(run.organizationId, "event.replayed", { job_id: run.jobId, ...told })
    })

    /** Everybody has passed what the tombstone covers: what was to be written of it is. */
    const isPassed = Effect.fnUntraced(function* (ends: Readonly<Record<string, number>>) {
      for (const [place, end] of Object.entries(ends)) {
        const { partition, topic: name } = placeOf(place)
        const topic = TOPICS.find((one) => one.name === name)
        if (topic === undefined || end === 0) continue
        for (const group of readersOf(topic))
          if (((yield* readOffsets(group, partition))[name] ?? 0) < end) return false
      }
      return true
    })

    const clean = Effect.fnUntraced(function* (run: Run) {
      const tombstone = yield* tombstoneOf(run)
      const job = yield* readJob(run.jobId)
      if (job.type !== "subject_erasure") return
      if (!(yield* isPassed(tombstone.ends))) return yield* Effect.sleep(LOOK_EVERY_MS)
      const erasures = new Erasures([tombstone], fingerprintKey)
      const { user_id } = job.config
      let receipt = run.receipt
      const keep = (more: Run["receipt"]) =>
        Effect.suspend(() => {
          receipt = more
          return inCharge(tellReceipt(run, receipt))
        })
      yield* keep(added(receipt, TABLE, yield* removeRows(tombstone, erasures, user_id)))
      const places = [
        ...contentPartitions.map(({ partition, topic }) => ({ topic, partition, isDeadLetters: false })),
        ...TOPICS.filter(({ name }) => CONTENTS.has(name)).map((topic) => ({
          topic: deadLettersOf(topic),
          partition: 0,
          isDeadLetters: true
        }))
      ]
      for (const { isDeadLetters, partition, topic } of places) {
        const { endOffset } = yield* log.bounds(topic.name, partition)
        const rewritten = yield* rewritePartition(erasures, user_id, topic.name, partition, endOffset, isDeadLetters)
        const hiddenUntil = tombstone.erasedAt + topic.retentionHours * 3_600_000
        yield* keep(
          rewritten === undefined
            ? { ...receipt, [HIDDEN + topic.name]: hiddenUntil }
            : added(
                added(receipt, RECORDS, { [topic.name]: rewritten.records }),
                ENTRIES,
                isDeadLetters ? { [topic.name]: rewritten.entries } : {}
              )
        )
      }
      const entries = new Map(part(receipt, ENTRIES))
      const records = new Map(part(receipt, RECORDS))
      const hidden = new Map(part(receipt, HIDDEN))
      const at = yield* now
      const result = {
        erased_at: tombstone.erasedAt,
        linked_ids: receipt.linked ?? 0,
        ...(receipt.linked_cut === undefined ? {} : { linked_ids_cut: true }),
        topics: [...new Set(places.map(({ topic }) => topic.name))].map((name) => ({
          name,
          entries: entries.get(name) ?? 0,
          ...(hidden.has(name) ? { hidden_until: hidden.get(name) } : { records_rewritten: records.get(name) ?? 0 })
        })),
        tables: tablesOf(receipt),
        state: [{ name: GROUP, partitions: visitorPartitions }],
        models: [],
        figures: rangeOf(run)
      }
      yield* inCharge(
        Effect.gen(function* () {
          yield* forgetRun(run.jobId)
          yield* finishJob(run.jobId, at, { result })
        })
      )
    })

    const steps = { linking: link, building: build, swapping: swap, settling: settle, cleaning: clean } as const
    let expiredAt = 0
    const expire = Effect.gen(function* () {
      const at = yield* now
      if (at - expiredAt < EXPIRE_EVERY_MS) return
      expiredAt = at
      const starts: Record<string, number> = {}
      for (const { partition, topic } of contentPartitions)
        starts[`${topic.name}/${partition}`] = (yield* log.bounds(topic.name, partition)).startOffset
      yield* inCharge(expireTombstones(starts))
    })

    const round = Effect.gen(function* () {
      const run = (yield* readRuns).find(({ group }) => group === GROUP)
      if (run !== undefined) {
        yield* probe?.(run.phase) ?? Effect.void
        return yield* steps[run.phase](run)
      }
      const job = yield* nextJob
      if (job !== undefined) return yield* start(job)
      yield* expire
      yield* Effect.sleep(IDLE_LOOK_MS)
    })
    for (let isMine = true; isMine;) {
      isMine = yield* Effect.suspend(() => Effect.as(round, true)).pipe(
        Effect.catchTag("LeaseLost", () => Effect.succeed(false)),
        Effect.catchCause((cause) =>
          Cause.hasInterruptsOnly(cause)
            ? Effect.interrupt
            : Effect.as(
                Effect.andThen(
                  Effect.logError("A replay stands still and is tried again", cause),
                  Effect.sleep(AGAIN_MS)
                ),
                true
              )
        )
      )
    }
  }).pipe(Effect.provide(Layer.provide(Outbox.layer, Identifiers.layer)))

export const makeReplays = (options: CoordinatorOptions): Runnable => ({
  name: REPLAYS,
  inputs: [],
  run: ({ fence }) => coordinate(options, { ...(fence === undefined ? {} : { fence }) })
})
