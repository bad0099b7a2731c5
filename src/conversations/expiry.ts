/**
 * Removes messages older than their model's `ttl` from their collection, some minutes late. Every process checks;
 * messages that another one removed no longer exist. Reads do not rely on this.
 */
import { Cause, Effect, Layer } from "effect"
import { makeHistory } from "./history.ts"
import { ConversationModels } from "./models.ts"

const EVERY_MS = 300_000
/** Pause between two models, so that searches run first. */
const PAUSE_MS = 20

export const layerExpiry = Layer.effectDiscard(
  Effect.gen(function* () {
    const models = yield* ConversationModels
    const history = yield* makeHistory
    const look = Effect.suspend(() =>
      Effect.forEach([...models.all()], ([organizationId, model]) =>
        Effect.andThen(
          Effect.catchCause(history.expire(organizationId, model), (cause) =>
            Cause.hasInterruptsOnly(cause)
              ? Effect.failCause(cause)
              : Effect.logError(`Old conversations of ${organizationId} could not be removed; tried again`, cause)
          ),
          Effect.sleep(PAUSE_MS)
        )
      )
    )
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(EVERY_MS), look)))
  })
)
