/**
 * Reads of the rollups that the attribution processor writes (streams/processors/attribution/rollups.ts). A span of time
 * is read as its plan says (`grain.ts`): a few index ranges of rows, and at its ends the packed instants of two minutes.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { DateRange } from "./date-range.ts"
import type { QuerySums } from "./formulas.ts"
import { GRAINS, MINUTE_MS, type Span, spansOf } from "./grain.ts"
import { type Instant, unpackMinute } from "./instants.ts"
import { instantsKeptFrom, withoutOldInstants } from "./instants-retention.ts"
import type { Segment } from "./schema.ts"

export interface RollupFilter {
  readonly organizationId: string
  readonly range: DateRange
  readonly collection: string | undefined
  readonly segment: Segment | undefined
}
export interface RollupPage {
  readonly limit: number
  readonly offset: number
  readonly order: "popular" | "zero-results"
}
/** Sums of one query, with the value of the grouping dimension when there is one. */
export type RollupRow = QuerySums & { readonly q: string; readonly dimension: string | null }
export interface RollupPageAnswer {
  readonly total: number
  readonly rows: ReadonlyArray<RollupRow>
}

export interface RollupsShape {
  readonly queryPage: (filter: RollupFilter, page: RollupPage) => Effect.Effect<RollupPageAnswer>
  readonly totals: (filter: RollupFilter) => Effect.Effect<QuerySums>
  /** Totals of whole days (`from` and `before` at midnight), by the day's first instant; days without anything are absent. */
  readonly wholeDays: (filter: RollupFilter) => Effect.Effect<ReadonlyMap<number, QuerySums>>
  /** Accepted behavioural events of the range and collection, all types. */
  readonly events: (filter: Pick<RollupFilter, "organizationId" | "range" | "collection">) => Effect.Effect<number>
  /** Runs reads against one moment of the database, so that figures of one answer belong together. */
  readonly atOneMoment: <A>(reads: Effect.Effect<A>) => Effect.Effect<A>
}

const MEASURES = ["searches", "zero_results", "searches_with_click", "searches_with_purchase", "clicks", "add_to_carts", "purchases"] as const
/** As the rollups keep them: plain measures, then amounts in millionths. */
const STORED = [...MEASURES, "cart_value_micros", "revenue_micros"] as const
const sums = [
  ...MEASURES.map((name) => `coalesce(sum(r.${name}), 0)::int8 AS ${name}`),
  "coalesce(sum(r.cart_value_micros), 0) / 1000000.0 AS cart_value",
  "coalesce(sum(r.revenue_micros), 0) / 1000000.0 AS revenue"
].join(", ")
/** A row whose counts were all taken back is no row. */
const anything = [...MEASURES.slice(0, 2), ...MEASURES.slice(4)].map((name) => `sum(r.${name}) <> 0`).join(" OR ")
const orders = {
  "popular": "searches DESC, revenue DESC, q ASC, dimension ASC",
  "zero-results": "zero_results::float8 / greatest(searches, 1) DESC, searches DESC, q ASC, dimension ASC"
} as const

interface EdgeRow {
  readonly q: string
  readonly device: string
  readonly country: string
  readonly surface: string
  readonly sums: Array<number>
}

/** Key of a query row without the organization: collection, q, device, country, surface. */
const keepsQuery = ({ collection, segment }: RollupFilter) => {
  const at = segment?.value === undefined ? -1 : 2 + ["device", "country", "surface"].indexOf(segment.dimension)
  return (key: ReadonlyArray<string>): boolean => (collection === undefined || key[0] === collection) && (at < 0 || key[at] === segment!.value)
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
    const instantsOf = Effect.fnUntraced(function*(organizationId: string, range: DateRange, table: "queries" | "events") {
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

    /** Sums of the edges by everything that a query groups by. */
    const edgesOf = (filter: RollupFilter) =>
      Effect.map(instantsOf(filter.organizationId, filter.range, "queries"), (instants) => {
        const keeps = keepsQuery(filter)
        const rows = new Map<string, EdgeRow>()
        for (const [key, , values] of instants) {
          if (!keeps(key)) continue
          const id = key.slice(1).join("\n")
          let row = rows.get(id)
          if (row === undefined) rows.set(id, row = { q: key[1]!, device: key[2]!, country: key[3]!, surface: key[4]!, sums: new Array<number>(STORED.length).fill(0) })
          const plain = MEASURES.length
          for (let i = 0; i < STORED.length; i++) {
            // Amounts come as units and millionths; summed here they stay far below what a double counts exactly.
            row.sums[i] = row.sums[i]! + (i < plain ? values[i]! : values[plain + 2 * (i - plain)]! * 1_000_000 + values[plain + 2 * (i - plain) + 1]!)
          }
        }
        return [...rows.values()].map(({ sums: values, ...row }) => ({ ...row, ...Object.fromEntries(STORED.map((name, i) => [name, values[i]!])) }))
      })

    /** `FROM …` of query rows over the whole range as `r`, and its parameters. */
    const querySource = (filter: RollupFilter) =>
      Effect.map(edgesOf(filter), (edges) => {
        const { collection, organizationId, range, segment } = filter
        const spans = planOf(range).filter(({ grain }) => grain !== GRAINS.instant)
        const parameters: Array<unknown> = [spanParameter(spans), organizationId]
        const conditions = [
          "t.organization_id = $2", "t.grain = s.grain", "t.bucket_at >= s.first", "t.bucket_at < s.behind",
          ...(collection === undefined ? [] : [`t.collection = $${parameters.push(collection)}`]),
          ...(segment?.value === undefined ? [] : [`t.${segment.dimension} = $${parameters.push(segment.value)}`])
        ]
        const columns = ["q", "device", "country", "surface", ...STORED]
        const rows = `SELECT ${columns.map((name) => `t.${name}`).join(", ")} FROM ${SPANS} JOIN analytics_query_rollup t ON ${conditions.join(" AND ")}`
        const edgeRows = edges.length === 0 ? "" : ` UNION ALL SELECT ${columns.join(", ")} FROM json_to_recordset($${parameters.push(JSON.stringify(edges))}::text::json)
          AS e (q text, device text, country text, surface text, ${STORED.map((name) => `${name} numeric`).join(", ")})`
        return { parameters, text: `FROM (${rows}${edgeRows}) r` }
      })

    return Rollups.of({
      queryPage: Effect.fnUntraced(function*(filter, { limit, offset, order }) {
        const { parameters, text } = yield* querySource(filter)
        const isGrouped = filter.segment !== undefined && filter.segment.value === undefined
        const dimension = isGrouped ? `r.${filter.segment!.dimension}` : "NULL::text"
        // One JSON value, so that the total is known also on a page behind the last row.
        const { answer } = yield* one<{ answer: RollupPageAnswer }>(
          `WITH grouped AS MATERIALIZED (
            SELECT r.q AS q, ${dimension} AS dimension, ${sums} ${text} GROUP BY r.q${isGrouped ? `, ${dimension}` : ""}
            HAVING ${order === "zero-results" ? "sum(r.searches) <> 0" : anything}
          ), page AS (SELECT * FROM grouped ORDER BY ${orders[order]} LIMIT ${limit} OFFSET ${offset})
          SELECT json_build_object('total', (SELECT count(*) FROM grouped), 'rows', (SELECT coalesce(json_agg(page ORDER BY ${orders[order]}), '[]') FROM page)) AS answer`,
          parameters
        )
        return answer
      }),
      totals: Effect.fnUntraced(function*(filter) {
        const { parameters, text } = yield* querySource(filter)
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
