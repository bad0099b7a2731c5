/** Looking for what is due, again and again. */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import { counted } from "../metrics/background.ts"

/** As long as the scope is open; a database that does not answer is asked again. `what`: as measures name it. */
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
