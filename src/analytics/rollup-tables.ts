/**
 * The tables of rollups as readers see them, and the views that pages show: which columns exist, how sums are
 * computed from the parts of instants, which rows are shown, and their order. Pure.
 */
import type { InstantTable } from "@dowser/streams/figures/instants"
import type { Ranking } from "./ranked-table.ts"
import { SEGMENT_DIMENSIONS } from "./schema.ts"

/**
 * A table of rollups for reading: key columns after the organization, plain measures, then amounts, stored in
 * millionths.
 */
export interface Table {
  readonly name: string
  readonly instants: InstantTable
  readonly keys: ReadonlyArray<string>
  readonly measures: ReadonlyArray<string>
  /** Measures that are stored differently from how they are shown; a measure that is not listed is not read. */
  readonly amounts: ReadonlyArray<string>
}
export const QUERIES: Table = {
  name: "analytics_query_rollup",
  instants: "queries",
  keys: ["collection", "q", ...SEGMENT_DIMENSIONS],
  measures: [
    "searches",
    "zero_results",
    "searches_with_click",
    "searches_with_purchase",
    "clicks",
    "add_to_carts",
    "purchases"
  ],
  amounts: ["cart_value", "revenue"]
}
const PRODUCTS: Table = {
  name: "analytics_product_rollup",
  instants: "products",
  keys: ["collection", "document_id", ...SEGMENT_DIMENSIONS],
  measures: ["views", "clicks", "add_to_carts", "purchases"],
  amounts: ["quantity", "cart_value", "revenue"]
}
const FILTERS: Table = {
  name: "analytics_filter_rollup",
  instants: "filters",
  keys: ["collection", "type", "field", "value", ...SEGMENT_DIMENSIONS],
  measures: ["searches", "zero_results", "searches_with_click", "searches_with_purchase"],
  amounts: []
}
/** As stored in the tables. */
export const storedOf = ({ amounts, measures }: Table): ReadonlyArray<string> => [
  ...measures,
  ...amounts.map((name) => `${name}_micros`)
]
export const sumsOf = ({ amounts, measures }: Table): string =>
  [
    ...measures.map((name) => `coalesce(sum(r.${name}), 0)::int8 AS ${name}`),
    ...amounts.map((name) => `coalesce(sum(r.${name}_micros), 0) / 1000000.0 AS ${name}`)
  ].join(", ")
/** As stored in instants: an amount is its units, then its millionths, so that sums stay exact in doubles. */
export const partsOf = ({ amounts, measures }: Table): ReadonlyArray<string> => [
  ...measures.map((name) => `coalesce(sum(r.${name}), 0)::float8`),
  ...amounts.flatMap((name) => [
    `div(coalesce(sum(r.${name}_micros), 0), 1000000)::float8`,
    `mod(coalesce(sum(r.${name}_micros), 0), 1000000)::float8`
  ])
]
const MICROS = 1_000_000
const amountOf = (units: number, micros: number): number => {
  const all = units * MICROS + micros
  return Number.isSafeInteger(all) ? all / MICROS : units + micros / MICROS
}
export const fromParts = ({ amounts, measures }: Table, parts: ReadonlyArray<number>): Record<string, number> => ({
  ...Object.fromEntries(measures.map((name, i) => [name, parts[i]!])),
  ...Object.fromEntries(
    amounts.map((name, i) => [name, amountOf(parts[measures.length + 2 * i]!, parts[measures.length + 2 * i + 1]!)])
  )
})

/** How the rows of a page are grouped, filtered and ordered, both in Postgres and in memory. */
export interface View extends Ranking {
  readonly table: Table
  readonly by: ReadonlyArray<string>
  readonly having: string
  readonly order: string
}
/** A row whose counts were all retracted is not shown. */
const something = (table: Table, names: ReadonlyArray<string>): Pick<View, "having" | "shows"> => {
  const columns = names.map((name) => table.measures.indexOf(name))
  return {
    having: names.map((name) => `sum(r.${name}) <> 0`).join(" OR "),
    shows: (sum) => columns.some((column) => sum(column) !== 0)
  }
}
/** Highest first, by each column in turn; then by key. */
const descending = (
  table: Table,
  names: ReadonlyArray<string>,
  by: ReadonlyArray<string>
): Pick<View, "order" | "compare"> => {
  const plain = table.measures.length
  const values = names.map((name) => {
    const column = table.measures.indexOf(name),
      amount = plain + 2 * table.amounts.indexOf(name)
    return column >= 0
      ? (sum: (column: number) => number) => sum(column)
      : (sum: (column: number) => number) => amountOf(sum(amount), sum(amount + 1))
  })
  return {
    order: [
      ...names.map((name) => `${name} DESC`),
      ...[...by, "dimension"].map((name) => `${name} COLLATE "C" ASC`)
    ].join(", "),
    compare: (a, b) => {
      for (const value of values) {
        const difference = value(b) - value(a)
        if (difference !== 0) return difference
      }
      return 0
    }
  }
}
export const views = {
  popular: {
    name: "popular",
    table: QUERIES,
    by: ["q"],
    ...something(QUERIES, ["searches", "zero_results", "clicks", "add_to_carts", "purchases"]),
    ...descending(QUERIES, ["searches", "revenue"], ["q"])
  },
  "zero-results": {
    name: "zero-results",
    table: QUERIES,
    by: ["q"],
    ...something(QUERIES, ["searches"]),
    order: `zero_results::float8 / greatest(searches, 1) DESC, searches DESC, q COLLATE "C" ASC, dimension COLLATE "C" ASC`,
    compare: (a, b) => b(1) / Math.max(b(0), 1) - a(1) / Math.max(a(0), 1) || b(0) - a(0)
  },
  products: {
    name: "products",
    table: PRODUCTS,
    by: ["document_id"],
    ...something(PRODUCTS, PRODUCTS.measures),
    ...descending(PRODUCTS, ["revenue", "purchases", "add_to_carts", "clicks", "views"], ["document_id"])
  },
  filters: {
    name: "filters",
    table: FILTERS,
    by: ["type", "field", "value"],
    ...something(FILTERS, ["searches"]),
    ...descending(FILTERS, ["searches"], ["type", "field", "value"])
  }
} satisfies Record<string, View>
export const viewsOf = (table: Table): ReadonlyArray<View> =>
  Object.values(views).filter((view) => view.table === table)
/** One row per day. */
export const DAYS: Ranking = { name: "days", shows: () => true, compare: () => 0 }
export const DAYS_MAX = 400
