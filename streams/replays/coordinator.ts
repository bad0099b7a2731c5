/**
 * Takes the jobs that rebuild figures from the log, one after another over all organizations, and leads each through
 * its phases (`runs.ts`; one file each in `phases/`). Every step is a transaction of its own or can be repeated, so a
 * process that takes over continues where the last one stopped. It is a singleton task: leased, like a partition, if
 * several processes share the work.
 *
 * Decision: one run at a time. A run reads the entire log; two would each read it half as fast, alongside the
 * processors that count.
 */
import { Cause, Clock, Effect, Layer } from "effect"
import { EventLog } from "@dowser/log/event-log/event-log"
import { Identifiers } from "@dowser/log/identifiers"
import { Outbox } from "@dowser/log/outbox"
import { expireTombstones } from "../erasure/tombstones.ts"
import type { Runnable } from "../processors/runnable.ts"
import type { RunnerOptions } from "../runner/options.ts"
import { ReplayContext, type ReplayOptions, REPLAYS } from "./replay-context.ts"
import { daysWithin, readExtent } from "./extent.ts"
import { nextJob, type RebuildingJob, startRun } from "./jobs.ts"
import { build } from "./phases/building.ts"
import { clean } from "./phases/cleaning.ts"
import { link } from "./phases/linking.ts"
import { settle } from "./phases/settling.ts"
import { swap } from "./phases/swapping.ts"
import { readRuns } from "../shadow/runs.ts"

const IDLE_LOOK_MS = 500
const AGAIN_MS = 1_000
const EXPIRE_EVERY_MS = 3_600_000

/** A step of each phase; a phase ends with a step that records its end in Postgres. */
const steps = { linking: link, building: build, swapping: swap, settling: settle, cleaning: clean } as const

const start = Effect.fnUntraced(function* (context: ReplayContext, job: RebuildingJob) {
  const { rebuilt, visitorPartitions } = context.options
  const at = yield* Clock.currentTimeMillis
  const extent = yield* readExtent(rebuilt.inputs, visitorPartitions, at)
  const days =
    job.type === "subject_erasure"
      ? extent
      : daysWithin({ fromAt: job.config.from_at, beforeAt: job.config.before_at }, extent)
  yield* context.inCharge(
    Effect.gen(function* () {
      for (const { rebuilding } of context.figures) yield* rebuilding?.emptyShadows ?? Effect.void
      yield* startRun(
        {
          ...days,
          group: context.group,
          jobId: job.id,
          organizationId: job.organizationId,
          phase: job.type === "subject_erasure" ? "linking" : "building"
        },
        at
      )
    })
  )
})

/** Removes tombstones that no longer hide anything. */
const expire = Effect.fnUntraced(function* (context: ReplayContext) {
  const log = yield* EventLog
  const starts = new Map<string, number>()
  for (const { partition, topic } of context.contentPlaces)
    starts.set(`${topic.name}/${partition}`, (yield* log.bounds(topic.name, partition)).startOffset)
  yield* context.inCharge(expireTombstones(Object.fromEntries(starts)))
})

/**
 * Runs until interrupted, or until another process holds the lease. `probe` is called with the phase before each step,
 * for tests.
 */
export const coordinate = (
  options: ReplayOptions,
  { fence, probe }: Pick<RunnerOptions, "fence"> & { readonly probe?: (phase: string) => Effect.Effect<void> }
) =>
  Effect.gen(function* () {
    const context = new ReplayContext(options, fence)
    let expiredAt = 0
    const round = Effect.gen(function* () {
      const run = (yield* readRuns).find(({ group }) => group === context.group)
      if (run !== undefined) {
        yield* probe?.(run.phase) ?? Effect.void
        return yield* steps[run.phase](context, run)
      }
      const job = yield* nextJob
      if (job !== undefined) return yield* start(context, job)
      const at = yield* Clock.currentTimeMillis
      if (at - expiredAt >= EXPIRE_EVERY_MS) {
        expiredAt = at
        yield* expire(context)
      }
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
                  Effect.logError("A replay makes no progress and is retried", cause),
                  Effect.sleep(AGAIN_MS)
                ),
                true
              )
        )
      )
    }
  }).pipe(Effect.provide(Layer.provide(Outbox.layer, Identifiers.layer)))

export const makeReplays = (options: ReplayOptions): Runnable => ({
  name: REPLAYS,
  inputs: [],
  run: ({ fence }) => coordinate(options, { ...(fence === undefined ? {} : { fence }) })
})
