/**
 * Reads the rollups that the rollups processor writes (streams/processors/rollups/write.ts). A span of time is read
 * according to its plan (`grain.ts`): a few index ranges of rows, the packed instants of two minutes at its bounds,
 * and those of the last seconds that are not folded yet, so that every response shows one moment of the database.
 * Results of slow reads are cached in memory (`kept-tables.ts`).
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { GRAINS } from "@dowser/streams/figures/grain"
import type { ProductSums, QuerySums, SearchSums } from "./formulas.ts"
import { type KeptTables, type KeptTablesOptions, makeKeptTables } from "./kept-tables.ts"
import { pageOf, type RollupPage, type RollupPageAnswer, totalsOf } from "./rollup-pages.ts"
import { type RollupFilter, RollupSource, spanParameter, SPANS } from "./rollup-source.ts"
import { views } from "./rollup-tables.ts"

export type { RollupFilter }
/** Value of the grouping dimension, if there is one. */
export interface Grouped {
  readonly dimension: string | null
}
type RollupRow = QuerySums & Grouped & { readonly q: string }
type ProductRollupRow = ProductSums & Grouped & { readonly document_id: string }
type FilterRollupRow = SearchSums &
  Grouped & { readonly type: "filter" | "facet"; readonly field: string; readonly value: string }
interface RollupsShape {
  readonly queryPage: (
    filter: RollupFilter,
    page: RollupPage & { readonly order: "popular" | "zero-results" }
  ) => Effect.Effect<RollupPageAnswer<RollupRow>>
  /** Highest revenue first. */
  readonly productPage: (filter: RollupFilter, page: RollupPage) => Effect.Effect<RollupPageAnswer<ProductRollupRow>>
  /** Most searches first. */
  readonly filterPage: (filter: RollupFilter, page: RollupPage) => Effect.Effect<RollupPageAnswer<FilterRollupRow>>
  /**
   * Sums of the entire range, and of its part of each UTC day, keyed by that day's first instant; days without data
   * are absent.
   */
  readonly totals: (
    filter: RollupFilter
  ) => Effect.Effect<{ readonly all: QuerySums; readonly days: ReadonlyMap<number, QuerySums> }>
  /** Accepted behavioural events of the range and collection, all types. */
  readonly events: (filter: Pick<RollupFilter, "organizationId" | "range" | "collection">) => Effect.Effect<number>
  /**
   * Runs reads against one moment of the database: figures of one response must be consistent, and so must rows and
   * what is not folded into them. The other reads require it.
   */
  readonly atOneMoment: <A>(reads: Effect.Effect<A>) => Effect.Effect<A>
  readonly kept: Pick<KeptTables, "bytes" | "settled">
}

/** Accepted behavioural events of a range, all types. */
const eventsOf = Effect.fnUntraced(function* (
  source: RollupSource,
  { collection, organizationId, range }: Pick<RollupFilter, "organizationId" | "range" | "collection">
) {
  let events = 0
  yield* source.eachUnrolled(organizationId, range, "events", (key, _at, [count]) => {
    if (collection === undefined || key[0] === collection) events += count!
  })
  const spans = source.planOf(range).filter(({ grain }) => grain !== GRAINS.instant)
  const row = yield* source.one<{ events: number }>(
    `SELECT coalesce(sum(t.events), 0)::float8 AS events FROM ${SPANS}
  JOIN analytics_event_rollup t ON t.organization_id = $2 AND t.grain = s.grain AND t.bucket_at >= s.first AND t.bucket_at < s.behind ${collection === undefined ? "" : "AND t.collection = $3"}`,
    [spanParameter(spans), organizationId, ...(collection === undefined ? [] : [collection])]
  )
  return events + row.events
})

export class Rollups extends Context.Service<Rollups, RollupsShape>()("dowser/analytics/Rollups") {
  static readonly layerWith = (options: KeptTablesOptions): Layer.Layer<Rollups, never, SqlClient.SqlClient> =>
    Layer.effect(
      Rollups,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const source = new RollupSource(sql, yield* Clock.Clock)
        const tables = yield* makeKeptTables(options)
        return Rollups.of({
          queryPage: (filter, asked) => pageOf(source, tables, views[asked.order], filter, asked),
          productPage: (filter, asked) => pageOf(source, tables, views.products, filter, asked),
          filterPage: (filter, asked) => pageOf(source, tables, views.filters, filter, asked),
          totals: (filter) => totalsOf(source, tables, filter),
          kept: tables,
          events: (filter) => eventsOf(source, filter),
          atOneMoment: (reads) =>
            Effect.orDie(
              sql.withTransaction(Effect.andThen(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`, reads))
            )
        })
      })
    )
  static readonly layerSql = Rollups.layerWith({})
}
