/**
 * Pages and sums of the rollups: read from the database at first, and from memory once a read was slow
 * (`kept-tables.ts`).
 */
import { Effect } from "effect"
import type { DateRange } from "./date-range.ts"
import type { QuerySums } from "./formulas.ts"
import type { KeptSource, KeptTables } from "./kept-tables.ts"
import { dayOf, keeps, type RollupFilter, type RollupSource } from "./rollup-source.ts"
import { DAYS, DAYS_MAX, fromParts, partsOf, QUERIES, sumsOf, type View, viewsOf } from "./rollup-tables.ts"

export interface RollupPage {
  readonly limit: number
  readonly offset: number
}
export interface RollupPageAnswer<Row> {
  readonly total: number
  readonly rows: ReadonlyArray<Row>
}

/** The column by which rows are grouped in addition to the view's own grouping. */
const dimensionOf = ({ segment }: RollupFilter): string | undefined =>
  segment !== undefined && segment.value === undefined ? segment.dimension : undefined

const idOf = (
  kind: string,
  { collection, organizationId, segment }: RollupFilter,
  { before, from }: DateRange
): string =>
  JSON.stringify([
    kind,
    organizationId,
    from,
    before,
    collection ?? null,
    segment?.dimension ?? null,
    segment?.value ?? null
  ])

/** Returns one JSON value, so that the total is known even on a page past the last row. */
const readPage = Effect.fnUntraced(function* <Row>(
  source: RollupSource,
  view: View,
  filter: RollupFilter,
  { limit, offset }: RollupPage
) {
  const { parameters, text } = yield* source.sourceOf(view.table, filter)
  const dimension = dimensionOf(filter)
  const by = view.by.map((name) => `r.${name}`).join(", ")
  const { answer } = yield* source.one<{ answer: RollupPageAnswer<Row> }>(
    `WITH grouped AS MATERIALIZED (
  SELECT ${by}, ${dimension === undefined ? "NULL::text" : `r.${dimension}`} AS dimension, ${sumsOf(view.table)} ${text} GROUP BY ${by}${dimension === undefined ? "" : `, r.${dimension}`}
  HAVING ${view.having}
), page AS (SELECT * FROM grouped ORDER BY ${view.order} LIMIT ${limit} OFFSET ${offset})
SELECT json_build_object('total', (SELECT count(*) FROM grouped), 'rows', (SELECT coalesce(json_agg(page ORDER BY ${view.order}), '[]') FROM page)) AS answer`,
    parameters
  )
  return answer
})
/** The page's source for the cache in memory. */
const keptPage = (source: RollupSource, { by, table }: View, filter: RollupFilter): KeptSource => {
  const range = source.rangeOf(filter.range),
    dimension = dimensionOf(filter),
    isKept = keeps(table, filter)
  const parts = dimension === undefined ? by : [...by, dimension]
  const places = parts.map((name) => table.keys.indexOf(name))
  return {
    id: idOf(table.name, filter, range),
    organizationId: filter.organizationId,
    instants: table.instants,
    range,
    width: table.measures.length + 2 * table.amounts.length,
    rankings: viewsOf(table),
    keyParts: parts.length,
    keyOf: (key) => (isKept(key) ? places.map((place) => key[place] ?? "") : undefined),
    rows: Effect.map(source.sourceOf(table, { ...filter, range }), ({ parameters, text }) => {
      const grouped = parts.map((name) => `r.${name}`).join(", ")
      return {
        parameters,
        text: `SELECT json_build_array(${grouped}, ${partsOf(table).join(", ")}) AS row ${text} GROUP BY ${grouped}`
      }
    })
  }
}
/** A page of a view, from memory if cached. */
export const pageOf = <Row>(
  source: RollupSource,
  tables: KeptTables,
  view: View,
  filter: RollupFilter,
  asked: RollupPage
): Effect.Effect<RollupPageAnswer<Row>> =>
  tables.read(
    keptPage(source, view, filter),
    (table) => {
      const { rows, total } = table.page(view, asked.limit, asked.offset)
      const hasDimension = dimensionOf(filter) !== undefined
      return {
        total,
        rows: rows.map(
          ({ key, sums }) =>
            ({
              ...Object.fromEntries(view.by.map((name, i) => [name, key[i]!])),
              dimension: hasDimension ? key[view.by.length]! : null,
              ...fromParts(view.table, sums)
            }) as Row
        )
      }
    },
    readPage<Row>(source, view, filter, asked)
  )

const dayRows = (source: RollupSource, filter: RollupFilter) =>
  Effect.map(source.sourceOf(QUERIES, filter), ({ parameters, text }) => ({
    parameters,
    text: `SELECT json_build_array(r.day, ${partsOf(QUERIES).join(", ")}) AS row ${text} GROUP BY r.day`
  }))
const keptDays = (source: RollupSource, filter: RollupFilter): KeptSource => {
  const range = source.rangeOf(filter.range),
    isKept = keeps(QUERIES, filter)
  return {
    id: idOf("days", filter, range),
    organizationId: filter.organizationId,
    instants: "queries",
    range,
    width: partsOf(QUERIES).length,
    rankings: [DAYS],
    keyParts: 1,
    keyOf: (key, at) => (isKept(key) ? [String(dayOf(at))] : undefined),
    rows: dayRows(source, { ...filter, range })
  }
}
/** Sums of a range and of its days, from memory if cached. */
export const totalsOf = Effect.fnUntraced(function* (source: RollupSource, tables: KeptTables, filter: RollupFilter) {
  const days: ReadonlyArray<{ readonly day: number; readonly sums: ReadonlyArray<number> }> = yield* tables.read(
    keptDays(source, filter),
    (table) => table.page(DAYS, DAYS_MAX, 0).rows.map(({ key, sums }) => ({ day: Number(key[0]), sums })),
    Effect.flatMap(dayRows(source, filter), ({ parameters, text }) =>
      Effect.map(source.all<{ row: ReadonlyArray<number> }>(text, parameters), (rows) =>
        rows.map(({ row: [day, ...sums] }) => ({ day: day!, sums }))
      )
    )
  )
  const sum = partsOf(QUERIES).map((_, i) => days.reduce((before, { sums }) => before + sums[i]!, 0))
  const shown = (parts: ReadonlyArray<number>) => fromParts(QUERIES, parts) as unknown as QuerySums
  return { all: shown(sum), days: new Map(days.map(({ day, sums }) => [day, shown(sums)])) }
})
