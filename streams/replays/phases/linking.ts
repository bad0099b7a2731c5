/** Phase of an erasure: searches the log for what belongs to the person, and extends the tombstone by it. */
import { Effect } from "effect"
import { EventLog } from "@dowser/log/event-log/event-log"
import { linksOf } from "../../erasure/linking.ts"
import { extendTombstone } from "../../erasure/tombstones.ts"
import { type ReplayContext, tombstoneOf } from "../replay-context.ts"
import { toPhase } from "../jobs.ts"
import { added, ENTRIES } from "../receipt.ts"
import type { Run } from "../../shadow/runs.ts"

export const link = Effect.fnUntraced(function* (context: ReplayContext, run: Run) {
  const log = yield* EventLog
  const tombstone = yield* tombstoneOf(run)
  // Searches that were answered before the erasure and appended a moment after it are beyond its offsets.
  const reach = new Map<string, number>()
  for (const { partition, topic } of context.contentPlaces)
    reach.set(`${topic.name}/${partition}`, (yield* log.bounds(topic.name, partition)).endOffset)
  const { entries, isCut, prints } = yield* linksOf(
    tombstone,
    Object.fromEntries(reach),
    context.options.fingerprintKey
  )
  yield* context.inCharge(
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
