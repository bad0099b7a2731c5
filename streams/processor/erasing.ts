/** What a processor provides so that a person can be erased from what it stores. Erasures walk a list of these. */
import type { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

type Sql<A> = Effect.Effect<A, SqlError.SqlError, SqlClient.SqlClient>
/** Rows by table, as a receipt shows them. */
export type RowCounts = Readonly<Record<string, number>>

/** Whose rows are to be removed. */
export interface ErasedRows {
  readonly organizationId: string
  /** Time of the request, ms: anything kept later belongs to a new person. */
  readonly erasedAt: number
  readonly userId: string
  /** Whether a text that contains an event as somebody sent it belongs to the person. */
  readonly isTheirs: (text: string) => boolean
}

/** How a person is erased from what is stored. All return rows by table, for the receipt, and are idempotent. */
export interface FigureErasing {
  /** What the receipt reports: rebuilt without the person, or how many rows were removed. */
  readonly outcome: "rebuilt" | "removed"
  /**
   * Erases what a rebuild without the person cannot reach. Called afterwards with the partitions locked. `prints` are
   * the person's fingerprints (`erasure/erasures.ts`).
   */
  forget?(organizationId: string, prints: ReadonlyArray<string>): Sql<RowCounts>
  /** Removes what is stored as the person sent it, once everything that the tombstone covers has been counted. */
  removeRows?(erased: ErasedRows): Sql<RowCounts>
}

/** Everything that keeps personal data. An erasure walks this list, and each entry has a row in its receipt. */
export interface Keeper {
  readonly name: string
  readonly erasing: FigureErasing
}

/**
 * State that processes derive from the log in memory, alongside the processors: each rebuilds an organization's part,
 * without the person, when a tombstone arrives.
 */
export const LIVE_STATES: ReadonlyArray<string> = ["recommendations"]
