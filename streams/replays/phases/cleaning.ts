/**
 * Phase of an erasure: removes the person's rows elsewhere and the person's entries in the log, then writes the
 * receipt.
 */
import { Clock, Effect } from "effect"
import { EventLog } from "@dowser/log/event-log/event-log"
import { TOPICS } from "@dowser/log/topics"
import { Erasures, type Tombstone } from "../../erasure/erasures.ts"
import { placeOf } from "../../erasure/linking.ts"
import { rewritePartition } from "../../erasure/rewriting.ts"
import { erasedRows, removeDeliveries } from "../../erasure/rows.ts"
import { readOffsets } from "../../offsets/offsets.ts"
import { readersOf } from "../../processors/runnable.ts"
import { type ReplayContext, type LogPlace, tombstoneOf } from "../replay-context.ts"
import { finishJob, readJob, storeReceipt } from "../jobs.ts"
import { added, ENTRIES, HIDDEN, modelsOf, part, rangeOf, RECORDS, TABLE, tablesOf, takenOut } from "../receipt.ts"
import { forgetRun, type Run } from "../../shadow/runs.ts"

const LOOK_EVERY_MS = 250

/** Whether all processors have passed the tombstone, so that everything they had to write is written. */
const isPassed = Effect.fnUntraced(function* (ends: Readonly<Record<string, number>>) {
  for (const [place, end] of Object.entries(ends)) {
    const { partition, topic: name } = placeOf(place)
    const topic = TOPICS.find((one) => one.name === name)
    if (topic === undefined || end === 0) continue
    for (const group of readersOf(topic)) if (((yield* readOffsets(group, partition))[name] ?? 0) < end) return false
  }
  return true
})

/** Returns the receipt with the rows of all keepers, in the order of the list, followed by outgoing deliveries. */
const removeAllRows = Effect.fnUntraced(function* (
  context: ReplayContext,
  tombstone: Tombstone,
  erasures: Erasures,
  userId: string,
  before: Run["receipt"]
) {
  const erased = erasedRows(tombstone, erasures, userId)
  let receipt = before
  for (const keeper of context.options.keepers) {
    const { removeRows } = keeper.erasing
    if (removeRows !== undefined) receipt = takenOut(receipt, keeper, yield* removeRows(erased))
  }
  return added(receipt, TABLE, yield* removeDeliveries(erased))
})

/** Returns the receipt with one partition of the log, rewritten or hidden until its topic's retention ends. */
const cleanPlace = Effect.fnUntraced(function* (
  { isDeadLetters, partition, topic }: LogPlace,
  tombstone: Tombstone,
  erasures: Erasures,
  userId: string,
  receipt: Run["receipt"]
) {
  const log = yield* EventLog
  const { endOffset } = yield* log.bounds(topic.name, partition)
  const rewritten = yield* rewritePartition(erasures, userId, topic.name, partition, endOffset, isDeadLetters)
  const hiddenUntil = tombstone.erasedAt + topic.retentionHours * 3_600_000
  return rewritten === undefined
    ? { ...receipt, [HIDDEN + topic.name]: hiddenUntil }
    : added(
        added(receipt, RECORDS, { [topic.name]: rewritten.records }),
        ENTRIES,
        isDeadLetters ? { [topic.name]: rewritten.entries } : {}
      )
})

const resultOf = (
  context: ReplayContext,
  run: Run,
  { erasedAt }: Tombstone,
  places: ReadonlyArray<LogPlace>,
  receipt: Run["receipt"]
) => {
  const entries = new Map(part(receipt, ENTRIES))
  const records = new Map(part(receipt, RECORDS))
  const hidden = new Map(part(receipt, HIDDEN))
  return {
    erased_at: erasedAt,
    linked_ids: receipt.linked ?? 0,
    ...(receipt.linked_cut === undefined ? {} : { linked_ids_cut: true }),
    topics: [...new Set(places.map(({ topic }) => topic.name))].map((name) => ({
      name,
      entries: entries.get(name) ?? 0,
      ...(hidden.has(name) ? { hidden_until: hidden.get(name) } : { records_rewritten: records.get(name) ?? 0 })
    })),
    tables: tablesOf(receipt),
    state: [{ name: context.group, partitions: context.options.visitorPartitions }],
    models: modelsOf(receipt, context.options.keepers, context.options.liveStates),
    figures: rangeOf(run)
  }
}

export const clean = Effect.fnUntraced(function* (context: ReplayContext, run: Run) {
  const tombstone = yield* tombstoneOf(run)
  const job = yield* readJob(run.jobId)
  if (job.type !== "subject_erasure") return
  if (!(yield* isPassed(tombstone.ends))) return yield* Effect.sleep(LOOK_EVERY_MS)
  const erasures = new Erasures([tombstone], context.options.fingerprintKey)
  const { user_id } = job.config
  let receipt = yield* removeAllRows(context, tombstone, erasures, user_id, run.receipt)
  yield* context.inCharge(storeReceipt(run, receipt))
  const places = context.erasedPlaces
  for (const place of places) {
    receipt = yield* cleanPlace(place, tombstone, erasures, user_id, receipt)
    yield* context.inCharge(storeReceipt(run, receipt))
  }
  const at = yield* Clock.currentTimeMillis
  yield* context.inCharge(
    Effect.gen(function* () {
      yield* forgetRun(run.jobId)
      yield* finishJob(run.jobId, at, { result: resultOf(context, run, tombstone, places, receipt) })
    })
  )
})
