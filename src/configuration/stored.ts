/** Runs a room's write: its own refusals become responses, a failing statement is a defect. */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"

export const stored = <A, E extends { readonly _tag: string }>(
  write: Effect.Effect<A, E | SqlError.SqlError>
): Effect.Effect<A, Exclude<E, SqlError.SqlError>> =>
  Effect.catchTag(write, "SqlError", Effect.die) as Effect.Effect<A, Exclude<E, SqlError.SqlError>>
