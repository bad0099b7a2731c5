/**
 * What the attribution step emits: signed counts at exact instants, summed per row before they are written. Each row is
 * written at three grains (instant, hour, day), so that any span of time is answered exactly from few rows: whole days
 * and hours from their own rows, the edges from instants. A retraction is a negative count; what cancels is not written.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { DAY_MS, GRAINS, HOUR_MS } from "../../../src/analytics/grain.ts"

export type Key = ReadonlyArray<string>

/** Columns of `analytics_query_rollup`; money in whole millionths, split so that sums of doubles stay exact. */
export const QUERY_MEASURES = [
  "searches", "zero_results", "searches_with_click", "searches_with_purchase", "clicks", "add_to_carts", "purchases", "cart_value_micros", "revenue_micros"
] as const
export const PRODUCT_MEASURES = ["views", "clicks", "add_to_carts", "purchases", "quantity_micros", "cart_value_micros", "revenue_micros"] as const
export const EVENT_MEASURES = ["events"] as const

/** Whole units and millionths of an amount. Each part sums exactly in doubles for more events than a flush can hold. */
export interface Money { readonly units: number; readonly micros: number }
export const NO_MONEY: Money = { units: 0, micros: 0 }
export const moneyOf = (amount: number): Money => {
  const micros = Math.round(amount * 1_000_000)
  const units = Math.floor(micros / 1_000_000)
  return { units, micros: micros - units * 1_000_000 }
}
const millionths = (units: number, micros: number): string => micros === 0 && units === 0 ? "0" : String(BigInt(units) * 1_000_000n + BigInt(micros))

interface Row {
  readonly key: Key
  readonly instants: Map<number, Float64Array>
}

/** Signed sums of one table by key and instant. The last `moneyColumns` measures take two slots each. */
export class Deltas {
  readonly #rows = new Map<string, Row>()
  readonly #plain: number
  readonly #money: number
  readonly #slots: number
  #size = 0

  constructor(columns: number, moneyColumns: number) {
    this.#plain = columns - moneyColumns
    this.#money = moneyColumns
    this.#slots = this.#plain + 2 * moneyColumns
  }

  /** Rows that would be written at the finest grain. */
  get size(): number {
    return this.#size
  }

  /** The sums at this key and instant, to be changed in place: plain measures first, then units and micros of each money measure. */
  at(id: string, key: Key, instant: number): Float64Array {
    let row = this.#rows.get(id)
    if (row === undefined) this.#rows.set(id, row = { key, instants: new Map() })
    let sums = row.instants.get(instant)
    if (sums === undefined) {
      row.instants.set(instant, sums = new Float64Array(this.#slots))
      this.#size++
    }
    return sums
  }

  /** Rows of all grains, those that cancelled left out, in primary-key order so that two writers never deadlock. */
  rows(): ReadonlyArray<{ readonly key: Key; readonly grain: number; readonly bucket_at: number; readonly values: ReadonlyArray<string> }> {
    const rows: Array<{ key: Key; grain: number; bucket_at: number; values: ReadonlyArray<string> }> = []
    for (const { key, instants } of this.#rows.values()) {
      const hours = new Map<number, Float64Array>()
      const days = new Map<number, Float64Array>()
      for (const [instant, sums] of instants) {
        this.#push(rows, key, GRAINS.instant, instant, sums)
        addInto(hours, Math.floor(instant / HOUR_MS) * HOUR_MS, sums)
      }
      for (const [hour, sums] of hours) {
        this.#push(rows, key, GRAINS.hour, hour, sums)
        addInto(days, Math.floor(hour / DAY_MS) * DAY_MS, sums)
      }
      for (const [day, sums] of days) this.#push(rows, key, GRAINS.day, day, sums)
    }
    return rows.sort(byPrimaryKey)
  }

  #push(rows: Array<{ key: Key; grain: number; bucket_at: number; values: ReadonlyArray<string> }>, key: Key, grain: number, bucket_at: number, sums: Float64Array): void {
    if (sums.every((sum) => sum === 0)) return
    const values: Array<string> = []
    for (let i = 0; i < this.#plain; i++) values.push(String(sums[i]))
    for (let i = 0; i < this.#money; i++) values.push(millionths(sums[this.#plain + 2 * i]!, sums[this.#plain + 2 * i + 1]!))
    rows.push({ key, grain, bucket_at, values })
  }
}

const addInto = (buckets: Map<number, Float64Array>, bucket: number, sums: Float64Array): void => {
  const held = buckets.get(bucket)
  if (held === undefined) buckets.set(bucket, sums.slice())
  else for (let i = 0; i < sums.length; i++) held[i] = held[i]! + sums[i]!
}

const byPrimaryKey = (a: { key: Key; grain: number; bucket_at: number }, b: { key: Key; grain: number; bucket_at: number }): number => {
  if (a.grain !== b.grain) return a.grain - b.grain
  if (a.bucket_at !== b.bucket_at) return a.bucket_at - b.bucket_at
  for (let i = 0; i < a.key.length; i++) if (a.key[i] !== b.key[i]) return a.key[i]! < b.key[i]! ? -1 : 1
  return 0
}

export interface Rollups {
  readonly queries: Deltas
  readonly products: Deltas
  readonly events: Deltas
}
export const newRollups = (): Rollups => ({
  queries: new Deltas(QUERY_MEASURES.length, 2),
  products: new Deltas(PRODUCT_MEASURES.length, 3),
  events: new Deltas(EVENT_MEASURES.length, 0)
})
export const sizeOfRollups = ({ queries, products, events }: Rollups): number => queries.size + products.size + events.size

const ROWS_PER_STATEMENT = 5_000

/** One upsert per 5,000 rows: arrays and `unnest` (reference/front-door part 9). */
const upsert = (table: string, keyColumns: ReadonlyArray<string>, measures: ReadonlyArray<string>, deltas: Deltas) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rows = deltas.rows()
    const columns = [...keyColumns, "grain", "bucket_at", ...measures]
    const types = [...keyColumns.map(() => "text"), "int2", "int8", ...measures.map(() => "int8")]
    const statement = [
      `INSERT INTO ${table} (${columns.join(", ")}) SELECT * FROM unnest(${types.map((type, i) => `$${i + 1}::text[]::${type}[]`).join(", ")})`,
      `ON CONFLICT (${["organization_id", "grain", "bucket_at", ...keyColumns.slice(1)].join(", ")}) DO UPDATE SET`,
      measures.map((measure) => `${measure} = ${table}.${measure} + EXCLUDED.${measure}`).join(", ")
    ].join(" ")
    for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT) {
      const part = rows.slice(from, from + ROWS_PER_STATEMENT)
      yield* sql.unsafe(statement, [
        ...keyColumns.map((_, i) => part.map((row) => row.key[i]!)),
        part.map((row) => String(row.grain)),
        part.map((row) => String(row.bucket_at)),
        ...measures.map((_, i) => part.map((row) => row.values[i]!))
      ])
    }
  })

export const writeRollups = (rollups: Rollups): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    yield* upsert("analytics_query_rollup", ["organization_id", "collection", "q", "device", "country", "surface"], QUERY_MEASURES, rollups.queries)
    yield* upsert("analytics_product_rollup", ["organization_id", "collection", "document_id"], PRODUCT_MEASURES, rollups.products)
    yield* upsert("analytics_event_rollup", ["organization_id", "collection", "type"], EVENT_MEASURES, rollups.events)
  })
