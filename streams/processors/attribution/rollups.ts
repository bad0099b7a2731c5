/**
 * What the attribution step emits: signed counts at exact instants. A flush writes them packed by minute and nothing else;
 * some seconds later `fold.ts` adds them to rows of three grains (minute, hour, day), so that any span of time is answered
 * exactly from few rows, and a row that many events touch is written once for all of them. A retraction is a negative
 * count; what cancels is not written.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { GRAINS, MINUTE_MS } from "../../../src/analytics/grain.ts"
import { type InstantTable, MinutePacker } from "../../../src/analytics/instants.ts"
import { numbersLiteral, ROWS_PER_STATEMENT, textsLiteral } from "./literals.ts"
import { Makers } from "./makers.ts"
import { writePopularity } from "./popularity.ts"
import { type LoggedEvent, LogKnowledge, writeRules } from "./rules.ts"

/** The organization first, then the other parts of a row's key. */
export type Key = ReadonlyArray<string>
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
export const millionths = (units: number, micros: number): string => micros === 0 && units === 0 ? "0" : String(BigInt(units) * 1_000_000n + BigInt(micros))

/** What a row knows of its table: not the table itself, which states keep rows of longer than it lives. */
interface Generation {
  size: number
}

/** Instants of a row that are looked through before they are found by a map, or in an append-only table not looked for any more. */
const LOOKED_MAX = 8
const CAPACITY = 1_024
const NONE = -1

/** One key of a table. What is counted of it lies with the table, each instant's place naming the one before it. */
export class DeltaRow {
  readonly key: Key
  readonly generation: Generation
  /** Places of its newest instant, and of the one counted at last. */
  newest = NONE
  last = NONE
  instants = 0
  places: Map<number, number> | undefined

  constructor(generation: Generation, key: Key) {
    this.generation = generation
    this.key = key
  }
}

/** The parts that a row is found by, in the order of its table's key. Asked once a row: a closure at each call would cost more than the look-up. */
type KeyOf = (a: string, b: string, c: string, d: string, e: string, last: string) => Key

/** Rows whose keys differ in their last part alone. */
interface Shelf {
  readonly a: string
  readonly b: string
  readonly c: string
  readonly d: string
  readonly e: string
  readonly rows: Map<string, DeltaRow>
}

/**
 * Signed sums of one table by key and instant, flat: arrays of a row's own would make more garbage than the counting
 * costs. In an append-only table, of which nothing is taken back, an instant may come more than once.
 */
export class Deltas {
  readonly #shelves = new Map<string, Shelf>()
  /** The one found last: events of a visit come together. */
  #shelf: Shelf | undefined
  readonly plain: number
  readonly slots: number
  readonly generation: Generation = { size: 0 }
  readonly #keyOf: KeyOf
  readonly #isAppendOnly: boolean
  #instants = new Float64Array(CAPACITY)
  #before = new Int32Array(CAPACITY)
  /** `slots` sums for each instant. */
  #sums: Float64Array

  constructor(columns: number, amounts: number, keyOf: KeyOf, isAppendOnly = false) {
    this.plain = columns - amounts
    this.slots = this.plain + 2 * amounts
    this.#keyOf = keyOf
    this.#isAppendOnly = isAppendOnly
    this.#sums = new Float64Array(CAPACITY * this.slots)
  }

  /** Instants touched. */
  get size(): number {
    return this.generation.size
  }
  /** The row of a key, told by its last part and five before it (the organization first); what else it has must be part of those. */
  row(a: string, b: string, c: string, d: string, e: string, last: string): DeltaRow {
    let shelf = this.#shelf
    if (shelf === undefined || shelf.a !== a || shelf.b !== b || shelf.c !== c || shelf.d !== d || shelf.e !== e) {
      // Parts are the tenant's own text, which holds no NUL: what Postgres cannot store was refused or replaced before.
      const id = `${a}\u0000${b}\u0000${c}\u0000${d}\u0000${e}`
      shelf = this.#shelves.get(id)
      if (shelf === undefined) this.#shelves.set(id, shelf = { a, b, c, d, e, rows: new Map() })
      this.#shelf = shelf
    }
    let row = shelf.rows.get(last)
    if (row === undefined) shelf.rows.set(last, row = new DeltaRow(this.generation, this.#keyOf(a, b, c, d, e, last)))
    return row
  }

  /** Adds to one measure at one instant. */
  add(row: DeltaRow, instant: number, slot: number, amount: number): void {
    if (row.last === NONE || this.#instants[row.last] !== instant) row.last = this.#placeOf(row, instant)
    const at = row.last * this.slots + slot
    this.#sums[at] = this.#sums[at]! + amount
  }

  #placeOf(row: DeltaRow, instant: number): number {
    if (row.places !== undefined) {
      const found = row.places.get(instant)
      if (found !== undefined) return found
    } else {
      let place = row.newest
      for (let looked = 0; place !== NONE && looked < LOOKED_MAX; looked++, place = this.#before[place]!) if (this.#instants[place] === instant) return place
    }
    const place = this.generation.size++
    if (place === this.#instants.length) this.#grow()
    this.#instants[place] = instant
    this.#before[place] = row.newest
    row.newest = place
    row.instants++
    if (row.places !== undefined) row.places.set(instant, place)
    else if (!this.#isAppendOnly && row.instants > LOOKED_MAX) {
      row.places = new Map()
      for (let each = place; each !== NONE; each = this.#before[each]!) row.places.set(this.#instants[each]!, each)
    }
    return place
  }
  #grow(): void {
    const grown = <A extends Float64Array | Int32Array>(array: A, larger: A): A => (larger.set(array), larger)
    this.#instants = grown(this.#instants, new Float64Array(2 * this.#instants.length))
    this.#before = grown(this.#before, new Int32Array(2 * this.#before.length))
    this.#sums = grown(this.#sums, new Float64Array(2 * this.#sums.length))
  }

  eachKey(each: (key: Key) => void): void {
    for (const { rows } of this.#shelves.values()) for (const { key } of rows.values()) each(key)
  }

  /** Every instant that did not cancel, those of a key together; its sums are `sums[from]` and the following. */
  eachInstant(each: (key: Key, instant: number, sums: Float64Array, from: number) => void): void {
    const { slots } = this
    for (const { rows } of this.#shelves.values()) {
      for (const { key, newest } of rows.values()) {
        for (let place = newest; place !== NONE; place = this.#before[place]!) {
          const from = place * slots
          for (let at = from; at < from + slots; at++) {
            if (this.#sums[at] === 0) continue
            each(key, this.#instants[place]!, this.#sums, from)
            break
          }
        }
      }
    }
  }
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
const segmentedKey: KeyOf = (organizationId, collection, device, country, surface, of) => [organizationId, collection, of, device, country, surface]
const askedKey: KeyOf = (organizationId, collection, isExplicit, filter, tag, q) => [organizationId, collection, q, isExplicit, filter, tag]
export const newRollups = (knowledge = new LogKnowledge()): Rollups => ({
  knowledge,
  asked: new Deltas(ASKED_MEASURES.length, 0, askedKey),
  others: new Deltas(1, 0, (organizationId, collection, type, _d, _e, id) => [organizationId, collection, type, id], true),
  logged: [],
  makers: new Makers(),
  queries: new Deltas(QUERY_MEASURES.length, QUERY_AMOUNTS, segmentedKey),
  products: new Deltas(PRODUCT_MEASURES.length, PRODUCT_AMOUNTS, segmentedKey, true),
  events: new Deltas(EVENT_MEASURES.length, 0, (organizationId, collection, _c, _d, _e, type) => [organizationId, collection, type]),
  filters: new Deltas(FILTER_MEASURES.length, 0, (organizationId, collection, device, country, surface, use) => [organizationId, collection, ...use.split("\u0000"), device, country, surface])
})
export const sizeOfRollups = ({ events, filters, logged, others, products, queries }: Rollups): number => queries.size + products.size + events.size + filters.size + others.size + logged.length

/**
 * Every table of rollups: what instants are folded into, and what a replay rebuilds (`../../replays`). Their keys, measures and
 * amounts are those of the instants.
 */
export const ROLLUP_TABLES = [
  { table: "analytics_query_rollup", of: "queries", keys: ["collection", "q", "device", "country", "surface"], measures: QUERY_MEASURES },
  { table: "analytics_product_rollup", of: "products", keys: ["collection", "document_id", "device", "country", "surface"], measures: PRODUCT_MEASURES },
  { table: "analytics_event_rollup", of: "events", keys: ["collection", "type"], measures: EVENT_MEASURES },
  { table: "analytics_filter_rollup", of: "filters", keys: ["collection", "type", "field", "value", "device", "country", "surface"], measures: FILTER_MEASURES }
] as const satisfies ReadonlyArray<RollupTable>
export interface RollupTable {
  readonly table: string
  readonly of: InstantTable
  /** Behind the organization. */ readonly keys: ReadonlyArray<string>
  readonly measures: ReadonlyArray<string>
}
export const INSTANTS_TABLE = "analytics_instants"
export const UNFOLDED_TABLE = "analytics_unfolded"

/** Where rows go: the tables themselves, or their shadows with one organization alone, under another name. */
interface Destination {
  readonly prefix: "" | "shadow_"
  /** Undefined for what is left out. */
  readonly nameOf: ((organizationId: string) => string | undefined) | undefined
}

/** A minute of an organization on its way to Postgres. */
interface PackedMinute {
  readonly organizationId: string
  readonly minute_at: number
  readonly packer: MinutePacker
}

const packed = (rollups: Rollups, { nameOf }: Destination): ReadonlyArray<PackedMinute> => {
  const minutes = new Map<string, Map<number, PackedMinute>>()
  const minuteOf = (name: string, minute_at: number): PackedMinute => {
    let own = minutes.get(name)
    if (own === undefined) minutes.set(name, own = new Map())
    let minute = own.get(minute_at)
    if (minute === undefined) own.set(minute_at, minute = { organizationId: name, minute_at, packer: new MinutePacker() })
    return minute
  }
  for (const { of } of ROLLUP_TABLES) {
    const deltas: Deltas = rollups[of], { slots } = deltas
    // Most instants are of the minute before them, and of its organization.
    let organizationId: string | undefined, minute: PackedMinute | undefined
    deltas.eachInstant((key, instant, sums, from) => {
      const minute_at = Math.floor(instant / MINUTE_MS) * MINUTE_MS
      if (minute === undefined || minute.minute_at !== minute_at || organizationId !== key[0]) {
        organizationId = key[0]!
        const name = nameOf === undefined ? organizationId : nameOf(organizationId)
        minute = name === undefined ? undefined : minuteOf(name, minute_at)
      }
      minute?.packer.add(of, key, 1, instant - minute_at, sums, from, slots)
    })
  }
  return [...minutes.values()].flatMap((own) => [...own.values()])
}

const writeInstants = (rollups: Rollups, destination: Destination) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const table = `${destination.prefix}${INSTANTS_TABLE}`
    const insert = `INSERT INTO ${table} (organization_id, minute_at, packed) SELECT o, m, decode(p, 'base64') FROM unnest($1::text::text[], $2::text::int8[], $3::text::text[]) AS t (o, m, p)`
    const all = packed(rollups, destination)
    for (let from = 0; from < all.length; from += ROWS_PER_STATEMENT) {
      const part = all.slice(from, from + ROWS_PER_STATEMENT)
      yield* sql.unsafe(
        // A shadow's rows are made when it is exchanged.
        destination.prefix === "" ? `WITH written AS (${insert} RETURNING organization_id, minute_at, flush) INSERT INTO ${UNFOLDED_TABLE} (organization_id, minute_at, flush) SELECT * FROM written` : insert,
        [textsLiteral(part.map((minute) => minute.organizationId)), numbersLiteral(part.map((minute) => minute.minute_at)), textsLiteral(part.map(({ packer }) => Buffer.from(packer.pack()).toString("base64")))]
      )
    }
  })

/** Packed instants, use of queries, and what rules count. No row of a rollup: that is `fold.ts`. */
export const writeRollups = (rollups: Rollups): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    yield* writeInstants(rollups, { prefix: "", nameOf: undefined })
    yield* writePopularity(rollups)
    yield* writeRules(rollups, rollups.knowledge)
  })

/** One organization's part, added to the shadow of its instants under the shadow's name. */
export const writeShadow = (rollups: Rollups, organizationId: string, shadow: string): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  writeInstants(rollups, { prefix: "shadow_", nameOf: (id) => id === organizationId ? shadow : undefined })
