/** Rows of refused entries. One function per statement; each takes the organization. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { REJECTIONS_KEPT_MS } from "@dowser/log/rejection"

export interface FailedRow {
  readonly id: string
  readonly received_at: number
  readonly reason: string
  readonly entry: string
  readonly is_unreadable: boolean
  readonly attempts: number
  readonly last_retried_at: number | null
}
export interface Verdict {
  readonly id: string
  readonly reason: string
}

export const makeFailedRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(
    "id, received_at::float8 AS received_at, reason, entry, is_unreadable, attempts, last_retried_at::float8 AS last_retried_at"
  )
  const of = (collection: string | undefined) =>
    collection === undefined ? sql.literal("true") : sql`collection = ${collection}`
  const kept = (now: number) => sql`received_at >= ${String(now - REJECTIONS_KEPT_MS)}::text::int8`
  return {
    /** Newest first. */
    page: (
      organizationId: string,
      collection: string | undefined,
      before: string | undefined,
      limit: number,
      now: number
    ) =>
      sql<FailedRow>`SELECT ${columns} FROM event_rejections WHERE organization_id = ${organizationId} AND ${of(collection)} AND ${kept(now)}
        AND (${before ?? null}::text IS NULL OR id < ${before ?? null}) ORDER BY id DESC LIMIT ${limit}::int4`,
    /** Oldest first, after `after`. */
    oldest: (organizationId: string, collection: string | undefined, after: string, limit: number, now: number) =>
      sql<FailedRow>`SELECT ${columns} FROM event_rejections WHERE organization_id = ${organizationId} AND ${of(collection)} AND ${kept(now)} AND id > ${after} ORDER BY id LIMIT ${limit}::int4`,
    named: (organizationId: string, collection: string | undefined, ids: ReadonlyArray<string>, now: number) =>
      sql<FailedRow>`SELECT ${columns} FROM event_rejections WHERE organization_id = ${organizationId} AND ${of(collection)} AND ${kept(now)} AND id = ANY(${ids}::text[]) ORDER BY id`,
    remove: (organizationId: string, ids: ReadonlyArray<string>) =>
      sql`DELETE FROM event_rejections WHERE organization_id = ${organizationId} AND id = ANY(${ids}::text[])`,
    failAgain: (organizationId: string, verdicts: ReadonlyArray<Verdict>, now: number) =>
      sql`UPDATE event_rejections AS r SET reason = v.reason, attempts = r.attempts + 1, last_retried_at = ${String(now)}::text::int8
        FROM unnest(${verdicts.map(({ id }) => id)}::text[], ${verdicts.map(({ reason }) => reason)}::text[]) AS v (id, reason) WHERE r.organization_id = ${organizationId} AND r.id = v.id`
  }
})

/** Removes at most `rowsMax` rows older than a week; returns how many. Reads one range of an index. */
export const expireRejections = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const before = (yield* Clock.currentTimeMillis) - REJECTIONS_KEPT_MS
  const removed =
    yield* sql`DELETE FROM event_rejections WHERE ctid = ANY(ARRAY(SELECT ctid FROM event_rejections WHERE received_at < ${String(before)}::text::int8 LIMIT ${rowsMax}::int4)) RETURNING id`
  return removed.length
})
