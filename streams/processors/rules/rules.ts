/**
 * What analytics rules count (reference contract section 17), from the same signed figures as everything else and in
 * the flush's transaction: so a rule counts each search and event once, whatever crashes, and what a keystroke takes
 * back is taken back from it too. A rule counts what happened at or after its creation, by the time of the search or
 * event.
 *
 * The step knows no rules. What `counter` and query rules need is emitted for everybody, some tenths of a microsecond a
 * search. Whole events, for `log`, are held only for organizations that have such a rule or of whom that is not known
 * yet; so a log rule begins with the first flush after its creation, seconds later at most.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { MetaField, RuleParams, RuleType } from "../../figures/analytics-rule.ts"
import type { BehaviouralEvent } from "@dowser/log/event-schema"
import { numbersLiteral, ROWS_PER_STATEMENT, textsLiteral } from "../literals.ts"
import { type Deltas, PRODUCT_MEASURES, type Rollups } from "../rollups/rollups.ts"

/** Which organizations keep whole events; kept by the processor between its flushes. */
export class LogKnowledge {
  readonly #hasLog = new Map<string, boolean>()
  mayLog(organizationId: string): boolean {
    return this.#hasLog.get(organizationId) ?? true
  }
  learn(organizationId: string, hasLog: boolean): void {
    if (this.#hasLog.size > 10_000) this.#hasLog.clear()
    this.#hasLog.set(organizationId, hasLog)
  }
}
/** Of the events of one flush beyond this, log rules keep none: they are told from, not counted by. */
export const LOGGED_MAX = 20_000
export interface LoggedEvent {
  readonly organizationId: string
  readonly event: BehaviouralEvent
}

interface Rule {
  readonly organization_id: string
  readonly name: string
  readonly type: RuleType
  readonly event_type: string
  readonly params: RuleParams
  readonly created_at: number
  /** Its collection and the aliases of that. */ readonly names: ReadonlyArray<string>
}
type Counted = Map<string, { readonly key: ReadonlyArray<string>; count: number }>

const bump = (counted: Counted, key: ReadonlyArray<string>, count: number): void => {
  const id = key.join("\n")
  const known = counted.get(id)
  if (known === undefined) counted.set(id, { key, count })
  else known.count += count
}
/** Calls `each` with what a rule may count: of its collection, and not from before it was there. */
const eachOf = (
  deltas: Deltas,
  slot: number,
  { created_at, names, organization_id }: Rule,
  each: (key: ReadonlyArray<string>, sum: number) => void
): void =>
  deltas.eachInstant((key, at, sums, from) => {
    const sum = sums[from + slot]!
    if (sum !== 0 && key[0] === organization_id && names.includes(key[1]!) && at >= created_at) each(key, sum)
  })

/** Rows `[rule, q, filter_by, analytics_tag]`. */
const countQueries = (rollups: Rollups, rule: Rule, counted: Counted): void => {
  const { capture_search_requests = true, meta_fields = [] } = rule.params
  const has = (field: MetaField) => meta_fields.includes(field)
  const slot = rule.type === "popular_queries" ? 0 : 1
  eachOf(rollups.asked, slot, rule, ([, , q, isExplicit, filter_by, tag], sum) => {
    if (q === "" || q === "*" || (isExplicit === "" && !capture_search_requests)) return
    bump(
      counted,
      [rule.organization_id, rule.name, q!, has("filter_by") ? filter_by! : "", has("analytics_tag") ? tag! : ""],
      sum
    )
  })
}
const PRODUCT_SLOTS: ReadonlyMap<string, (typeof PRODUCT_MEASURES)[number]> = new Map([
  ["visit", "views"],
  ["view", "views"],
  ["click", "clicks"],
  ["add_to_cart", "add_to_carts"],
  ["purchase", "purchases"]
])
/** Rows `[rule, document]`. */
const countDocuments = (rollups: Rollups, rule: Rule, counted: Counted): void => {
  const measure = PRODUCT_SLOTS.get(rule.event_type)
  if (measure === undefined) {
    return eachOf(rollups.others, 0, rule, ([, , type, document], count) => {
      if (type === rule.event_type) bump(counted, [rule.organization_id, rule.name, document!], count)
    })
  }
  eachOf(rollups.products, PRODUCT_MEASURES.indexOf(measure), rule, ([, , document], count) =>
    bump(counted, [rule.organization_id, rule.name, document!], count)
  )
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

const TYPES: ReadonlyMap<string, string> = new Map([["visit", "view"]])
/** As a reader of the rule's events finds it (reference contract 17.2). */
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
const keepEvents = (logged: ReadonlyArray<LoggedEvent>, rules: ReadonlyArray<Rule>) =>
  Effect.gen(function* () {
    const rows: Array<object> = []
    for (const { event, organizationId } of logged) {
      for (const rule of rules) {
        if (
          rule.type !== "log" ||
          rule.organization_id !== organizationId ||
          (TYPES.get(rule.event_type) ?? rule.event_type) !== event.type ||
          !rule.names.includes(event.collection) ||
          event.timestamp < rule.created_at
        )
          continue
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
      // A NUL or half a surrogate pair in a free field must not stop the flush that everybody shares.
      const text = JSON.stringify(rows.slice(from, from + 1_000), (_, value: unknown) =>
        typeof value === "string" ? value.replaceAll("\u0000", " ").toWellFormed() : value
      )
      yield* sql`INSERT INTO analytics_rule_events (organization_id, rule, user_id, occurred_at, event)
        SELECT organization_id, rule, user_id, occurred_at, event FROM json_to_recordset(${text}::text::json) AS t (organization_id text, rule text, user_id text, occurred_at int8, event json)`
    }
  })

/** Runs in the flush's transaction: one look for rules, and an upsert per kind that has any. */
export const writeRules = (
  rollups: Rollups,
  knowledge: LogKnowledge
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const organizations = new Set(rollups.logged.map(({ organizationId }) => organizationId))
    for (const deltas of [rollups.asked, rollups.products, rollups.others])
      deltas.eachKey(([organizationId]) => organizations.add(organizationId!))
    if (organizations.size === 0) return
    const sql = yield* SqlClient.SqlClient
    // Locked against deletion: figures of a rule that goes in between would refuse the whole flush.
    const rules = yield* sql.unsafe<Rule>(
      `SELECT organization_id, name, type, event_type, params, created_at::float8 AS created_at, array_prepend(collection, ARRAY(SELECT e.name FROM engine_resources e
        WHERE e.organization_id = r.organization_id AND e.kind = 'alias' AND e.value ->> 'collection_name' = r.collection)) AS names
        FROM analytics_rules r WHERE organization_id = ANY($1::text::text[]) ORDER BY organization_id, name FOR KEY SHARE OF r`,
      [textsLiteral([...organizations])]
    )
    for (const organizationId of organizations)
      knowledge.learn(
        organizationId,
        rules.some((rule) => rule.type === "log" && rule.organization_id === organizationId)
      )
    if (rules.length === 0) return
    const queries: Counted = new Map()
    const documents: Counted = new Map()
    for (const rule of rules) {
      if (rule.type === "counter") countDocuments(rollups, rule, documents)
      else if (rule.type !== "log") countQueries(rollups, rule, queries)
    }
    yield* upsert(
      "analytics_rule_queries",
      ["organization_id", "rule", "q", "filter_by", "analytics_tag"],
      "count",
      queries
    )
    yield* upsert("analytics_rule_counters", ["organization_id", "rule", "document_id"], "counted", documents)
    yield* keepEvents(rollups.logged, rules)
  })
