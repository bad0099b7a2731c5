/** Removes keys with `autodelete` from the lists within an hour after they expire. */
import { Effect, Layer } from "effect"
import { Access } from "../access.ts"
import { counted } from "../../metrics/background.ts"

const EVERY_MS = 3_600_000

/** Runs every hour while the layer lives; a failure is logged and retried at the next run. */
export const layerKeyExpiry: Layer.Layer<never, never, Access> = Layer.effectDiscard(
  Effect.gen(function* () {
    const access = yield* Access
    yield* Effect.forkScoped(
      Effect.forever(
        Effect.andThen(
          Effect.sleep(EVERY_MS),
          Effect.catch(counted("expired keys")(access.deleteExpired), (error) =>
            Effect.logError("Expired keys could not be deleted; tried again in an hour", error)
          )
        )
      )
    )
  })
)
