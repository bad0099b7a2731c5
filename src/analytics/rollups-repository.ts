/**
 * Reads of the rollups that the attribution processor writes (streams/processors/attribution/rollups.ts). A span of
 * time is read as its plan says (`grain.ts`): a few index ranges of rows, at its ends the packed instants of two
 * minutes, and those of the last seconds that are not folded into rows yet, which makes one moment of the database of
 * every answer. What takes long is kept in memory (`kept-tables.ts`).
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { DateRange } from "./date-range.ts"
import type { ProductSums, QuerySums, SearchSums } from "./formulas.ts"
import { DAY_MS, GRAINS, MINUTE_MS, type Span, spansOf } from "@dowser/streams/figures/grain"
import { type InstantTable, MinuteReader } from "@dowser/streams/figures/instants"
import { instantsKeptFrom, withoutOldInstants } from "./instants-retention.ts"
import { type KeptSource, type KeptTables, type KeptTablesOptions, makeKeptTables } from "./kept-tables.ts"
import type { Ranking } from "./ranked-table.ts"
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
export interface Grouped {
  readonly dimension: string | null
}
export type RollupRow = QuerySums & Grouped & { readonly q: string }
export type ProductRollupRow = ProductSums & Grouped & { readonly document_id: string }
export type FilterRollupRow = SearchSums &
  Grouped & { readonly type: "filter" | "facet"; readonly field: string; readonly value: string }
export interface RollupPageAnswer<Row> {
  readonly total: number
  readonly rows: ReadonlyArray<Row>
}

export interface RollupsShape {
  readonly queryPage: (
    filter: RollupFilter,
    page: RollupPage & { readonly order: "popular" | "zero-results" }
  ) => Effect.Effect<RollupPageAnswer<RollupRow>>
  /** Highest revenue first. */
  readonly productPage: (filter: RollupFilter, page: RollupPage) => Effect.Effect<RollupPageAnswer<ProductRollupRow>>
  /** Most searches first. */
  readonly filterPage: (filter: RollupFilter, page: RollupPage) => Effect.Effect<RollupPageAnswer<FilterRollupRow>>
  /**
   * Sums of the whole range, and of its part of each UTC day by that day's first instant; days without anything are
   * absent.
   */
  readonly totals: (
    filter: RollupFilter
  ) => Effect.Effect<{ readonly all: QuerySums; readonly days: ReadonlyMap<number, QuerySums> }>
  /** Accepted behavioural events of the range and collection, all types. */
  readonly events: (filter: Pick<RollupFilter, "organizationId" | "range" | "collection">) => Effect.Effect<number>
  /**
   * Runs reads against one moment of the database: figures of one answer belong together, and so do rows and what is
   * not folded into them. The other reads need it.
   */
  readonly atOneMoment: <A>(reads: Effect.Effect<A>) => Effect.Effect<A>
  readonly kept: Pick<KeptTables, "bytes" | "settled">
}

/**
 * A table of rollups as it is read: key columns behind the organization, plain measures, then amounts, kept in
 * millionths.
 */
interface Table {
  readonly name: string
  readonly instants: InstantTable
  readonly keys: ReadonlyArray<string>
  readonly measures: ReadonlyArray<string>
  /** Measures that are not kept as they are shown: one that is left out here is not read. */
  readonly amounts: ReadonlyArray<string>
}
const QUERIES: Table = {
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
/** As the tables keep them. */
const storedOf = ({ amounts, measures }: Table): ReadonlyArray<string> => [
  ...measures,
  ...amounts.map((name) => `${name}_micros`)
]
const sumsOf = ({ amounts, measures }: Table): string =>
  [
    ...measures.map((name) => `coalesce(sum(r.${name}), 0)::int8 AS ${name}`),
    ...amounts.map((name) => `coalesce(sum(r.${name}_micros), 0) / 1000000.0 AS ${name}`)
  ].join(", ")
/** As instants hold them: an amount is its units, then its millionths, so that sums stay exact in doubles. */
const partsOf = ({ amounts, measures }: Table): ReadonlyArray<string> => [
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
const fromParts = ({ amounts, measures }: Table, parts: ReadonlyArray<number>): Record<string, number> => ({
  ...Object.fromEntries(measures.map((name, i) => [name, parts[i]!])),
  ...Object.fromEntries(
    amounts.map((name, i) => [name, amountOf(parts[measures.length + 2 * i]!, parts[measures.length + 2 * i + 1]!)])
  )
})

/**
 * How the rows of a page are grouped, which of them are rows at all, and in which order they come: for Postgres and for
 * memory.
 */
interface View extends Ranking {
  readonly table: Table
  readonly by: ReadonlyArray<string>
  readonly having: string
  readonly order: string
}
/** A row whose counts were all taken back is no row. */
const something = (table: Table, names: ReadonlyArray<string>): Pick<View, "having" | "shows"> => {
  const columns = names.map((name) => table.measures.indexOf(name))
  return {
    having: names.map((name) => `sum(r.${name}) <> 0`).join(" OR "),
    shows: (sum) => columns.some((column) => sum(column) !== 0)
  }
}
/** Highest first, by each in turn; then by key. */
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
const views = {
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
const viewsOf = (table: Table): ReadonlyArray<View> => Object.values(views).filter((view) => view.table === table)
/** One row a day. */
const DAYS: Ranking = { name: "days", shows: () => true, compare: () => 0 }
const DAYS_MAX = 400

/** Whether an instant's key is of the filter's collection and segment. */
const keeps = ({ keys }: Table, { collection, segment }: RollupFilter) => {
  const at = segment?.value === undefined ? -1 : keys.indexOf(segment.dimension)
  // What was packed before products had dimensions has none.
  return (key: ReadonlyArray<string>): boolean =>
    (collection === undefined || key[0] === collection) && (at < 0 || (key[at] ?? "") === segment!.value)
}

export class Rollups extends Context.Service<Rollups, RollupsShape>()("dowser/analytics/Rollups") {
  static readonly layerWith = (options: KeptTablesOptions): Layer.Layer<Rollups, never, SqlClient.SqlClient> =>
    Layer.effect(
      Rollups,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const clock = yield* Clock.Clock
        const tables = yield* makeKeptTables(options)
        const rangeOf = (range: DateRange): DateRange =>
          withoutOldInstants(range, instantsKeptFrom(clock.currentTimeMillisUnsafe()))
        const planOf = (range: DateRange): ReadonlyArray<Span> => {
          const { before, from } = rangeOf(range)
          return spansOf(from, before)
        }
        // A driver failure is a defect here: no caller can act on it.
        const all = <A extends object>(
          text: string,
          parameters: ReadonlyArray<unknown>
        ): Effect.Effect<ReadonlyArray<A>> =>
          Effect.orDie(sql.unsafe<A>(text, parameters) as Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>)
        const one = <A extends object>(text: string, parameters: ReadonlyArray<unknown>): Effect.Effect<A> =>
          Effect.map(all<A>(text, parameters), (rows) => rows[0]!)

        /**
         * What no row tells of a range: instants of its ends that are less than a minute, at most two, and of minutes
         * inside it those that are not folded yet. Sums of a minute may come together.
         */
        const eachUnrolled = Effect.fnUntraced(function* (
          organizationId: string,
          range: DateRange,
          table: InstantTable,
          each: (key: ReadonlyArray<string>, at: number, sums: ReadonlyArray<number>) => void
        ) {
          const spans = planOf(range)
          const whole = spans.filter(({ grain }) => grain !== GRAINS.instant)
          if (whole.length > 0) {
            // Instants are at the ends alone, so whole minutes follow each other.
            const rows = yield* all<{ minute_at: number; packed: Uint8Array }>(
              `SELECT minute_at::float8 AS minute_at, packed FROM analytics_unfolded JOIN analytics_instants USING (organization_id, minute_at, flush)
            WHERE organization_id = $1 AND minute_at >= $2::text::int8 AND minute_at < $3::text::int8`,
              [
                organizationId,
                String(Math.min(...whole.map(({ from }) => from))),
                String(Math.max(...whole.map(({ before }) => before)))
              ]
            )
            for (const { minute_at, packed } of rows)
              new MinuteReader(packed).eachKey(table, (key, sums) => each(key, minute_at, sums))
          }
          for (const span of spans) {
            if (span.grain !== GRAINS.instant) continue
            const minute_at = Math.floor(span.from / MINUTE_MS) * MINUTE_MS
            const rows = yield* all<{ packed: Uint8Array }>(
              "SELECT packed FROM analytics_instants WHERE organization_id = $1 AND minute_at = $2::text::int8",
              [organizationId, String(minute_at)]
            )
            for (const { packed } of rows) {
              new MinuteReader(packed).each(table, (key, after_ms, sums) => {
                const at = minute_at + after_ms
                if (at >= span.from && at < span.before) each(key, at, sums)
              })
            }
          }
        })

        /** Sums of that by everything that a row groups by. */
        const unrolledOf = Effect.fnUntraced(function* (table: Table, filter: RollupFilter) {
          const isKept = keeps(table, filter)
          const plain = table.measures.length
          const stored = storedOf(table)
          const rows = new Map<
            string,
            { readonly key: ReadonlyArray<string>; readonly day: number; readonly sums: Array<number> }
          >()
          yield* eachUnrolled(filter.organizationId, filter.range, table.instants, (key, at, values) => {
            if (!isKept(key)) return
            const day = dayOf(at)
            const id = `${day}\u0000${key.join("\u0000")}`
            let row = rows.get(id)
            if (row === undefined) rows.set(id, (row = { key, day, sums: new Array<number>(stored.length).fill(0) }))
            for (let i = 0; i < stored.length; i++) {
              // Amounts come as units and millionths; summed here they stay far below what a double counts exactly.
              row.sums[i] =
                row.sums[i]! +
                (i < plain
                  ? values[i]!
                  : values[plain + 2 * (i - plain)]! * 1_000_000 + values[plain + 2 * (i - plain) + 1]!)
            }
          })
          return [...rows.values()].map(({ day, key, sums: values }) => ({
            day,
            ...Object.fromEntries(table.keys.map((name, i) => [name, key[i] ?? ""])),
            ...Object.fromEntries(stored.map((name, i) => [name, values[i]!]))
          }))
        })

        /** `FROM …` of a table's rows over the whole range as `r`, and its parameters. */
        const sourceOf = (table: Table, filter: RollupFilter) =>
          Effect.map(unrolledOf(table, filter), (unrolled) => {
            const { collection, organizationId, range, segment } = filter
            const spans = planOf(range).filter(({ grain }) => grain !== GRAINS.instant)
            const parameters: Array<unknown> = [spanParameter(spans), organizationId]
            const conditions = [
              "t.organization_id = $2",
              "t.grain = s.grain",
              "t.bucket_at >= s.first",
              "t.bucket_at < s.behind",
              ...(collection === undefined ? [] : [`t.collection = $${parameters.push(collection)}`]),
              ...(segment?.value === undefined ? [] : [`t.${segment.dimension} = $${parameters.push(segment.value)}`])
            ]
            const keys = table.keys.slice(1),
              stored = storedOf(table)
            const columns = [...keys, ...stored]
            const rows = `SELECT t.bucket_at - t.bucket_at % ${DAY_MS} AS day, ${columns.map((name) => `t.${name}`).join(", ")} FROM ${SPANS} JOIN ${table.name} t ON ${conditions.join(" AND ")}`
            const others =
              unrolled.length === 0
                ? ""
                : ` UNION ALL SELECT day, ${columns.join(", ")} FROM json_to_recordset($${parameters.push(JSON.stringify(unrolled))}::text::json)
          AS e (day int8, ${[...keys.map((name) => `${name} text`), ...stored.map((name) => `${name} numeric`)].join(", ")})`
            return { parameters, text: `FROM (${rows}${others}) r` }
          })

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

        /** One JSON value, so that the total is known also on a page behind the last row. */
        const readPage = Effect.fnUntraced(function* <Row>(
          view: View,
          filter: RollupFilter,
          { limit, offset }: RollupPage
        ) {
          const { parameters, text } = yield* sourceOf(view.table, filter)
          const dimension = dimensionOf(filter)
          const by = view.by.map((name) => `r.${name}`).join(", ")
          const { answer } = yield* one<{ answer: RollupPageAnswer<Row> }>(
            `WITH grouped AS MATERIALIZED (
          SELECT ${by}, ${dimension === undefined ? "NULL::text" : `r.${dimension}`} AS dimension, ${sumsOf(view.table)} ${text} GROUP BY ${by}${dimension === undefined ? "" : `, r.${dimension}`}
          HAVING ${view.having}
        ), page AS (SELECT * FROM grouped ORDER BY ${view.order} LIMIT ${limit} OFFSET ${offset})
        SELECT json_build_object('total', (SELECT count(*) FROM grouped), 'rows', (SELECT coalesce(json_agg(page ORDER BY ${view.order}), '[]') FROM page)) AS answer`,
            parameters
          )
          return answer
        })
        const keptPage = ({ by, table }: View, filter: RollupFilter): KeptSource => {
          const range = rangeOf(filter.range),
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
            rows: Effect.map(sourceOf(table, { ...filter, range }), ({ parameters, text }) => {
              const grouped = parts.map((name) => `r.${name}`).join(", ")
              return {
                parameters,
                text: `SELECT json_build_array(${grouped}, ${partsOf(table).join(", ")}) AS row ${text} GROUP BY ${grouped}`
              }
            })
          }
        }
        const page = <Row>(view: View, filter: RollupFilter, asked: RollupPage): Effect.Effect<RollupPageAnswer<Row>> =>
          tables.read(
            keptPage(view, filter),
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
            readPage<Row>(view, filter, asked)
          )

        const dayRows = (filter: RollupFilter) =>
          Effect.map(sourceOf(QUERIES, filter), ({ parameters, text }) => ({
            parameters,
            text: `SELECT json_build_array(r.day, ${partsOf(QUERIES).join(", ")}) AS row ${text} GROUP BY r.day`
          }))
        const keptDays = (filter: RollupFilter): KeptSource => {
          const range = rangeOf(filter.range),
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
            rows: dayRows({ ...filter, range })
          }
        }
        const totals = Effect.fnUntraced(function* (filter: RollupFilter) {
          const days: ReadonlyArray<{ readonly day: number; readonly sums: ReadonlyArray<number> }> =
            yield* tables.read(
              keptDays(filter),
              (table) => table.page(DAYS, DAYS_MAX, 0).rows.map(({ key, sums }) => ({ day: Number(key[0]), sums })),
              Effect.flatMap(dayRows(filter), ({ parameters, text }) =>
                Effect.map(all<{ row: ReadonlyArray<number> }>(text, parameters), (rows) =>
                  rows.map(({ row: [day, ...sums] }) => ({ day: day!, sums }))
                )
              )
            )
          const sum = partsOf(QUERIES).map((_, i) => days.reduce((before, { sums }) => before + sums[i]!, 0))
          const shown = (parts: ReadonlyArray<number>) => fromParts(QUERIES, parts) as unknown as QuerySums
          return { all: shown(sum), days: new Map(days.map(({ day, sums }) => [day, shown(sums)])) }
        })

        return Rollups.of({
          queryPage: (filter, asked) => page(views[asked.order], filter, asked),
          productPage: (filter, asked) => page(views.products, filter, asked),
          filterPage: (filter, asked) => page(views.filters, filter, asked),
          totals,
          kept: tables,
          events: Effect.fnUntraced(function* ({ collection, organizationId, range }) {
            let events = 0
            yield* eachUnrolled(organizationId, range, "events", (key, _at, [count]) => {
              if (collection === undefined || key[0] === collection) events += count!
            })
            const spans = planOf(range).filter(({ grain }) => grain !== GRAINS.instant)
            const row = yield* one<{ events: number }>(
              `SELECT coalesce(sum(t.events), 0)::float8 AS events FROM ${SPANS}
            JOIN analytics_event_rollup t ON t.organization_id = $2 AND t.grain = s.grain AND t.bucket_at >= s.first AND t.bucket_at < s.behind ${collection === undefined ? "" : "AND t.collection = $3"}`,
              [spanParameter(spans), organizationId, ...(collection === undefined ? [] : [collection])]
            )
            return events + row.events
          }),
          atOneMoment: (reads) =>
            Effect.orDie(
              sql.withTransaction(Effect.andThen(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`, reads))
            )
        })
      })
    )
  static readonly layerSql = Rollups.layerWith({})
}

/** The column that rows are grouped by beside what the view groups by. */
const dimensionOf = ({ segment }: RollupFilter): string | undefined =>
  segment !== undefined && segment.value === undefined ? segment.dimension : undefined
const dayOf = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS

const SPANS = "json_to_recordset($1::text::json) AS s (grain int2, first int8, behind int8)"
const spanParameter = (spans: ReadonlyArray<Span>): string =>
  JSON.stringify(spans.map(({ before, from, grain }) => ({ grain, first: from, behind: before })))
