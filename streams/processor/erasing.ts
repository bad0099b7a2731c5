/** What a processor offers so that a person can be erased from what it keeps. Erasures walk a list of these. */
import type { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

type Sql<A> = Effect.Effect<A, SqlError.SqlError, SqlClient.SqlClient>
/** Rows by table: what a receipt says. */
export type RowCounts = Readonly<Record<string, number>>

/** Whose rows are to go. */
export interface ErasedRows {
  readonly organizationId: string
  /** Of the request, ms: what was kept later is a new person's. */
  readonly erasedAt: number
  readonly userId: string
  /** Whether a text that holds an event as somebody sent it is the person's. */
  readonly isTheirs: (text: string) => boolean
}

/** How a person leaves what is kept. What is called tells rows by table, for the receipt, and may be called again. */
export interface FigureErasing {
  /**
   * What the receipt says of the keeper: that all of it was made again without the person, or how many rows were taken
   * out.
   */
  readonly outcome: "rebuilt" | "removed"
  /**
   * Once the figures have been rebuilt without the person: what that could not reach. `prints` are the person's
   * fingerprints (`erasure/erasures.ts`). Called with the partitions locked.
   */
  forget?(organizationId: string, prints: ReadonlyArray<string>): Sql<RowCounts>
  /** Removes what is kept as the person sent it, once all that the tombstone covers has been counted. */
  removeRows?(erased: ErasedRows): Sql<RowCounts>
}

/** Who keeps something of persons. An erasure walks a list of them, and each has a row of its receipt. */
export interface Keeper {
  readonly name: string
  readonly erasing: FigureErasing
}

/**
 * What processes keep in memory of the log by themselves, beside the processors: each makes an organization's part
 * again, without the person, when it hears of the tombstone.
 */
export const LIVE_STATES: ReadonlyArray<string> = ["recommendations"]
