/**
 * What the attribution step emits: signed counts at exact instants. A flush writes them packed by minute and nothing
 * else; some seconds later `fold.ts` adds them to rows of three grains (minute, hour, day), so that any span of time is
 * answered exactly from few rows, and a row that many events touch is written once for all of them. A retraction is a
 * negative count; what cancels is not written.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { MINUTE_MS } from "../../figures/grain.ts"
import { type InstantTable, MinutePacker } from "../../figures/instants.ts"
import { numbersLiteral, ROWS_PER_STATEMENT, textsLiteral } from "../literals.ts"
import { Makers } from "../popularity/makers.ts"
import { writePopularity } from "../popularity/popularity.ts"
import { type LoggedEvent, LogKnowledge, writeRules } from "../rules/rules.ts"

/** The organization first, then the other parts of a row's key. */
export type Key = ReadonlyArray<string>
/** Columns of `analytics_query_rollup`; the last ones are amounts in whole millionths. */
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
/** Of `analytics_filter_rollup`: the first ones of the query rollup, in the same slots. */
const FILTER_MEASURES = ["searches", "zero_results", "searches_with_click", "searches_with_purchase"] as const
const ASKED_MEASURES = ["found", "missed"] as const
export const PRODUCT_MEASURES = [
  "views",
  "clicks",
  "add_to_carts",
  "purchases",
  "quantity_micros",
  "cart_value_micros",
  "revenue_micros"
] as const
const EVENT_MEASURES = ["events"] as const
export const QUERY_AMOUNTS = 2
const PRODUCT_AMOUNTS = 3

/** Whole units and millionths of an amount. Each part sums exactly in doubles for more events than a flush can hold. */
export interface Money {
  readonly units: number
  readonly micros: number
}
export const NO_MONEY: Money = { units: 0, micros: 0 }
export const moneyOf = (amount: number): Money => {
  const micros = Math.round(amount * 1_000_000)
  const units = Math.floor(micros / 1_000_000)
  return { units, micros: micros - units * 1_000_000 }
}
export const millionths = (units: number, micros: number): string =>
  micros === 0 && units === 0 ? "0" : String(BigInt(units) * 1_000_000n + BigInt(micros))

const CAPACITY = 1_024
/**
 * Memory of a flush is used for the next one where that filled more than such a part of it: new memory costs more to
 * touch than to count in.
 */
const KEPT_FROM = 16
/**
 * Slots of the table that instants are found by, for each of them that there is room for: at most half of it is taken.
 */
const SLOTS_PER_INSTANT = 2
const NONE = -1
/** Keys of a partition that outlive a flush, some 300 bytes each. */
const KEYS_MAX = 40_000

/**
 * One key of a table, which flush after flush counts again. What is counted of it lies with the flush, its `Deltas`.
 */
export class DeltaRow {
  readonly key: Key
  /** The sums that counted it last, and its number among their rows. */
  generation = NONE
  at = NONE
  /** In those sums: the place counted at last. */
  last = NONE

  constructor(key: Key) {
    this.key = key
  }
}

/**
 * The parts that a row is found by, in the order of its table's key. Asked once a row: a closure at each call would
 * cost more than the look-up.
 */
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

interface Level extends Map<string, Level | Shelf> {}
const below = (level: Level, part: string): Level => {
  let next = level.get(part) as Level | undefined
  if (next === undefined) level.set(part, (next = new Map()))
  return next
}

/**
 * The keys that a partition counts of one table: a shop's queries and products come again with every flush, and finding
 * them anew cost more than counting them. One flush's sums at a time are added to over them; when they are too many,
 * all go before the next one.
 */
class Keys {
  /**
   * Part by part: each is short and mostly the same string as the last time, where one text of all five was made and
   * hashed anew.
   */
  #shelves: Level = new Map()
  /** The one found last: events of a visit come together. */
  #shelf: Shelf | undefined
  #size = 0
  readonly #keyOf: KeyOf

  constructor(keyOf: KeyOf) {
    this.#keyOf = keyOf
  }

  get size(): number {
    return this.#size
  }
  row(a: string, b: string, c: string, d: string, e: string, last: string): DeltaRow {
    let shelf = this.#shelf
    if (shelf === undefined || shelf.a !== a || shelf.b !== b || shelf.c !== c || shelf.d !== d || shelf.e !== e) {
      const under = below(below(below(below(this.#shelves, a), b), c), d) as Map<string, Shelf>
      shelf = under.get(e)
      if (shelf === undefined) under.set(e, (shelf = { a, b, c, d, e, rows: new Map() }))
      this.#shelf = shelf
    }
    let row = shelf.rows.get(last)
    if (row === undefined) {
      shelf.rows.set(last, (row = new DeltaRow(this.#keyOf(a, b, c, d, e, last))))
      this.#size++
    }
    return row
  }
  clear(): void {
    this.#shelves = new Map()
    this.#shelf = undefined
    this.#size = 0
  }
}

let generations = 0

/** Instants of a flush are milliseconds that follow each other, and so are the numbers of rows. */
const hashOf = (row: number, instant: number): number => {
  const mixed = Math.imul((instant | 0) ^ Math.imul(row, 0x9e3779b1), 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}

/** Instants of rows, by place, in the order they came. */
interface Places {
  readonly capacity: number
  readonly instants: Float64Array
  /** Numbers of their rows. */
  readonly rows: Int32Array
  /** The place of the row's instant before. */
  readonly before: Int32Array
  /** `slots` for each. */
  readonly sums: Float64Array
  /** Open addressing by row and instant: a place and one more, 0 for none. */
  readonly table: Int32Array
}
const placesFor = (capacity: number, slots: number): Places => ({
  capacity,
  instants: new Float64Array(capacity),
  rows: new Int32Array(capacity),
  before: new Int32Array(capacity),
  sums: new Float64Array(capacity * slots),
  table: new Int32Array(SLOTS_PER_INSTANT * capacity)
})

/**
 * Signed sums of one table by key and instant, flat: arrays of a row's own would make more garbage than the counting
 * costs, and so would a map, whose keys were a number object each. Instants are found by an open-addressing table.
 */
export class Deltas {
  readonly plain: number
  readonly slots: number
  readonly generation = ++generations
  readonly #keys: Keys
  #size = 0
  readonly #rows: Array<DeltaRow> = []
  /** By number of the row: the place of its newest instant; each place names the one before it. */
  readonly #newest: Array<number> = []
  #places: Places

  /** `spent`: sums of as many columns that nobody asks for any more, whose memory is used again. */
  constructor(columns: number, amounts: number, keys: Keys, spent?: Deltas) {
    this.plain = columns - amounts
    this.slots = this.plain + 2 * amounts
    this.#keys = keys
    this.#places =
      spent === undefined || spent.#size < spent.#places.capacity / KEPT_FROM
        ? placesFor(CAPACITY, this.slots)
        : spent.#emptied()
  }
  #emptied(): Places {
    this.#places.sums.fill(0, 0, this.#size * this.slots)
    this.#places.table.fill(0)
    return this.#places
  }

  /** Instants touched. */
  get size(): number {
    return this.#size
  }
  /**
   * The row of a key, told by its last part and five before it (the organization first); what else it has must be part
   * of those.
   */
  row(a: string, b: string, c: string, d: string, e: string, last: string): DeltaRow {
    const row = this.#keys.row(a, b, c, d, e, last)
    if (row.generation !== this.generation) {
      row.generation = this.generation
      row.at = this.#rows.push(row) - 1
      this.#newest.push(NONE)
      row.last = NONE
    }
    return row
  }

  /** Adds to one measure at one instant; `row` is of these sums. */
  add(row: DeltaRow, instant: number, slot: number, amount: number): void {
    if (row.last === NONE || this.#places.instants[row.last] !== instant) row.last = this.#placeOf(row, instant)
    const { sums } = this.#places,
      at = row.last * this.slots + slot
    sums[at] = sums[at]! + amount
  }

  #placeOf({ at: row }: DeltaRow, instant: number): number {
    if (this.#size === this.#places.capacity) this.#grow()
    const { before, instants, rows, table } = this.#places,
      mask = table.length - 1
    let slot = hashOf(row, instant) & mask
    for (let held = table[slot]!; held !== 0; slot = (slot + 1) & mask, held = table[slot]!) {
      if (instants[held - 1] === instant && rows[held - 1] === row) return held - 1
    }
    const place = this.#size++
    table[slot] = place + 1
    instants[place] = instant
    rows[place] = row
    before[place] = this.#newest[row]!
    this.#newest[row] = place
    return place
  }
  #grow(): void {
    const { before, capacity, instants, rows, sums } = this.#places
    const larger = (this.#places = placesFor(2 * capacity, this.slots)),
      { table } = larger,
      mask = table.length - 1
    larger.instants.set(instants)
    larger.rows.set(rows)
    larger.before.set(before)
    larger.sums.set(sums)
    for (let place = 0; place < this.#size; place++) {
      let slot = hashOf(rows[place]!, instants[place]!) & mask
      while (table[slot] !== 0) slot = (slot + 1) & mask
      table[slot] = place + 1
    }
  }

  keyAt(at: number): Key {
    return this.#rows[at]!.key
  }
  eachKey(each: (key: Key) => void): void {
    for (const { key } of this.#rows) each(key)
  }

  /** Every instant that did not cancel, those of a key together; its sums are `sums[from]` and the following. */
  eachInstant(each: (key: Key, instant: number, sums: Float64Array, from: number) => void): void {
    const { slots } = this,
      { before, instants, sums } = this.#places
    for (let at = 0; at < this.#rows.length; at++) {
      const { key } = this.#rows[at]!
      for (let place = this.#newest[at]!; place !== NONE; place = before[place]!) {
        const from = place * slots
        for (let slot = from; slot < from + slots; slot++) {
          if (sums[slot] === 0) continue
          each(key, instants[place]!, sums, from)
          break
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
  /**
   * For analytics rules (`rules.ts`): searches with and without results, by how they were asked; events of documents
   * that products do not count; events as they came.
   */
  readonly asked: Deltas
  readonly others: Deltas
  readonly logged: Array<LoggedEvent>
  readonly knowledge: LogKnowledge
}
const segmentedKey: KeyOf = (organizationId, collection, device, country, surface, of) => [
  organizationId,
  collection,
  of,
  device,
  country,
  surface
]
const askedKey: KeyOf = (organizationId, collection, isExplicit, filter, tag, q) => [
  organizationId,
  collection,
  q,
  isExplicit,
  filter,
  tag
]
/** Of one partition's state, for all its flushes. */
export const newKeys = () => ({
  asked: new Keys(askedKey),
  others: new Keys((organizationId, collection, type, _d, _e, id) => [organizationId, collection, type, id]),
  queries: new Keys(segmentedKey),
  products: new Keys(segmentedKey),
  events: new Keys((organizationId, collection, _c, _d, _e, type) => [organizationId, collection, type]),
  filters: new Keys((organizationId, collection, device, country, surface, use) => [
    organizationId,
    collection,
    ...use.split("\u0000"),
    device,
    country,
    surface
  ])
})
export type RollupKeys = ReturnType<typeof newKeys>

/**
 * With a state's `keys`, nothing is added any more to what was made with them before. `spent` is asked for nothing any
 * more either.
 */
export const newRollups = (knowledge = new LogKnowledge(), keys = newKeys(), spent?: Rollups): Rollups => {
  const tables = Object.values(keys)
  if (tables.reduce((sum, { size }) => sum + size, 0) > KEYS_MAX) for (const table of tables) table.clear()
  return {
    knowledge,
    asked: new Deltas(ASKED_MEASURES.length, 0, keys.asked, spent?.asked),
    others: new Deltas(1, 0, keys.others, spent?.others),
    logged: [],
    makers: new Makers(),
    queries: new Deltas(QUERY_MEASURES.length, QUERY_AMOUNTS, keys.queries, spent?.queries),
    products: new Deltas(PRODUCT_MEASURES.length, PRODUCT_AMOUNTS, keys.products, spent?.products),
    events: new Deltas(EVENT_MEASURES.length, 0, keys.events, spent?.events),
    filters: new Deltas(FILTER_MEASURES.length, 0, keys.filters, spent?.filters)
  }
}
export const sizeOfRollups = ({ events, filters, logged, others, products, queries }: Rollups): number =>
  queries.size + products.size + events.size + filters.size + others.size + logged.length

/**
 * Every table of rollups: what instants are folded into, and what a replay rebuilds (`../../replays`). Their keys,
 * measures and amounts are those of the instants.
 */
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
    if (own === undefined) minutes.set(name, (own = new Map()))
    let minute = own.get(minute_at)
    if (minute === undefined)
      own.set(minute_at, (minute = { organizationId: name, minute_at, packer: new MinutePacker() }))
    return minute
  }
  for (const { of } of ROLLUP_TABLES) {
    const deltas: Deltas = rollups[of],
      { slots } = deltas
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
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const table = `${destination.prefix}${INSTANTS_TABLE}`
    // The values end to end, as one parameter of bytes: as texts they were written and read three times over.
    const insert = `INSERT INTO ${table} (organization_id, minute_at, packed) SELECT o, m, substring($3::bytea FROM f FOR n) FROM unnest($1::text::text[], $2::text::int8[], $4::text::int4[], $5::text::int4[]) AS t (o, m, f, n)`
    const all = packed(rollups, destination)
    for (let from = 0; from < all.length; from += ROWS_PER_STATEMENT) {
      const part = all.slice(from, from + ROWS_PER_STATEMENT),
        values = part.map(({ packer }) => packer.pack())
      let behind = 1
      const starts = values.map(({ length }) => (behind += length) - length)
      yield* sql.unsafe(
        // A shadow's rows are made when it is exchanged.
        destination.prefix === ""
          ? `WITH written AS (${insert} RETURNING organization_id, minute_at, flush) INSERT INTO ${UNFOLDED_TABLE} (organization_id, minute_at, flush) SELECT * FROM written`
          : insert,
        [
          textsLiteral(part.map((minute) => minute.organizationId)),
          numbersLiteral(part.map((minute) => minute.minute_at)),
          Buffer.concat(values),
          numbersLiteral(starts),
          numbersLiteral(values.map(({ length }) => length))
        ]
      )
    }
  })

/** Packed instants, use of queries, and what rules count. No row of a rollup: that is `fold.ts`. */
export const writeRollups = (rollups: Rollups): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    yield* writeInstants(rollups, { prefix: "", nameOf: undefined })
    yield* writePopularity(rollups)
    yield* writeRules(rollups, rollups.knowledge)
  })

/** One organization's part, added to the shadow of its instants under the shadow's name. */
export const writeShadow = (
  rollups: Rollups,
  organizationId: string,
  shadow: string
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  writeInstants(rollups, { prefix: "shadow_", nameOf: (id) => (id === organizationId ? shadow : undefined) })
