/**
 * The tables of rollups: what instants are folded into, what readers query, and what a replay rebuilds. A table has the
 * keys, measures and amounts of its instants.
 */
import type { InstantTable } from "../../figures/instants.ts"

/** Columns of `analytics_query_rollup`; the last ones are amounts in integer millionths. */
export const QUERY_MEASURES = [
  "searches",
  "zero_results",
  "searches_with_click",
  "searches_with_purchase",
  "clicks",
  "add_to_carts",
  "purchases",
  "cart_value_micros",
  "revenue_micros"
] as const
export const QUERY_AMOUNTS = 2
/** For `analytics_filter_rollup`: the first ones of the query rollup, in the same slots. */
export const FILTER_MEASURES = ["searches", "zero_results", "searches_with_click", "searches_with_purchase"] as const
export const PRODUCT_MEASURES = [
  "views",
  "clicks",
  "add_to_carts",
  "purchases",
  "quantity_micros",
  "cart_value_micros",
  "revenue_micros"
] as const
export const PRODUCT_AMOUNTS = 3
export const EVENT_MEASURES = ["events"] as const

export interface RollupTable {
  readonly table: string
  readonly of: InstantTable
  /** The key columns after the organization. */ readonly keys: ReadonlyArray<string>
  readonly measures: ReadonlyArray<string>
}
export const ROLLUP_TABLES = [
  {
    table: "analytics_query_rollup",
    of: "queries",
    keys: ["collection", "q", "device", "country", "surface"],
    measures: QUERY_MEASURES
  },
  {
    table: "analytics_product_rollup",
    of: "products",
    keys: ["collection", "document_id", "device", "country", "surface"],
    measures: PRODUCT_MEASURES
  },
  { table: "analytics_event_rollup", of: "events", keys: ["collection", "type"], measures: EVENT_MEASURES },
  {
    table: "analytics_filter_rollup",
    of: "filters",
    keys: ["collection", "type", "field", "value", "device", "country", "surface"],
    measures: FILTER_MEASURES
  }
] as const satisfies ReadonlyArray<RollupTable>
export const INSTANTS_TABLE = "analytics_instants"
export const UNFOLDED_TABLE = "analytics_unfolded"
