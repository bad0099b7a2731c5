/**
 * Reads of the rollups that the attribution processor writes (streams/processors/attribution/rollups.ts). A span of time
 * is read as its plan says (`grain.ts`): a few index ranges, whole days and hours from their own rows.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { DateRange } from "./date-range.ts"
import type { QuerySums } from "./formulas.ts"
import { spansOf } from "./grain.ts"
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
  /** Accepted behavioural events of the range and collection, all types. */
  readonly events: (filter: Pick<RollupFilter, "organizationId" | "range" | "collection">) => Effect.Effect<number>
}

const MEASURES = ["searches", "zero_results", "searches_with_click", "searches_with_purchase", "clicks", "add_to_carts", "purchases"] as const
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

export class Rollups extends Context.Service<Rollups, RollupsShape>()("dowser/analytics/Rollups") {
  static readonly layerSql: Layer.Layer<Rollups, never, SqlClient.SqlClient> = Layer.effect(Rollups, Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    /** `FROM … WHERE …` over the spans of the range, and its parameters. */
    const source = (table: string, { collection, organizationId, range, segment }: RollupFilter) => {
      const spans = spansOf(range.from, range.before)
      const parameters: Array<unknown> = [spans.map((s) => String(s.grain)), spans.map((s) => String(s.from)), spans.map((s) => String(s.before)), organizationId]
      const conditions = [
        "r.organization_id = $4", "r.grain = s.grain", "r.bucket_at >= s.first", "r.bucket_at < s.behind",
        ...(collection === undefined ? [] : [`r.collection = $${parameters.push(collection)}`]),
        ...(segment?.value === undefined ? [] : [`r.${segment.dimension} = $${parameters.push(segment.value)}`])
      ]
      return {
        parameters,
        text: `FROM unnest($1::text[]::int2[], $2::text[]::int8[], $3::text[]::int8[]) AS s (grain, first, behind) JOIN ${table} r ON ${conditions.join(" AND ")}`
      }
    }
    // A driver failure is a defect here: no caller can act on it.
    const one = <A extends object>(text: string, parameters: ReadonlyArray<unknown>): Effect.Effect<A> =>
      Effect.orDie(Effect.map(sql.unsafe<A>(text, parameters) as Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>, (rows) => rows[0]!))

    return Rollups.of({
      queryPage: (filter, { limit, offset, order }) => {
        const { parameters, text } = source("analytics_query_rollup", filter)
        const isGrouped = filter.segment !== undefined && filter.segment.value === undefined
        const dimension = isGrouped ? `r.${filter.segment!.dimension}` : "NULL::text"
        // One JSON value, so that the total is known also on a page behind the last row.
        return one<{ answer: RollupPageAnswer }>(
          `WITH grouped AS MATERIALIZED (
            SELECT r.q AS q, ${dimension} AS dimension, ${sums} ${text} GROUP BY r.q${isGrouped ? `, ${dimension}` : ""}
            HAVING ${order === "zero-results" ? "sum(r.searches) <> 0" : anything}
          ), page AS (SELECT * FROM grouped ORDER BY ${orders[order]} LIMIT ${limit} OFFSET ${offset})
          SELECT json_build_object('total', (SELECT count(*) FROM grouped), 'rows', (SELECT coalesce(json_agg(page ORDER BY ${orders[order]}), '[]') FROM page)) AS answer`,
          parameters
        ).pipe(Effect.map(({ answer }) => answer))
      },
      totals: (filter) => {
        const { parameters, text } = source("analytics_query_rollup", filter)
        return one<{ answer: QuerySums }>(`SELECT row_to_json(t) AS answer FROM (SELECT ${sums} ${text}) t`, parameters).pipe(Effect.map(({ answer }) => answer))
      },
      events: (filter) => {
        const { parameters, text } = source("analytics_event_rollup", { ...filter, segment: undefined })
        return one<{ events: number }>(`SELECT coalesce(sum(r.events), 0)::float8 AS events ${text}`, parameters).pipe(Effect.map(({ events }) => events))
      }
    })
  }))
}
