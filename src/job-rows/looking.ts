/** Repeatedly checks for what is due. */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import { counted } from "../metrics/background.ts"

/** Runs while the scope is open; a check that fails is repeated at the next interval. `what`: its name in metrics. */
export const lookingFor = (what: string, every_ms: number, look: Effect.Effect<unknown, SqlError.SqlError>) =>
  Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        Effect.catch(counted(what)(look), (error) =>
          Effect.logError(`Due ${what} could not be read; trying again in a moment`, error)
        ),
        Effect.sleep(every_ms)
      )
    )
  )
