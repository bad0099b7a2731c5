/**
 * How the row of each audited kind is read, as it stands in the transaction that changes it. One table: a kind of
 * configuration without a line here does not compile.
 */
import type { SqlClient, SqlError } from "effect/sql"
import type { Effect } from "effect"
import type { ConfigurationKind } from "../configuration/change.ts"

/** Kinds that rooms read and write without remembering them. */
export type RoomKind = "webhook" | "analytics_rule" | "wallet"
export type RowKind = ConfigurationKind | RoomKind
export interface AuditSubject { readonly kind: RowKind; readonly organizationId: string; readonly id: string }

interface Row { readonly row: string }
type Read = (sql: SqlClient.SqlClient, subject: AuditSubject) => Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError>

/** Rows as text: what `json` columns hold passes unread. */
export const rowReaders: Readonly<Record<RowKind, Read>> = {
  organization: (sql, { id }) => sql<Row>`SELECT row_to_json(t)::text AS row FROM organizations t WHERE id = ${id}`,
  api_key: (sql, { id }) => sql<Row>`SELECT row_to_json(t)::text AS row FROM api_keys t WHERE id = ${id}`,
  engine_resource: (sql, { id, organizationId }) => {
    // Kinds have no slash; names may.
    const slash = id.indexOf("/")
    return sql<Row>`SELECT value::text AS row FROM engine_resources WHERE organization_id = ${organizationId} AND kind = ${id.slice(0, slash)} AND name = ${id.slice(slash + 1)}`
  },
  search_rule_set: (sql, { id, organizationId }) => sql<Row>`SELECT rule_set::text AS row FROM search_rule_sets WHERE organization_id = ${organizationId} AND collection = ${id}`,
  member: (sql, { id }) => sql<Row>`SELECT row_to_json(t)::text AS row FROM members t WHERE id = ${id}`,
  console_session: (sql, { id }) => sql<Row>`SELECT row_to_json(t)::text AS row FROM console_sessions t WHERE id = ${id}`,
  wallet: (sql, { organizationId }) => sql<Row>`SELECT row_to_json(t)::text AS row FROM wallets t WHERE organization_id = ${organizationId}`,
  webhook: (sql, { id, organizationId }) => sql<Row>`SELECT row_to_json(t)::text AS row FROM webhook_endpoints t WHERE organization_id = ${organizationId} AND id = ${id}`,
  analytics_rule: (sql, { id, organizationId }) => sql<Row>`SELECT row_to_json(t)::text AS row FROM analytics_rules t WHERE organization_id = ${organizationId} AND name = ${id}`
}
