/** Analytics metrics from the rollups: paging, formulas and response envelopes. */
import { Context, Effect, Layer } from "effect"
import type { DateRange } from "./date-range.ts"
import { type QuerySums, ratesOf, searchRates, zeroResultRate } from "./formulas.ts"
import { DAY_MS } from "@dowser/streams/figures/grain"
import { type Grouped, type RollupFilter, Rollups } from "./rollups-repository.ts"
import type {
  FilterMetrics,
  OverviewMetrics,
  ProductMetrics,
  QueryMetrics,
  Segment,
  ZeroResultMetrics
} from "./schema.ts"

interface MetricsRequest extends RollupFilter {
  /** For a key of some collections, organization-wide figures are those of `collection` instead. */
  readonly isNarrow?: boolean
  readonly limit: number
  readonly offset: number
}

interface AnalyticsShape {
  readonly getQueryMetrics: (request: MetricsRequest) => Effect.Effect<typeof QueryMetrics.Type>
  readonly getZeroResultMetrics: (request: MetricsRequest) => Effect.Effect<typeof ZeroResultMetrics.Type>
  readonly getProductMetrics: (request: MetricsRequest) => Effect.Effect<typeof ProductMetrics.Type>
  readonly getFilterMetrics: (request: MetricsRequest) => Effect.Effect<typeof FilterMetrics.Type>
  readonly getOverviewMetrics: (request: RollupFilter) => Effect.Effect<typeof OverviewMetrics.Type>
}

const iso = (at: number): string => new Date(at).toISOString()
const dimensionOf = (segment: Segment | undefined, { dimension }: Grouped) =>
  segment !== undefined && segment.value === undefined ? { [segment.dimension]: dimension ?? "" } : {}

const totalsOf = (sums: QuerySums) => ({
  searches: sums.searches,
  zero_results: sums.zero_results,
  clicks: sums.clicks,
  add_to_carts: sums.add_to_carts,
  purchases: sums.purchases,
  revenue: sums.revenue,
  cart_value: sums.cart_value,
  zero_result_rate: zeroResultRate(sums),
  ...ratesOf(sums)
})

const NOTHING: QuerySums = {
  searches: 0,
  zero_results: 0,
  searches_with_click: 0,
  searches_with_purchase: 0,
  clicks: 0,
  add_to_carts: 0,
  purchases: 0,
  cart_value: 0,
  revenue: 0
}
/** First instants of the UTC days in a range; the first and the last day may be partial. */
const daysOf = ({ before, from }: DateRange): ReadonlyArray<number> => {
  const days: Array<number> = []
  for (let day = Math.floor(from / DAY_MS) * DAY_MS; day < before; day += DAY_MS) days.push(day)
  return days
}

const envelope = (request: MetricsRequest, events: number, total: number) => {
  const next = request.offset + request.limit
  return {
    from: iso(request.range.from),
    to: iso(request.range.before - 1),
    collection: request.collection ?? null,
    // No limit drops rows: paging reaches all of them.
    events,
    truncated: false,
    total,
    next_offset: next < total ? next : null
  }
}

const queryMetrics = (rollups: Rollups["Service"]) =>
  Effect.fn("analytics/Analytics.getQueryMetrics")(function* (request: MetricsRequest) {
    const [{ rows, total }, events] = yield* rollups.atOneMoment(
      Effect.all([rollups.queryPage(request, { ...request, order: "popular" }), rollups.events(request)])
    )
    return {
      ...envelope(request, events, total),
      data: rows.map((row) => ({
        q: row.q,
        ...dimensionOf(request.segment, row),
        searches: row.searches,
        clicks: row.clicks,
        add_to_carts: row.add_to_carts,
        purchases: row.purchases,
        revenue: row.revenue,
        cart_value: row.cart_value,
        ...ratesOf(row)
      }))
    }
  })

const zeroResultMetrics = (rollups: Rollups["Service"]) =>
  Effect.fn("analytics/Analytics.getZeroResultMetrics")(function* (request: MetricsRequest) {
    const [{ rows, total }, events, { all }] = yield* rollups.atOneMoment(
      Effect.all([
        rollups.queryPage(request, { ...request, order: "zero-results" }),
        rollups.events(request),
        // Over every search of the organization in the range, regardless of other filters; a key of some collections
        // learns nothing about the others.
        rollups.totals({
          organizationId: request.organizationId,
          range: request.range,
          collection: request.isNarrow === true ? request.collection : undefined,
          segment: undefined
        })
      ])
    )
    return {
      ...envelope(request, events, total),
      organization_zero_result_rate: zeroResultRate(all),
      data: rows.map((row) => ({
        q: row.q,
        ...dimensionOf(request.segment, row),
        searches: row.searches,
        zero_results: row.zero_results,
        zero_result_rate: zeroResultRate(row)
      }))
    }
  })

const productMetrics = (rollups: Rollups["Service"]) =>
  Effect.fn("analytics/Analytics.getProductMetrics")(function* (request: MetricsRequest) {
    const [{ rows, total }, events] = yield* rollups.atOneMoment(
      Effect.all([rollups.productPage(request, request), rollups.events(request)])
    )
    return {
      ...envelope(request, events, total),
      data: rows.map((row) => ({
        document_id: row.document_id,
        ...dimensionOf(request.segment, row),
        views: row.views,
        clicks: row.clicks,
        add_to_carts: row.add_to_carts,
        purchases: row.purchases,
        revenue: row.revenue,
        cart_value: row.cart_value
      }))
    }
  })

const filterMetrics = (rollups: Rollups["Service"]) =>
  Effect.fn("analytics/Analytics.getFilterMetrics")(function* (request: MetricsRequest) {
    const [{ rows, total }, events] = yield* rollups.atOneMoment(
      Effect.all([rollups.filterPage(request, request), rollups.events(request)])
    )
    return {
      ...envelope(request, events, total),
      data: rows.map((row) => ({
        type: row.type,
        field: row.field,
        ...(row.type === "facet" ? {} : { value: row.value }),
        ...dimensionOf(request.segment, row),
        searches: row.searches,
        zero_results: row.zero_results,
        ...searchRates(row)
      }))
    }
  })

const overviewMetrics = (rollups: Rollups["Service"]) =>
  Effect.fn("analytics/Analytics.getOverviewMetrics")(function* (request: RollupFilter) {
    const [{ all, days }, events] = yield* rollups.atOneMoment(
      Effect.all([rollups.totals(request), rollups.events(request)])
    )
    return {
      from: iso(request.range.from),
      to: iso(request.range.before - 1),
      collection: request.collection ?? null,
      events,
      totals: totalsOf(all),
      series: daysOf(request.range).map((day) => ({
        date: iso(day).slice(0, 10),
        ...totalsOf(days.get(day) ?? NOTHING)
      }))
    }
  })

export class Analytics extends Context.Service<Analytics, AnalyticsShape>()("dowser/analytics/Analytics") {
  static readonly layerNoDeps: Layer.Layer<Analytics, never, Rollups> = Layer.effect(
    Analytics,
    Effect.map(Rollups, (rollups) =>
      Analytics.of({
        getQueryMetrics: queryMetrics(rollups),
        getZeroResultMetrics: zeroResultMetrics(rollups),
        getProductMetrics: productMetrics(rollups),
        getFilterMetrics: filterMetrics(rollups),
        getOverviewMetrics: overviewMetrics(rollups)
      })
    )
  )
  static readonly layer = Analytics.layerNoDeps.pipe(Layer.provide(Rollups.layerSql))
}
