/**
 * A conversation as server-sent events: parts of the answer, then the complete answer, then `[DONE]`. A failure
 * before the first part fails the request; if the client disconnects, the work ends.
 */
import { Deferred, Effect, Fiber, FiberSet } from "effect"
import { Readable } from "node:stream"
import type { Deliver } from "./answering.ts"

/** Pings are empty parts: clients of the engine parse every line, so a comment is not possible. */
const PING_MS = 15_000

export interface Listener {
  /** Starts the response: its status can no longer change. */ readonly begin: Effect.Effect<void>
  readonly deliveryOf: (conversationId: string) => Deliver
  /** Completes when the client disconnects. */ readonly left: Effect.Effect<void>
}
const dataOf = (text: string): string => `data: ${text}\n\n`

export const makeEvents = Effect.gen(function* () {
  // The work is stopped when the program stops, which gives back what was reserved for it.
  const fork = yield* FiberSet.makeRuntime<never>()
  /** `work` returns the complete response as JSON text. */
  return Effect.fnUntraced(function* <E>(work: (listener: Listener) => Effect.Effect<string, E>) {
    const begun = yield* Deferred.make<void, E>()
    const left = yield* Deferred.make<void>()
    let conversation = ""
    const events = new Readable({
      read() {
        // Parts are pushed as they are written, without backpressure, because a model's answer is limited in size.
      },
      destroy(error, end) {
        Deferred.doneUnsafe(left, Effect.void)
        end(error)
      }
    })
    const push = (text: string) => {
      if (!events.destroyed) events.push(dataOf(text))
    }
    const deliveryOf =
      (conversation_id: string): Deliver =>
      (message) => {
        conversation = conversation_id
        push(JSON.stringify({ conversation_id, message }))
      }
    const listener: Listener = { begin: Deferred.succeed(begun, undefined), deliveryOf, left: Deferred.await(left) }
    const pinging = Effect.andThen(
      Deferred.await(begun),
      Effect.forever(
        Effect.andThen(
          Effect.sleep(PING_MS),
          Effect.sync(() => deliveryOf(conversation)(""))
        )
      )
    )
    const fiber = fork(
      Effect.matchCauseEffect(Effect.raceFirst(work(listener), pinging), {
        onFailure: (cause) =>
          Effect.flatMap(Deferred.failCause(begun, cause), (isFirst) =>
            isFirst
              ? Effect.void
              : Effect.andThen(
                  Effect.logError("An answer could not be ended", cause),
                  Effect.sync(() => events.destroy())
                )
          ),
        onSuccess: (text) =>
          Effect.sync(() => {
            push(text)
            push("[DONE]")
            if (!events.destroyed) events.push(null)
          })
      })
    )
    yield* Effect.onInterrupt(Deferred.await(begun), () => Fiber.interrupt(fiber))
    return events
  })
})
