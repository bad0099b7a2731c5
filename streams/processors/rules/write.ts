/**
 * What analytics rules count, from the facts of a flush and in its transaction. So a rule counts each search and event
 * once, whatever crashes, and a retracted keystroke is retracted here too. A rule counts what happened at or after its
 * creation, by the time of the search or event.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { BehaviouralEvent } from "@dowser/log/event-schema"
import type { SearchFacts, Sign } from "../../facts/facts.ts"
import type { MetaField, RuleParams, RuleType } from "../../figures/analytics-rule.ts"
import { numbersLiteral, ROWS_PER_STATEMENT, textsLiteral } from "../literals.ts"
import type { LoggedEvent, RuleFacts } from "./emitted.ts"

interface Rule {
  readonly organization_id: string
  readonly name: string
  readonly type: RuleType
  readonly event_type: string
  readonly params: RuleParams
  readonly created_at: number
  /** Name and aliases of the rule's collection. */ readonly names: ReadonlyArray<string>
}
type Counted = Map<string, { readonly key: ReadonlyArray<string>; count: number }>

const bump = (counted: Counted, key: ReadonlyArray<string>, count: number): void => {
  const id = key.join("\n")
  const known = counted.get(id)
  if (known === undefined) counted.set(id, { key, count })
  else known.count += count
}

/** Rules of one kind by organization, because most facts belong to organizations without any. */
type RulesOf = ReadonlyMap<string, ReadonlyArray<Rule>>
const byOrganization = (rules: ReadonlyArray<Rule>): RulesOf => {
  const all = new Map<string, Array<Rule>>()
  for (const rule of rules) {
    const known = all.get(rule.organization_id)
    if (known === undefined) all.set(rule.organization_id, [rule])
    else known.push(rule)
  }
  return all
}
/** Whether it is in the rule's collection, and not older than the rule. */
const covers = ({ created_at, names }: Rule, collection: string, at: number): boolean =>
  at >= created_at && names.includes(collection)

/** Rows `[rule, q, filter_by, analytics_tag]`. */
const countQuery = (
  rule: Rule,
  { at, collection, filter, hasNoResults, isExplicit, q, tag }: SearchFacts,
  sign: Sign,
  counted: Counted
): void => {
  const { capture_search_requests = true, meta_fields = [] } = rule.params
  if (hasNoResults === (rule.type === "popular_queries") || !covers(rule, collection, at)) return
  if (q === "" || q === "*" || (!isExplicit && !capture_search_requests)) return
  const has = (field: MetaField) => meta_fields.includes(field)
  bump(
    counted,
    [rule.organization_id, rule.name, q, has("filter_by") ? filter : "", has("analytics_tag") ? tag : ""],
    sign
  )
}
const countQueries = (facts: RuleFacts, rules: ReadonlyArray<Rule>): Counted => {
  const counted: Counted = new Map()
  const rulesOf = byOrganization(rules)
  if (rules.length === 0) return counted
  facts.eachSearch(([organizationId], search, sign) => {
    for (const rule of rulesOf.get(organizationId!) ?? []) countQuery(rule, search, sign, counted)
  })
  return counted
}

/** Whether a rule counts events of this type; it may use the older name of a view. */
const isOf = ({ event_type }: Rule, type: string): boolean =>
  event_type === type || (event_type === "visit" && type === "view")
/** Rows `[rule, document]`. */
const countDocuments = (facts: RuleFacts, rules: ReadonlyArray<Rule>): Counted => {
  const counted: Counted = new Map()
  const rulesOf = byOrganization(rules)
  if (rules.length === 0) return counted
  const count = (organizationId: string, collection: string, type: string, documentId: string, at: number): void => {
    for (const rule of rulesOf.get(organizationId) ?? [])
      if (isOf(rule, type) && covers(rule, collection, at)) bump(counted, [organizationId, rule.name, documentId], 1)
  }
  facts.eachProduct(([organizationId, collection, documentId], kind, at) =>
    count(organizationId!, collection!, kind, documentId!, at)
  )
  for (const { at, collection, documentId, organizationId, type } of facts.others)
    count(organizationId, collection, type, documentId, at)
  return counted
}

const sorted = (counted: Counted) =>
  [...counted.values()]
    .filter(({ count }) => count !== 0)
    .sort((a, b) => {
      for (let i = 0; i < a.key.length; i++) if (a.key[i] !== b.key[i]) return a.key[i]! < b.key[i]! ? -1 : 1
      return 0
    })
const upsert = (table: string, columns: ReadonlyArray<string>, measure: string, counted: Counted) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = sorted(counted)
    for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT) {
      const part = rows.slice(from, from + ROWS_PER_STATEMENT)
      yield* sql.unsafe(
        `INSERT INTO ${table} (${columns.join(", ")}, ${measure}) SELECT * FROM unnest(${columns.map((_, i) => `$${i + 1}::text::text[]`).join(", ")}, $${columns.length + 1}::text::int8[])
          ON CONFLICT (${columns.join(", ")}) DO UPDATE SET ${measure} = ${table}.${measure} + EXCLUDED.${measure}`,
        [
          ...columns.map((_, i) => textsLiteral(part.map(({ key }) => key[i]!))),
          numbersLiteral(part.map(({ count }) => count))
        ]
      )
    }
  })

/** The event as a reader of the rule's events sees it. */
const shownEvent = (
  name: string,
  event_type: string,
  { collection, document_id, document_ids, metadata, q, timestamp, type: _type, ...sent }: BehaviouralEvent
) => ({
  ...metadata,
  ...sent,
  name,
  event_type,
  collection,
  timestamp,
  ...(document_id === undefined ? {} : { doc_id: document_id }),
  ...(document_ids === undefined ? {} : { doc_ids: document_ids }),
  ...(q === undefined ? {} : { query: q })
})
const keepEvents = (logged: ReadonlyArray<LoggedEvent>, rulesOf: RulesOf) =>
  Effect.gen(function* () {
    const rows: Array<object> = []
    for (const { event, organizationId } of logged) {
      for (const rule of rulesOf.get(organizationId) ?? []) {
        if (!isOf(rule, event.type) || !covers(rule, event.collection, event.timestamp)) continue
        rows.push({
          organization_id: organizationId,
          rule: rule.name,
          user_id: event.user_id ?? event.anonymous_id ?? event.session_id ?? "",
          occurred_at: event.timestamp,
          event: shownEvent(rule.name, rule.event_type, event)
        })
      }
    }
    const sql = yield* SqlClient.SqlClient
    for (let from = 0; from < rows.length; from += 1_000) {
      // A NUL or a lone surrogate in a free field must not stop the flush that everybody shares.
      const text = JSON.stringify(rows.slice(from, from + 1_000), (_, value: unknown) =>
        typeof value === "string" ? value.replaceAll("\u0000", " ").toWellFormed() : value
      )
      yield* sql`INSERT INTO analytics_rule_events (organization_id, rule, user_id, occurred_at, event)
        SELECT organization_id, rule, user_id, occurred_at, event FROM json_to_recordset(${text}::text::json) AS t (organization_id text, rule text, user_id text, occurred_at int8, event json)`
    }
  })

/** Runs in the flush's transaction: one query for rules, and an upsert for each kind in use. */
export const writeRules = (facts: RuleFacts): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const { knowledge, organizations } = facts
    if (organizations.size === 0) return
    const sql = yield* SqlClient.SqlClient
    // Locked against deletion: figures of a rule that is deleted meanwhile would make Postgres refuse the entire flush.
    const rules = yield* sql.unsafe<Rule>(
      `SELECT organization_id, name, type, event_type, params, created_at::float8 AS created_at, array_prepend(collection, ARRAY(SELECT e.name FROM engine_resources e
        WHERE e.organization_id = r.organization_id AND e.kind = 'alias' AND e.value ->> 'collection_name' = r.collection)) AS names
        FROM analytics_rules r WHERE organization_id = ANY($1::text::text[]) ORDER BY organization_id, name FOR KEY SHARE OF r`,
      [textsLiteral([...organizations])]
    )
    const logging = byOrganization(rules.filter(({ type }) => type === "log"))
    for (const organizationId of organizations) knowledge.learn(organizationId, logging.has(organizationId))
    if (rules.length === 0) return
    const queries = countQueries(
      facts,
      rules.filter(({ type }) => type !== "counter" && type !== "log")
    )
    const documents = countDocuments(
      facts,
      rules.filter(({ type }) => type === "counter")
    )
    yield* upsert(
      "analytics_rule_queries",
      ["organization_id", "rule", "q", "filter_by", "analytics_tag"],
      "count",
      queries
    )
    yield* upsert("analytics_rule_counters", ["organization_id", "rule", "document_id"], "counted", documents)
    yield* keepEvents(facts.logged, logging)
  })
