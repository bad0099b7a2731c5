/**
 * Rows of analytics rules, of their counts, and of the events they stored. One function per statement, in one list,
 * however long. Nothing is cached: rules are read by their operations, by a flush and by the publisher, never by a
 * search or an incoming event.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Rule, RuleParams, RuleType } from "./schema.ts"

export interface StoredRule extends Rule {
  readonly organization_id: string
  /** Unix milliseconds. */ readonly created_at: number
}
interface Row {
  readonly organization_id: string
  readonly name: string
  readonly type: RuleType
  readonly collection: string
  readonly event_type: string
  readonly rule_tag: string | null
  readonly params: RuleParams
  readonly created_at: number
}
const COLUMNS =
  "organization_id, name, type, collection, event_type, rule_tag, params, created_at::float8 AS created_at"
const ruleOf = ({ rule_tag, ...row }: Row): StoredRule => ({ ...row, ...(rule_tag === null ? {} : { rule_tag }) })

export interface CountedQuery {
  readonly q: string
  readonly filter_by: string
  readonly analytics_tag: string
  readonly count: number
  /** Id of the document that shows it. */ readonly published_as: string | null
}
export interface Counter {
  readonly document_id: string
  readonly counted: number
  readonly applied: number
  readonly before: number | null
  readonly after: number | null
  readonly intended: number | null
}

export const makeRulesRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const many = (condition: string, parameters: ReadonlyArray<unknown>) =>
    Effect.map(sql.unsafe<Row>(`SELECT ${COLUMNS} FROM analytics_rules ${condition}`, parameters), (rows) =>
      rows.map(ruleOf)
    )
  return {
    all: many("ORDER BY organization_id, name", []),
    list: (organizationId: string, tag: string | undefined) =>
      many(
        `WHERE organization_id = $1 ${tag === undefined ? "" : "AND rule_tag = $2"} ORDER BY name`,
        tag === undefined ? [organizationId] : [organizationId, tag]
      ),
    get: (organizationId: string, name: string) =>
      Effect.map(many("WHERE organization_id = $1 AND name = $2", [organizationId, name]), ([rule]) => rule),
    /** The number of rules. Locks the count until the transaction ends. */
    lockCount: (organizationId: string) =>
      Effect.andThen(
        sql`SELECT 1 FROM organizations WHERE id = ${organizationId} FOR NO KEY UPDATE`,
        Effect.map(
          sql<{
            readonly n: number
          }>`SELECT count(*)::int4 AS n FROM analytics_rules WHERE organization_id = ${organizationId}`,
          ([row]) => row!.n
        )
      ),
    /** False if a rule with that name exists. */
    insert: (organizationId: string, { collection, event_type, name, params, rule_tag, type }: Rule, now: number) =>
      Effect.map(
        sql`INSERT INTO analytics_rules (organization_id, name, type, collection, event_type, rule_tag, params, created_at, updated_at)
          VALUES (${organizationId}, ${name}, ${type}, ${collection}, ${event_type}, ${rule_tag ?? null}, ${JSON.stringify(params)}::text::json, ${now}, ${now}) ON CONFLICT DO NOTHING RETURNING name`,
        (rows) => rows.length > 0
      ),
    /** False if it no longer exists. */
    update: (organizationId: string, { name, params, rule_tag }: Rule, now: number) =>
      Effect.map(
        sql`UPDATE analytics_rules SET rule_tag = ${rule_tag ?? null}, params = ${JSON.stringify(params)}::text::json, updated_at = ${now} WHERE organization_id = ${organizationId} AND name = ${name} RETURNING name`,
        (rows) => rows.length > 0
      ),
    remove: (organizationId: string, name: string) =>
      Effect.map(
        sql`DELETE FROM analytics_rules WHERE organization_id = ${organizationId} AND name = ${name} RETURNING name`,
        (rows) => rows.length > 0
      ),

    /** The queries with the highest counts. */
    topQueries: (
      organizationId: string,
      rule: string,
      limit: number
    ): Effect.Effect<ReadonlyArray<CountedQuery>, SqlError.SqlError> =>
      sql.unsafe<CountedQuery>(
        "SELECT q, filter_by, analytics_tag, count::float8 AS count, published_as FROM analytics_rule_queries WHERE organization_id = $1 AND rule = $2 AND count > 0 ORDER BY count DESC, q, filter_by, analytics_tag LIMIT $3::int4",
        [organizationId, rule, limit]
      ),
    /** Queries that a rule published earlier, whatever it counts now. */
    publishedQueries: (
      organizationId: string,
      rule: string
    ): Effect.Effect<ReadonlyArray<CountedQuery>, SqlError.SqlError> =>
      sql.unsafe<CountedQuery>(
        "SELECT q, filter_by, analytics_tag, count::float8 AS count, published_as FROM analytics_rule_queries WHERE organization_id = $1 AND rule = $2 AND published_as IS NOT NULL",
        [organizationId, rule]
      ),
    publish: (organizationId: string, rule: string, queries: ReadonlyArray<CountedQuery>) =>
      sql`UPDATE analytics_rule_queries r SET published_as = t.published_as FROM json_to_recordset(${JSON.stringify(queries)}::text::json) AS t (q text, filter_by text, analytics_tag text, published_as text)
        WHERE r.organization_id = ${organizationId} AND r.rule = ${rule} AND r.q = t.q AND r.filter_by = t.filter_by AND r.analytics_tag = t.analytics_tag`,
    /** Removes unpublished queries beyond the first `kept`. */
    trimQueries: (organizationId: string, rule: string, kept: number) =>
      sql`DELETE FROM analytics_rule_queries WHERE ctid IN (SELECT ctid FROM analytics_rule_queries WHERE organization_id = ${organizationId} AND rule = ${rule} AND published_as IS NULL
        ORDER BY count DESC, q, filter_by, analytics_tag OFFSET ${kept}::int4 FOR UPDATE SKIP LOCKED)`,

    /**
     * Documents whose field does not show the current count yet, at most `limit`, after `after`; or only those with
     * an intent.
     */
    waitingCounters: (
      organizationId: string,
      rule: string,
      after: string,
      limit: number,
      onlyIntended: boolean
    ): Effect.Effect<ReadonlyArray<Counter>, SqlError.SqlError> =>
      sql.unsafe<Counter>(
        `SELECT document_id, counted::float8 AS counted, applied::float8 AS applied, before, after, intended::float8 AS intended FROM analytics_rule_counters
        WHERE organization_id = $1 AND rule = $2 AND document_id > $3 AND counted <> applied ${onlyIntended ? "AND intended IS NOT NULL" : ""} ORDER BY document_id LIMIT $4::int4`,
        [organizationId, rule, after, limit]
      ),
    intend: (
      organizationId: string,
      rule: string,
      intents: ReadonlyArray<{
        readonly document_id: string
        readonly before: number
        readonly after: number
        readonly intended: number
      }>
    ) =>
      sql`UPDATE analytics_rule_counters c SET before = t.before, after = t.after, intended = t.intended FROM json_to_recordset(${JSON.stringify(intents)}::text::json) AS t (document_id text, before float8, after float8, intended int8)
        WHERE c.organization_id = ${organizationId} AND c.rule = ${rule} AND c.document_id = t.document_id`,
    forgetIntents: (organizationId: string, rule: string, documentIds: ReadonlyArray<string>) =>
      sql`UPDATE analytics_rule_counters SET before = NULL, after = NULL, intended = NULL
        WHERE organization_id = ${organizationId} AND rule = ${rule} AND document_id IN (SELECT json_array_elements_text(${JSON.stringify(documentIds)}::text::json))`,
    settle: (
      organizationId: string,
      rule: string,
      settled: ReadonlyArray<{ readonly document_id: string; readonly applied: number }>
    ) =>
      sql`UPDATE analytics_rule_counters c SET applied = t.applied, before = NULL, after = NULL, intended = NULL FROM json_to_recordset(${JSON.stringify(settled)}::text::json) AS t (document_id text, applied int8)
        WHERE c.organization_id = ${organizationId} AND c.rule = ${rule} AND c.document_id = t.document_id`,

    /** Newest first. */
    events: (
      organizationId: string,
      rule: string,
      userId: string,
      limit: number
    ): Effect.Effect<ReadonlyArray<Readonly<Record<string, unknown>>>, SqlError.SqlError> =>
      Effect.map(
        sql<{
          event: Readonly<Record<string, unknown>>
        }>`SELECT event FROM analytics_rule_events WHERE organization_id = ${organizationId} AND rule = ${rule} AND user_id = ${userId} ORDER BY id DESC LIMIT ${limit}::int4`,
        (rows) => rows.map(({ event }) => event)
      )
  }
})
