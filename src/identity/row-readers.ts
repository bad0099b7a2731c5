/**
 * How to read a row of each audited kind, as it is in the transaction that changes it. Each room declares its own
 * kinds (`room.ts`); a change of an unknown kind is a defect, and is not stored.
 */
import { Context, type Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

export interface AuditSubject {
  readonly kind: string
  readonly organizationId: string
  readonly id: string
}

/** The row as text: `json` columns are passed on without being parsed. */
export type RowReader = (
  sql: SqlClient.SqlClient,
  subject: AuditSubject
) => Effect.Effect<ReadonlyArray<{ readonly row: string }>, SqlError.SqlError>

export class RowReaders extends Context.Service<RowReaders, ReadonlyMap<string, RowReader>>()(
  "dowser/audit/RowReaders"
) {}
