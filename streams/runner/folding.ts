/**
 * Runs a processor's fold alongside its flushes: when enough is waiting, and some time after the last flush in any
 * case. While far too much is waiting, flushes wait for the fold, so that what readers must sum up stays bounded.
 */
import { Cause, Effect, Queue } from "effect"
import type { Processor } from "../processor/processor.ts"
import { untilAnswered } from "../reading/until-answered.ts"

/** How long rows may lag behind their instants; short while few wait, because waiting for more would gain nothing. */
const FOLD_EVERY_MS = 10_000
const FEW = 2_000
const FEW_EVERY_MS = 500
/** Emissions flushed since the last fold that start the next one; twice as many block the next flush. */
const FOLD_FROM = 300_000

export interface Folding {
  /** Called with the size of a flush; blocks while too much waits. */
  readonly wrote: (emitted: number) => Effect.Effect<void>
}

/** Ends with the scope. What an earlier life left unfolded is folded first. */
export const makeFolding = Effect.fnUntraced(function* <Body, State, Emitted, Sink>({
  fold
}: Processor<Body, State, Emitted, Sink>) {
  if (fold === undefined) return { wrote: () => Effect.void } satisfies Folding
  /** At most one signal waits in each: something was written, enough was written, or a fold has ended. */
  const written = yield* Queue.sliding<void>(1)
  const enough = yield* Queue.sliding<void>(1)
  const ended = yield* Queue.sliding<void>(1)
  /** Emissions flushed since the last fold began. */
  let waiting = 0
  const run = Effect.gen(function* () {
    for (let isMore = true; isMore;) isMore = yield* untilAnswered(fold)
  }).pipe(
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.logError("Flushed sums could not be folded; readers sum them up until they can", cause)
    )
  )
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.gen(function* () {
        waiting = 0
        yield* run
        Queue.offerUnsafe(ended, undefined)
        yield* Queue.take(written)
        yield* Queue.clear(enough)
        if (waiting < FEW) yield* Effect.sleep(FEW_EVERY_MS)
        if (waiting >= FEW && waiting < FOLD_FROM) yield* Effect.timeoutOption(Queue.take(enough), FOLD_EVERY_MS)
      })
    )
  )
  return {
    wrote: (emitted) =>
      Effect.suspend(() => {
        if (emitted === 0) return Effect.void
        waiting += emitted
        Queue.offerUnsafe(written, undefined)
        if (waiting >= FOLD_FROM) Queue.offerUnsafe(enough, undefined)
        return waiting < 2 * FOLD_FROM ? Effect.void : Effect.andThen(Queue.clear(ended), Queue.take(ended))
      })
  } satisfies Folding
})
