/**
 * Reads of the rollups that the attribution processor writes (streams/processors/attribution/rollups.ts). A span of time
 * is read as its plan says (`grain.ts`): a few index ranges of rows, and at its ends the packed instants of two minutes.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { DateRange } from "./date-range.ts"
import type { ProductSums, QuerySums, SearchSums } from "./formulas.ts"
import { GRAINS, MINUTE_MS, type Span, spansOf } from "./grain.ts"
import { type Instant, type PackedMinute, unpackMinute } from "./instants.ts"
import { instantsKeptFrom, withoutOldInstants } from "./instants-retention.ts"
import { type Segment, SEGMENT_DIMENSIONS } from "./schema.ts"

export interface RollupFilter {
  readonly organizationId: string
  readonly range: DateRange
  readonly collection: string | undefined
  readonly segment: Segment | undefined
}
export interface RollupPage {
  readonly limit: number
  readonly offset: number
}
/** Value of the grouping dimension, when there is one. */
export interface Grouped { readonly dimension: string | null }
export type RollupRow = QuerySums & Grouped & { readonly q: string }
export type ProductRollupRow = ProductSums & Grouped & { readonly document_id: string }
export type FilterRollupRow = SearchSums & Grouped & { readonly type: "filter" | "facet"; readonly field: string; readonly value: string }
export interface RollupPageAnswer<Row> {
  readonly total: number
  readonly rows: ReadonlyArray<Row>
}

export interface RollupsShape {
  readonly queryPage: (filter: RollupFilter, page: RollupPage & { readonly order: "popular" | "zero-results" }) => Effect.Effect<RollupPageAnswer<RollupRow>>
  /** Highest revenue first. */
  readonly productPage: (filter: RollupFilter, page: RollupPage) => Effect.Effect<RollupPageAnswer<ProductRollupRow>>
  /** Most searches first. */
  readonly filterPage: (filter: RollupFilter, page: RollupPage) => Effect.Effect<RollupPageAnswer<FilterRollupRow>>
  readonly totals: (filter: RollupFilter) => Effect.Effect<QuerySums>
  /** Totals of whole days (`from` and `before` at midnight), by the day's first instant; days without anything are absent. */
  readonly wholeDays: (filter: RollupFilter) => Effect.Effect<ReadonlyMap<number, QuerySums>>
  /** Accepted behavioural events of the range and collection, all types. */
  readonly events: (filter: Pick<RollupFilter, "organizationId" | "range" | "collection">) => Effect.Effect<number>
  /** Runs reads against one moment of the database, so that figures of one answer belong together. */
  readonly atOneMoment: <A>(reads: Effect.Effect<A>) => Effect.Effect<A>
}

/** A table of rollups as it is read: key columns behind the organization, plain measures, then amounts, kept in millionths. */
interface Table {
  readonly name: string
  readonly instants: keyof PackedMinute
  readonly keys: ReadonlyArray<string>
  readonly measures: ReadonlyArray<string>
  /** Measures that are not kept as they are shown: one that is left out here is not read. */
  readonly amounts: ReadonlyArray<string>
}
const QUERIES: Table = {
  name: "analytics_query_rollup", instants: "queries", keys: ["collection", "q", ...SEGMENT_DIMENSIONS],
  measures: ["searches", "zero_results", "searches_with_click", "searches_with_purchase", "clicks", "add_to_carts", "purchases"], amounts: ["cart_value", "revenue"]
}
const PRODUCTS: Table = {
  name: "analytics_product_rollup", instants: "products", keys: ["collection", "document_id", ...SEGMENT_DIMENSIONS],
  measures: ["views", "clicks", "add_to_carts", "purchases"], amounts: ["quantity", "cart_value", "revenue"]
}
const FILTERS: Table = {
  name: "analytics_filter_rollup", instants: "filters", keys: ["collection", "type", "field", "value", ...SEGMENT_DIMENSIONS],
  measures: ["searches", "zero_results", "searches_with_click", "searches_with_purchase"], amounts: []
}
/** As the tables keep them. */
const storedOf = ({ amounts, measures }: Table): ReadonlyArray<string> => [...measures, ...amounts.map((name) => `${name}_micros`)]
const sumsOf = ({ amounts, measures }: Table): string => [
  ...measures.map((name) => `coalesce(sum(r.${name}), 0)::int8 AS ${name}`),
  ...amounts.map((name) => `coalesce(sum(r.${name}_micros), 0) / 1000000.0 AS ${name}`)
].join(", ")
const sums = sumsOf(QUERIES)

/** How the rows of a page are grouped, which of them are rows at all, and in which order they come. */
interface View {
  readonly table: Table
  readonly by: ReadonlyArray<string>
  readonly having: string
  readonly order: string
}
/** A row whose counts were all taken back is no row. */
const something = (names: ReadonlyArray<string>): string => names.map((name) => `sum(r.${name}) <> 0`).join(" OR ")
const views = {
  "popular": { table: QUERIES, by: ["q"], having: something(["searches", "zero_results", "clicks", "add_to_carts", "purchases"]), order: "searches DESC, revenue DESC, q ASC, dimension ASC" },
  "zero-results": { table: QUERIES, by: ["q"], having: "sum(r.searches) <> 0", order: "zero_results::float8 / greatest(searches, 1) DESC, searches DESC, q ASC, dimension ASC" },
  "products": { table: PRODUCTS, by: ["document_id"], having: something(PRODUCTS.measures), order: "revenue DESC, purchases DESC, add_to_carts DESC, clicks DESC, views DESC, document_id ASC, dimension ASC" },
  "filters": { table: FILTERS, by: ["type", "field", "value"], having: "sum(r.searches) <> 0", order: "searches DESC, type ASC, field ASC, value ASC, dimension ASC" }
} satisfies Record<string, View>

/** Whether an instant's key is of the filter's collection and segment. */
const keeps = ({ keys }: Table, { collection, segment }: RollupFilter) => {
  const at = segment?.value === undefined ? -1 : keys.indexOf(segment.dimension)
  // What was packed before products had dimensions has none.
  return (key: ReadonlyArray<string>): boolean => (collection === undefined || key[0] === collection) && (at < 0 || (key[at] ?? "") === segment!.value)
}

export class Rollups extends Context.Service<Rollups, RollupsShape>()("dowser/analytics/Rollups") {
  static readonly layerSql: Layer.Layer<Rollups, never, SqlClient.SqlClient> = Layer.effect(Rollups, Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const clock = yield* Clock.Clock
    const planOf = (range: DateRange): ReadonlyArray<Span> => {
      const { before, from } = withoutOldInstants(range, instantsKeptFrom(clock.currentTimeMillisUnsafe()))
      return spansOf(from, before)
    }
    // A driver failure is a defect here: no caller can act on it.
    const all = <A extends object>(text: string, parameters: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<A>> =>
      Effect.orDie(sql.unsafe<A>(text, parameters) as Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>)
    const one = <A extends object>(text: string, parameters: ReadonlyArray<unknown>): Effect.Effect<A> => Effect.map(all<A>(text, parameters), (rows) => rows[0]!)

    /** The instants of the ends of a range that are less than a minute; at most two minutes are read. */
    const instantsOf = Effect.fnUntraced(function*(organizationId: string, range: DateRange, table: keyof PackedMinute) {
      const found: Array<Instant> = []
      for (const span of planOf(range)) {
        if (span.grain !== GRAINS.instant) continue
        const minute_at = Math.floor(span.from / MINUTE_MS) * MINUTE_MS
        const rows = yield* all<{ packed: Uint8Array }>("SELECT packed FROM analytics_instants WHERE organization_id = $1 AND minute_at = $2::text::int8", [organizationId, String(minute_at)])
        for (const { packed } of rows) {
          for (const instant of unpackMinute(packed)[table]) {
            const at = minute_at + instant[1]
            if (at >= span.from && at < span.before) found.push(instant)
          }
        }
      }
      return found
    })

    /** Sums of the edges by everything that a row groups by. */
    const edgesOf = (table: Table, filter: RollupFilter) =>
      Effect.map(instantsOf(filter.organizationId, filter.range, table.instants), (instants) => {
        const isKept = keeps(table, filter)
        const plain = table.measures.length
        const stored = storedOf(table)
        const rows = new Map<string, { readonly key: ReadonlyArray<string>; readonly sums: Array<number> }>()
        for (const [key, , values] of instants) {
          if (!isKept(key)) continue
          const id = key.join("\n")
          let row = rows.get(id)
          if (row === undefined) rows.set(id, row = { key, sums: new Array<number>(stored.length).fill(0) })
          for (let i = 0; i < stored.length; i++) {
            // Amounts come as units and millionths; summed here they stay far below what a double counts exactly.
            row.sums[i] = row.sums[i]! + (i < plain ? values[i]! : values[plain + 2 * (i - plain)]! * 1_000_000 + values[plain + 2 * (i - plain) + 1]!)
          }
        }
        return [...rows.values()].map(({ key, sums: values }) => ({ ...Object.fromEntries(table.keys.map((name, i) => [name, key[i] ?? ""])), ...Object.fromEntries(stored.map((name, i) => [name, values[i]!])) }))
      })

    /** `FROM …` of a table's rows over the whole range as `r`, and its parameters. */
    const sourceOf = (table: Table, filter: RollupFilter) =>
      Effect.map(edgesOf(table, filter), (edges) => {
        const { collection, organizationId, range, segment } = filter
        const spans = planOf(range).filter(({ grain }) => grain !== GRAINS.instant)
        const parameters: Array<unknown> = [spanParameter(spans), organizationId]
        const conditions = [
          "t.organization_id = $2", "t.grain = s.grain", "t.bucket_at >= s.first", "t.bucket_at < s.behind",
          ...(collection === undefined ? [] : [`t.collection = $${parameters.push(collection)}`]),
          ...(segment?.value === undefined ? [] : [`t.${segment.dimension} = $${parameters.push(segment.value)}`])
        ]
        const keys = table.keys.slice(1), stored = storedOf(table)
        const columns = [...keys, ...stored]
        const rows = `SELECT ${columns.map((name) => `t.${name}`).join(", ")} FROM ${SPANS} JOIN ${table.name} t ON ${conditions.join(" AND ")}`
        const edgeRows = edges.length === 0 ? "" : ` UNION ALL SELECT ${columns.join(", ")} FROM json_to_recordset($${parameters.push(JSON.stringify(edges))}::text::json)
          AS e (${[...keys.map((name) => `${name} text`), ...stored.map((name) => `${name} numeric`)].join(", ")})`
        return { parameters, text: `FROM (${rows}${edgeRows}) r` }
      })

    const page = Effect.fnUntraced(function*<Row>(view: View, filter: RollupFilter, { limit, offset }: RollupPage) {
      const { parameters, text } = yield* sourceOf(view.table, filter)
      const isGrouped = filter.segment !== undefined && filter.segment.value === undefined
      const dimension = isGrouped ? `r.${filter.segment!.dimension}` : "NULL::text"
      const by = view.by.map((name) => `r.${name}`).join(", ")
      // One JSON value, so that the total is known also on a page behind the last row.
      const { answer } = yield* one<{ answer: RollupPageAnswer<Row> }>(
        `WITH grouped AS MATERIALIZED (
          SELECT ${by}, ${dimension} AS dimension, ${sumsOf(view.table)} ${text} GROUP BY ${by}${isGrouped ? `, ${dimension}` : ""}
          HAVING ${view.having}
        ), page AS (SELECT * FROM grouped ORDER BY ${view.order} LIMIT ${limit} OFFSET ${offset})
        SELECT json_build_object('total', (SELECT count(*) FROM grouped), 'rows', (SELECT coalesce(json_agg(page ORDER BY ${view.order}), '[]') FROM page)) AS answer`,
        parameters
      )
      return answer
    })

    return Rollups.of({
      queryPage: (filter, asked) => page(views[asked.order], filter, asked),
      productPage: (filter, asked) => page(views.products, filter, asked),
      filterPage: (filter, asked) => page(views.filters, filter, asked),
      totals: Effect.fnUntraced(function*(filter) {
        const { parameters, text } = yield* sourceOf(QUERIES, filter)
        return (yield* one<{ answer: QuerySums }>(`SELECT row_to_json(t) AS answer FROM (SELECT ${sums} ${text}) t`, parameters)).answer
      }),
      wholeDays: Effect.fnUntraced(function*({ collection, organizationId, range, segment }) {
        const parameters: Array<unknown> = [organizationId, String(range.from), String(range.before)]
        const conditions = [
          `r.organization_id = $1 AND r.grain = ${GRAINS.day} AND r.bucket_at >= $2::text::int8 AND r.bucket_at < $3::text::int8`,
          ...(collection === undefined ? [] : [`r.collection = $${parameters.push(collection)}`]),
          ...(segment?.value === undefined ? [] : [`r.${segment.dimension} = $${parameters.push(segment.value)}`])
        ]
        const rows = yield* all<{ day: number; answer: QuerySums }>(
          `SELECT t.bucket_at::float8 AS day, row_to_json(t) AS answer FROM (SELECT r.bucket_at, ${sums} FROM analytics_query_rollup r WHERE ${conditions.join(" AND ")} GROUP BY r.bucket_at) t`,
          parameters
        )
        return new Map(rows.map(({ answer, day }) => [day, answer]))
      }),
      events: Effect.fnUntraced(function*({ collection, organizationId, range }) {
        const edges = yield* instantsOf(organizationId, range, "events")
        let events = 0
        for (const [key, , [count]] of edges) if (collection === undefined || key[0] === collection) events += count!
        const spans = planOf(range).filter(({ grain }) => grain !== GRAINS.instant)
        const row = yield* one<{ events: number }>(
          `SELECT coalesce(sum(t.events), 0)::float8 AS events FROM ${SPANS}
            JOIN analytics_event_rollup t ON t.organization_id = $2 AND t.grain = s.grain AND t.bucket_at >= s.first AND t.bucket_at < s.behind ${collection === undefined ? "" : "AND t.collection = $3"}`,
          [spanParameter(spans), organizationId, ...(collection === undefined ? [] : [collection])]
        )
        return events + row.events
      }),
      atOneMoment: (reads) =>
        Effect.orDie(sql.withTransaction(Effect.andThen(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`, reads)))
    })
  }))
}

const SPANS = "json_to_recordset($1::text::json) AS s (grain int2, first int8, behind int8)"
const spanParameter = (spans: ReadonlyArray<Span>): string => JSON.stringify(spans.map(({ before, from, grain }) => ({ grain, first: from, behind: before })))
