/** Reads the audit log, and removes old entries. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { AuditEntry } from "./schema.ts"

const DAY_MS = 86_400_000
/** Decision: somewhat more than a year, so that a yearly review finds the entries since the last one. */
export const AUDIT_KEPT_MS = 400 * DAY_MS
/**
 * Limit of entries per organization; the oldest are removed first. It limits what a caller that writes all day can
 * make us store (3 GB at most).
 */
const AUDIT_ENTRIES_MAX = 100_000

interface AuditFilter {
  readonly kind: string | undefined
  readonly subjectId: string | undefined
  readonly actor: string | undefined
  /** Unix ms; `before` is the first instant after the range. */ readonly from: number | undefined
  readonly before: number | undefined
  readonly cursor: string | undefined
  readonly limit: number
}
interface Row {
  readonly id: string
  readonly at: number
  readonly actor_type: AuditEntry["actor"]["type"]
  readonly actor_id: string | null
  readonly operation: string | null
  readonly request_id: string | null
  readonly subject_kind: string
  readonly subject_id: string
  readonly action: string
  readonly changed: ReadonlyArray<string>
  readonly before: string | null
  readonly after: string | null
  readonly is_settled: boolean
}
const entryOf = (row: Row): AuditEntry => ({
  id: row.id,
  at: row.at,
  actor: { type: row.actor_type, ...(row.actor_id === null ? {} : { id: row.actor_id }) },
  ...(row.operation === null ? {} : { operation: row.operation }),
  ...(row.request_id === null ? {} : { request_id: row.request_id }),
  subject: { kind: row.subject_kind, id: row.subject_id },
  action: row.action,
  changed: row.changed,
  ...(row.before === null ? {} : { before: JSON.parse(row.before) as unknown }),
  ...(row.after === null ? {} : { after: JSON.parse(row.after) as unknown }),
  settled: row.is_settled
})

export const makeAuditRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    /**
     * Newest first, in key order: O(limit) without a filter, O(entries of the organization) with one that matches
     * nothing.
     */
    page: (organizationId: string, { actor, before, cursor, from, kind, limit, subjectId }: AuditFilter) =>
      Effect.map(
        sql<Row>`SELECT id, at::float8 AS at, actor_type, actor_id, operation, request_id, subject_kind, subject_id, action, changed, before::text AS before, after::text AS after, is_settled
        FROM audit_log WHERE organization_id = ${organizationId}
          AND (${cursor ?? null}::text IS NULL OR id < ${cursor ?? null})
          AND (${kind ?? null}::text IS NULL OR subject_kind = ${kind ?? null}) AND (${subjectId ?? null}::text IS NULL OR subject_id = ${subjectId ?? null})
          AND (${actor ?? null}::text IS NULL OR actor_id = ${actor ?? null} OR (actor_id IS NULL AND actor_type = ${actor ?? null}))
          AND (${from === undefined ? null : String(from)}::text::int8 IS NULL OR at >= ${from === undefined ? null : String(from)}::text::int8)
          AND (${before === undefined ? null : String(before)}::text::int8 IS NULL OR at < ${before === undefined ? null : String(before)}::text::int8)
        ORDER BY id DESC LIMIT ${limit}::int4`,
        (rows) => rows.map(entryOf)
      )
  }
})

/** Removes at most `rowsMax` entries that are too old, or else surplus ones of organizations; returns how many. */
export const expireAudit = Effect.fnUntraced(function* (rowsMax: number, entriesMax = AUDIT_ENTRIES_MAX) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const old = yield* sql`DELETE FROM audit_log WHERE (organization_id, id) IN (
    SELECT organization_id, id FROM audit_log WHERE at < ${String(now - AUDIT_KEPT_MS)}::text::int8 ORDER BY at LIMIT ${rowsMax}::int4) RETURNING id`
  if (old.length > 0) return old.length
  const beyond =
    yield* sql`WITH crowded AS (SELECT organization_id, count(*) - ${entriesMax}::int4 AS surplus FROM audit_log GROUP BY organization_id HAVING count(*) > ${entriesMax}::int4 LIMIT 1)
    DELETE FROM audit_log a USING crowded c WHERE a.organization_id = c.organization_id AND a.id IN (
      SELECT id FROM audit_log WHERE organization_id = c.organization_id ORDER BY id LIMIT least(c.surplus, ${rowsMax}::int4)) RETURNING a.id`
  return beyond.length
})
