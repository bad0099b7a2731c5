/** What a processor provides so that its figures can be rebuilt from the log. Replays walk a list of these. */
import type { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { RowCounts } from "./erasing.ts"

type Sql<A> = Effect.Effect<A, SqlError.SqlError, SqlClient.SqlClient>

/** How figures are rebuilt from the log (`replays/`). A processor omits what its replay does not need. */
export interface FigureRebuilding<Emitted> {
  /** Before a run: removes what an earlier one left in the shadow tables. */
  readonly emptyShadows?: Sql<void>
  /** Adds one organization's part of the emissions to the shadow tables, under the shadow's name. */
  writeShadow?(emitted: Emitted, organizationId: string, shadow: string): Sql<void>
  /** Waits for the processor's own work on the rows and blocks it until the transaction ends. */
  readonly hold?: Sql<void>
  /**
   * The first day (ms, UTC) from `from` on, before `before`, with data of the organization or of its shadows; undefined
   * if there is none.
   */
  firstDay?(
    organizationId: string,
    shadows: ReadonlyArray<string>,
    from: number,
    before: number
  ): Sql<number | undefined>
  /** Replaces the rows of a day by those of the shadows. Called with the partitions locked. Returns rows removed. */
  swapDay?(organizationId: string, shadows: ReadonlyArray<string>, day: number): Sql<RowCounts>
  /**
   * Recomputes what is derived from exchanged rows, also from those of processors before it in the list. Called with
   * the partitions locked. Returns the rows changed.
   */
  settle?(organizationId: string): Sql<RowCounts>
}
