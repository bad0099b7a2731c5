/**
 * What the attribution step emits: signed counts at exact instants. They are written as rows of three grains (minute,
 * hour, day), summed before they are written, and once more as packed instants per minute; so any span of time is
 * answered exactly from few rows. A retraction is a negative count; what cancels is not written.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { DAY_MS, GRAINS, HOUR_MS, MINUTE_MS } from "../../../src/analytics/grain.ts"
import { type Instant, packMinute } from "../../../src/analytics/instants.ts"
import { numbersLiteral, ROWS_PER_STATEMENT, textsLiteral } from "./literals.ts"
import { Makers } from "./makers.ts"
import { writePopularity } from "./popularity.ts"
import { type LoggedEvent, LogKnowledge, writeRules } from "./rules.ts"

/** The organization first, then the other parts of a row's key. */
export type Key = ReadonlyArray<string>
/** Signed sums of one row's measures: plain ones first, then whole units and millionths of each amount. */
export type Sums = Array<number>

/** Columns of `analytics_query_rollup`; the last ones are amounts in whole millionths. */
export const QUERY_MEASURES = [
  "searches", "zero_results", "searches_with_click", "searches_with_purchase", "clicks", "add_to_carts", "purchases", "cart_value_micros", "revenue_micros"
] as const
/** Of `analytics_filter_rollup`: the first ones of the query rollup, in the same slots. */
export const FILTER_MEASURES = ["searches", "zero_results", "searches_with_click", "searches_with_purchase"] as const
export const ASKED_MEASURES = ["found", "missed"] as const
export const PRODUCT_MEASURES = ["views", "clicks", "add_to_carts", "purchases", "quantity_micros", "cart_value_micros", "revenue_micros"] as const
export const EVENT_MEASURES = ["events"] as const
export const QUERY_AMOUNTS = 2
const PRODUCT_AMOUNTS = 3

/** Whole units and millionths of an amount. Each part sums exactly in doubles for more events than a flush can hold. */
export interface Money { readonly units: number; readonly micros: number }
export const NO_MONEY: Money = { units: 0, micros: 0 }
export const moneyOf = (amount: number): Money => {
  const micros = Math.round(amount * 1_000_000)
  const units = Math.floor(micros / 1_000_000)
  return { units, micros: micros - units * 1_000_000 }
}
const millionths = (units: number, micros: number): string => micros === 0 && units === 0 ? "0" : String(BigInt(units) * 1_000_000n + BigInt(micros))

/** What a row knows of its table: not the table itself, which states keep rows of longer than it lives. */
interface Generation {
  readonly slots: number
  size: number
}

/** Instants of a row beyond which they are found by a map instead of by looking. */
const LOOKED_MAX = 8

/**
 * One key of a table with its sums by instant. Most rows of a flush have one instant, so they lie flat in two arrays:
 * a map and an array for each would make more garbage than the counting costs.
 */
export class DeltaRow {
  readonly key: Key
  readonly generation: Generation
  readonly #instants: Array<number> = []
  /** `slots` sums for each instant, in the same order. */
  readonly #sums: Array<number> = []
  #places: Map<number, number> | undefined
  #last = -1

  constructor(generation: Generation, key: Key) {
    this.generation = generation
    this.key = key
  }

  get instants(): number {
    return this.#instants.length
  }
  instantAt(place: number): number {
    return this.#instants[place]!
  }
  sumsAt(place: number): Sums {
    const { slots } = this.generation
    return this.#sums.slice(place * slots, (place + 1) * slots)
  }

  /** Adds to one measure at one instant. */
  add(instant: number, slot: number, amount: number): void {
    const { slots } = this.generation
    if (this.#last < 0 || this.#instants[this.#last] !== instant) this.#last = this.#placeOf(instant)
    const at = this.#last * slots + slot
    this.#sums[at] = this.#sums[at]! + amount
  }

  #placeOf(instant: number): number {
    const found = this.#places === undefined ? this.#instants.indexOf(instant) : this.#places.get(instant) ?? -1
    if (found >= 0) return found
    const place = this.#instants.push(instant) - 1
    for (let slot = 0; slot < this.generation.slots; slot++) this.#sums.push(0)
    this.generation.size++
    if (this.#places !== undefined) this.#places.set(instant, place)
    else if (this.#instants.length > LOOKED_MAX) this.#places = new Map(this.#instants.map((at, i) => [at, i]))
    return place
  }
}

export interface GrainRow {
  readonly key: Key
  readonly grain: number
  readonly bucket_at: number
  readonly sums: Sums
}

const SIZES = [[GRAINS.minute, MINUTE_MS], [GRAINS.hour, HOUR_MS], [GRAINS.day, DAY_MS]] as const
const isNothing = (sums: Sums): boolean => sums.every((sum) => sum === 0)

/** Signed sums of one table by key and instant. */
export class Deltas {
  readonly #rows = new Map<string, DeltaRow>()
  readonly plain: number
  readonly generation: Generation

  constructor(columns: number, amounts: number) {
    this.plain = columns - amounts
    this.generation = { slots: this.plain + 2 * amounts, size: 0 }
  }

  /** Instants touched. */
  get size(): number {
    return this.generation.size
  }
  /** `id` must differ where any part of the key differs. */
  row(id: string, key: () => Key): DeltaRow {
    let row = this.#rows.get(id)
    if (row === undefined) this.#rows.set(id, row = new DeltaRow(this.generation, key()))
    return row
  }

  /** Rows of all grains, those that cancelled left out, in primary-key order so that two writers never deadlock. */
  rows(): ReadonlyArray<GrainRow> {
    const rows: Array<GrainRow> = []
    for (const row of this.#rows.values()) {
      if (row.instants === 1) {
        const sums = row.sumsAt(0)
        if (isNothing(sums)) continue
        const instant = row.instantAt(0)
        for (const [grain, size] of SIZES) rows.push({ key: row.key, grain, bucket_at: Math.floor(instant / size) * size, sums })
        continue
      }
      for (const [grain, size] of SIZES) {
        const buckets = new Map<number, Sums>()
        for (let place = 0; place < row.instants; place++) addInto(buckets, Math.floor(row.instantAt(place) / size) * size, row.sumsAt(place))
        for (const [bucket_at, sums] of buckets) if (!isNothing(sums)) rows.push({ key: row.key, grain, bucket_at, sums })
      }
    }
    return rows.sort(byPrimaryKey)
  }

  eachKey(each: (key: Key) => void): void {
    for (const { key } of this.#rows.values()) each(key)
  }

  /** Calls `each` with every instant that did not cancel. */
  eachInstant(each: (organizationId: string, minute_at: number, instant: Instant) => void): void {
    for (const row of this.#rows.values()) {
      const rest = row.key.slice(1)
      for (let place = 0; place < row.instants; place++) {
        const sums = row.sumsAt(place)
        if (isNothing(sums)) continue
        const at = row.instantAt(place)
        const minute_at = Math.floor(at / MINUTE_MS) * MINUTE_MS
        each(row.key[0]!, minute_at, [rest, at - minute_at, sums])
      }
    }
  }
}

const addInto = (buckets: Map<number, Sums>, bucket: number, sums: Sums): void => {
  const held = buckets.get(bucket)
  if (held === undefined) buckets.set(bucket, sums)
  else for (let i = 0; i < sums.length; i++) held[i] = held[i]! + sums[i]!
}

const byPrimaryKey = (a: GrainRow, b: GrainRow): number => {
  if (a.grain !== b.grain) return a.grain - b.grain
  if (a.bucket_at !== b.bucket_at) return a.bucket_at - b.bucket_at
  for (let i = 0; i < a.key.length; i++) if (a.key[i] !== b.key[i]) return a.key[i]! < b.key[i]! ? -1 : 1
  return 0
}

export interface Rollups {
  readonly queries: Deltas
  readonly products: Deltas
  readonly events: Deltas
  readonly filters: Deltas
  readonly makers: Makers
  /** For analytics rules (`rules.ts`): searches with and without results, by how they were asked; events of documents that products do not count; events as they came. */
  readonly asked: Deltas
  readonly others: Deltas
  readonly logged: Array<LoggedEvent>
  readonly knowledge: LogKnowledge
}
export const newRollups = (knowledge = new LogKnowledge()): Rollups => ({
  knowledge,
  asked: new Deltas(ASKED_MEASURES.length, 0),
  others: new Deltas(1, 0),
  logged: [],
  makers: new Makers(),
  queries: new Deltas(QUERY_MEASURES.length, QUERY_AMOUNTS),
  products: new Deltas(PRODUCT_MEASURES.length, PRODUCT_AMOUNTS),
  events: new Deltas(EVENT_MEASURES.length, 0),
  filters: new Deltas(FILTER_MEASURES.length, 0)
})
export const sizeOfRollups = ({ events, filters, logged, others, products, queries }: Rollups): number => queries.size + products.size + events.size + filters.size + others.size + logged.length

/**
 * Every table of rollups: what a flush adds to, and what a replay rebuilds and swaps in (`../../replays`). Each has a twin
 * `shadow_<table>` with the same columns, made by the migration that makes the table; it holds minutes alone.
 */
export const ROLLUP_TABLES = [
  { table: "analytics_query_rollup", of: "queries", keys: ["collection", "q", "device", "country", "surface"], measures: QUERY_MEASURES },
  { table: "analytics_product_rollup", of: "products", keys: ["collection", "document_id", "device", "country", "surface"], measures: PRODUCT_MEASURES },
  { table: "analytics_event_rollup", of: "events", keys: ["collection", "type"], measures: EVENT_MEASURES },
  { table: "analytics_filter_rollup", of: "filters", keys: ["collection", "type", "field", "value", "device", "country", "surface"], measures: FILTER_MEASURES }
] as const satisfies ReadonlyArray<RollupTable>
export interface RollupTable {
  readonly table: string
  readonly of: "queries" | "products" | "events" | "filters"
  /** Behind the organization. */ readonly keys: ReadonlyArray<string>
  readonly measures: ReadonlyArray<string>
}
export const INSTANTS_TABLE = "analytics_instants"

/** Where rows go: the tables themselves, or their shadows with one organization alone, under another name. */
interface Destination {
  readonly prefix: "" | "shadow_"
  /** Undefined for rows that are left out. */
  readonly nameOf: ((organizationId: string) => string | undefined) | undefined
}
const LIVE: Destination = { prefix: "", nameOf: undefined }
const shadowOf = (organizationId: string, shadow: string): Destination => ({ prefix: "shadow_", nameOf: (id) => id === organizationId ? shadow : undefined })

/** One upsert per 10,000 rows. */
const upsert = ({ keys, measures, of, table }: RollupTable, rollups: Rollups, { nameOf, prefix }: Destination) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const deltas = rollups[of]
    const rows = nameOf === undefined ? deltas.rows() : deltas.rows().flatMap((row) => {
      // Hours and days are sums of minutes: they are made when the rows are swapped.
      const name = row.grain === GRAINS.minute ? nameOf(row.key[0]!) : undefined
      return name === undefined ? [] : [{ ...row, key: [name, ...row.key.slice(1)] }]
    })
    const target = prefix + table
    const columns = ["organization_id", ...keys, "grain", "bucket_at", ...measures]
    const { plain } = deltas
    const types = ["text", ...keys.map(() => "text"), "int2", "int8", ...measures.map((_, i) => i < plain ? "int8" : "numeric")]
    const statement = [
      `INSERT INTO ${target} (${columns.join(", ")}) SELECT * FROM unnest(${types.map((type, i) => `$${i + 1}::text::${type}[]`).join(", ")})`,
      `ON CONFLICT (${["organization_id", "grain", "bucket_at", ...keys].join(", ")}) DO UPDATE SET`,
      measures.map((measure) => `${measure} = ${target}.${measure} + EXCLUDED.${measure}`).join(", ")
    ].join(" ")
    for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT) {
      const part = rows.slice(from, from + ROWS_PER_STATEMENT)
      yield* sql.unsafe(statement, [
        ...["organization_id", ...keys].map((_, i) => textsLiteral(part.map(({ key }) => key[i]!))),
        numbersLiteral(part.map(({ grain }) => grain)),
        numbersLiteral(part.map(({ bucket_at }) => bucket_at)),
        ...measures.map((_, i) =>
          numbersLiteral(part.map(({ sums }) => i < plain ? sums[i]! : millionths(sums[plain + 2 * (i - plain)]!, sums[plain + 2 * (i - plain) + 1]!))))
      ])
    }
  })

interface Minute {
  readonly organizationId: string
  readonly minute_at: number
  readonly queries: Array<Instant>
  readonly products: Array<Instant>
  readonly events: Array<Instant>
  readonly filters: Array<Instant>
}

const insertInstants = (rollups: Rollups, { nameOf, prefix }: Destination) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const minutes = new Map<string, Minute>()
    for (const table of ["queries", "products", "events", "filters"] as const) {
      rollups[table].eachInstant((organization, minute_at, instant) => {
        const organizationId = nameOf === undefined ? organization : nameOf(organization)
        if (organizationId === undefined) return
        const id = `${organizationId} ${minute_at}`
        let minute = minutes.get(id)
        if (minute === undefined) minutes.set(id, minute = { organizationId, minute_at, queries: [], products: [], events: [], filters: [] })
        minute[table].push(instant)
      })
    }
    const all = [...minutes.values()]
    for (let from = 0; from < all.length; from += ROWS_PER_STATEMENT) {
      const part = all.slice(from, from + ROWS_PER_STATEMENT)
      yield* sql.unsafe(
        `INSERT INTO ${prefix}${INSTANTS_TABLE} (organization_id, minute_at, packed) SELECT o, m, decode(p, 'base64') FROM unnest($1::text::text[], $2::text::int8[], $3::text::text[]) AS t (o, m, p)`,
        [textsLiteral(part.map((minute) => minute.organizationId)), numbersLiteral(part.map((minute) => minute.minute_at)), textsLiteral(part.map((minute) => Buffer.from(packMinute(minute)).toString("base64")))]
      )
    }
  })

const writeTables = (rollups: Rollups, destination: Destination) =>
  Effect.gen(function*() {
    for (const table of ROLLUP_TABLES) yield* upsert(table, rollups, destination)
    yield* insertInstants(rollups, destination)
  })

export const writeRollups = (rollups: Rollups): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    yield* writeTables(rollups, LIVE)
    yield* writePopularity(rollups)
    yield* writeRules(rollups, rollups.knowledge)
  })

/** One organization's part, added to the shadow tables under the shadow's name. */
export const writeShadow = (rollups: Rollups, organizationId: string, shadow: string): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  writeTables(rollups, shadowOf(organizationId, shadow))
