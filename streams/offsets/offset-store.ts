/**
 * Where consumer groups keep their offsets, alongside what they have counted: the statements of the commit, without
 * rules. The rules are in `offsets.ts`. Adapters: Postgres in `postgres.ts`; the simulation's in
 * `test/support/simulation`.
 */
import { Context, type Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { Unit } from "./assignment.ts"
import type { Skipped } from "../reading/skipped.ts"
import type { Positions } from "../state/state.ts"

export interface OffsetStoreShape {
  /** Offsets by topic; a topic never read is absent. */
  readonly offsets: (unit: Unit) => Effect.Effect<Positions, SqlError.SqlError>
  /** Reasons by `placeKey`. Places below `starts` (by topic), which the log no longer has, are removed first. */
  readonly skipped: (unit: Unit, starts: Positions) => Effect.Effect<ReadonlyMap<string, string>, SqlError.SqlError>
  /**
   * Atomic, including what `body` runs on this store and what a processor writes. If it fails, it may still have been
   * committed.
   */
  readonly transaction: <A, E, R>(body: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>
  /** Within a transaction: waits until no other holds the unit, and holds it until the end. Later reads are newer. */
  readonly lock: (unit: Unit) => Effect.Effect<void, SqlError.SqlError>
  /** Whether the unit's lease still has this fence. */
  readonly holdsFence: (unit: Unit, fence: number) => Effect.Effect<boolean, SqlError.SqlError>
  readonly moveOffsets: (unit: Unit, to: Positions) => Effect.Effect<void, SqlError.SqlError>
  /** Idempotent. */
  readonly skip: (unit: Unit, places: ReadonlyArray<Skipped>) => Effect.Effect<void, SqlError.SqlError>
}

export class OffsetStore extends Context.Service<OffsetStore, OffsetStoreShape>()("dowser/streams/OffsetStore") {}
