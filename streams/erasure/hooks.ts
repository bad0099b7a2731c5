/** What a processor offers so that a person can be erased from what it keeps. Erasures walk a list of these. */
import type { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { ErasedRows } from "./rows.ts"

type Sql<A> = Effect.Effect<A, SqlError.SqlError, SqlClient.SqlClient>
/** Rows by table: what a receipt says. */
export type RowCounts = Readonly<Record<string, number>>

/** How a person leaves what is kept. Both tell rows by table, for the receipt, and may be called again. */
export interface FigureErasing {
  /**
   * Once the figures have been rebuilt without the person: what that could not reach. `prints` are the person's
   * fingerprints (`erasure/erasures.ts`). Called with the partitions locked.
   */
  forget?(organizationId: string, prints: ReadonlyArray<string>): Sql<RowCounts>
  /** Removes what is kept as the person sent it, once all that the tombstone covers has been counted. */
  removeRows?(erased: ErasedRows): Sql<RowCounts>
}
