/**
 * Finds the entry that Postgres refuses in a record that was refused alone: each entry's emissions are written in a
 * transaction that is rolled back, until one is refused; that entry is skipped from then on.
 */
import { Data, Effect } from "effect"
import type { Partition } from "./partition.ts"
import type { Place } from "../processor/processor.ts"
import { FlushRefused, isRefused, ISOLATIONS_MAX, refusalReason } from "../reading/refusal.ts"
import { placeKey, WHOLE_RECORD } from "../reading/skipped.ts"
import { untilAnswered } from "../reading/until-answered.ts"

interface Refused {
  readonly place: Place
  readonly reason: string
}

/** Rolls back a transaction that was only a trial; `refused` is what the trial found. */
class TrialOver extends Data.TaggedError("TrialOver")<{ readonly refused: Refused | undefined }> {}

/** What is skipped: the refused entry, or the whole record if each entry passes alone or too many fail. Pure. */
const blamed = (first: Place, refused: Refused | undefined, before: number): Refused =>
  refused !== undefined && before < ISOLATIONS_MAX
    ? refused
    : {
        place: { topic: first.topic, offset: first.offset, appendedAt: first.appendedAt, index: WHOLE_RECORD },
        reason: refused?.reason ?? "Postgres refuses what this record counts, though none of its entries alone"
      }

/** `parts` are the record's entries, each with what it emits. Always fails, so that the partition restarts. */
export const isolateRefused = Effect.fnUntraced(function* <Body, State, Emitted, Sink>(
  partition: Partition<Body, State, Emitted, Sink>,
  parts: ReadonlyArray<{ readonly place: Place; readonly emitted: Emitted }>
) {
  const { offsets, processor, refused } = partition
  const trial = Effect.gen(function* () {
    for (const { emitted, place } of parts) {
      if (processor.sizeOf(emitted) === 0) continue
      const failure = yield* Effect.match(processor.write(emitted), {
        onSuccess: () => undefined,
        onFailure: (error) => error
      })
      if (failure !== undefined)
        return yield* isRefused(failure)
          ? new TrialOver({ refused: { place, reason: refusalReason(failure) } })
          : failure
    }
    return yield* new TrialOver({ refused: undefined })
  })
  const over = yield* untilAnswered(offsets.transaction(trial)).pipe(Effect.catchTag("TrialOver", Effect.succeed))
  const first = parts[0]?.place
  partition.flushMode = { recordsMax: 1 }
  if (first === undefined) return
  const ofRecord = [...refused.keys()].filter((key) => key.startsWith(`${first.topic}/${first.offset}/`))
  const found = blamed(first, over.refused, ofRecord.length)
  if (found.place.index === WHOLE_RECORD) ofRecord.forEach((key) => refused.delete(key))
  refused.set(placeKey(found.place), found.reason)
  return yield* new FlushRefused({ message: `${placeKey(found.place)} becomes a dead letter: ${found.reason}` })
})
