/**
 * Single instants of the rollups, packed by organization and minute: they make bounds within a minute exact without a
 * row per event, and rows are folded from them (streams/processors/rollups/fold.ts). One value per flush and minute;
 * the values of a minute add up. Self-contained msgpackr arrays.
 *
 * Version 3: `[3, texts, …tables]`. A table is one flat array of numbers: the parts of a key; then, for each key, the
 * indexes of its parts in `texts`, the number of its instants, and for each instant the milliseconds within the minute,
 * a bit for each non-zero sum, and those sums. Some 8 bytes an instant and no objects, where version 2 took 60 bytes
 * and three objects.
 */
import { Packr } from "msgpackr"

export const INSTANT_TABLES = ["queries", "products", "events", "filters"] as const
export type InstantTable = (typeof INSTANT_TABLES)[number]
/** `sums` is valid only until the call returns. */
type EachInstant = (key: ReadonlyArray<string>, after_ms: number, sums: ReadonlyArray<number>) => void

const packr = new Packr({ useRecords: false })
const VERSION = 3
/** Bitwise operations on numbers are limited to so many bits. */
const WIDTH_MAX = 31

// Msgpack markers: an array of six, an array with a u32 length, and numbers too large for one byte, by width and sign,
// and doubles.
const ARRAY_OF_6 = 0x96,
  ARRAY_32 = 0xdd,
  UINT_8 = 0xcc,
  UINT_16 = 0xcd,
  UINT_32 = 0xce,
  FLOAT_64 = 0xcb,
  INT_8 = 0xd0
const NUMBER_BYTES_MAX = 9
const double = new Float64Array(1),
  doubleBytes = new Uint8Array(double.buffer)
const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

/**
 * A table's numbers as msgpack, written immediately: collecting them in lists first took more memory than everything
 * that is counted.
 */
class Numbers {
  #bytes = new Uint8Array(64)
  #end = 5
  #count = 0
  key: ReadonlyArray<string> | undefined
  #countAt = 0
  #instants = 0

  get isEmpty(): boolean {
    return this.#count === 0
  }
  #room(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return
    const larger = new Uint8Array(2 * this.#bytes.length)
    larger.set(this.#bytes)
    this.#bytes = larger
  }
  #big(value: number, bytes: number): void {
    for (let shift = 8 * bytes - 8; shift >= 0; shift -= 8) this.#bytes[this.#end++] = value >>> shift
  }
  push(value: number): void {
    this.#room(NUMBER_BYTES_MAX)
    this.#count++
    const bytes = this.#bytes
    if (value >= 0 && value < 0x80 && value === (value | 0)) bytes[this.#end++] = value
    else if (value === value >>> 0) {
      const width = value < 0x100 ? 1 : value < 0x1_0000 ? 2 : 4
      bytes[this.#end++] = width === 1 ? UINT_8 : width === 2 ? UINT_16 : UINT_32
      this.#big(value, width)
    } else if (value === (value | 0) && value >= -0x80) {
      bytes[this.#end++] = INT_8
      bytes[this.#end++] = value
    } else {
      double[0] = value
      bytes[this.#end++] = FLOAT_64
      for (let i = 0; i < 8; i++) bytes[this.#end++] = doubleBytes[isLittleEndian ? 7 - i : i]!
    }
  }
  /** Reserves a count that is updated as instants are added. */
  beginInstants(): void {
    this.#room(NUMBER_BYTES_MAX)
    this.#count++
    this.#bytes[this.#end++] = UINT_32
    this.#countAt = this.#end
    this.#big((this.#instants = 0), 4)
  }
  addInstant(): void {
    const end = this.#end
    this.#end = this.#countAt
    this.#big(++this.#instants, 4)
    this.#end = end
  }
  /** The bytes so far; valid until the next number is added. */
  packed(): Uint8Array {
    const end = this.#end
    this.#bytes[0] = ARRAY_32
    this.#end = 1
    this.#big(this.#count, 4)
    this.#end = end
    return this.#bytes.subarray(0, end)
  }
}

/** One minute of one organization. Instants of one key should be adjacent; O(1) each. */
export class MinutePacker {
  readonly #texts: Array<string> = []
  readonly #places = new Map<string, number>()
  readonly #tables: Record<InstantTable, Numbers> = {
    queries: new Numbers(),
    products: new Numbers(),
    events: new Numbers(),
    filters: new Numbers()
  }

  #placeOf(text: string): number {
    let place = this.#places.get(text)
    if (place === undefined) this.#places.set(text, (place = this.#texts.push(text) - 1))
    return place
  }

  /** The key without its first `skipped` parts; sums are `values[from]` to `values[from + width - 1]`. */
  add(
    table: InstantTable,
    key: ReadonlyArray<string>,
    skipped: number,
    after_ms: number,
    values: ArrayLike<number>,
    from: number,
    width: number
  ): void {
    const numbers = this.#tables[table]
    if (numbers.key !== key) {
      if (numbers.isEmpty) {
        if (width > WIDTH_MAX) throw new RangeError(`${width} sums of an instant; at most ${WIDTH_MAX}`)
        numbers.push(key.length - skipped)
        numbers.push(width)
      }
      for (let part = skipped; part < key.length; part++) numbers.push(this.#placeOf(key[part]!))
      numbers.key = key
      numbers.beginInstants()
    }
    numbers.addInstant()
    numbers.push(after_ms)
    let mask = 0
    for (let slot = 0; slot < width; slot++) if (values[from + slot] !== 0) mask |= 1 << slot
    numbers.push(mask)
    for (let slot = 0; slot < width; slot++) if ((mask >>> slot) & 1) numbers.push(values[from + slot]!)
  }

  pack(): Uint8Array {
    return Buffer.concat([
      Buffer.of(ARRAY_OF_6, VERSION),
      packr.pack(this.#texts),
      ...INSTANT_TABLES.map((table) => this.#tables[table].packed())
    ])
  }
}

type Instant = readonly [key: ReadonlyArray<string>, after_ms: number, sums: ReadonlyArray<number>]
type Unpacked = readonly [
  version: number,
  texts: ReadonlyArray<string>,
  ...tables: ReadonlyArray<ReadonlyArray<number>>
]
/** Version 1 had no filters, and keys of products ended with the document. */
type UnpackedBefore3 = readonly [
  version: number,
  queries: ReadonlyArray<Instant>,
  products: ReadonlyArray<Instant>,
  events: ReadonlyArray<Instant>,
  filters?: ReadonlyArray<Instant>
]

/** Reads a minute that is needed more than once. O(bytes). */
export class MinuteReader {
  readonly #unpacked: Unpacked | UnpackedBefore3

  constructor(bytes: Uint8Array) {
    this.#unpacked = packr.unpack(bytes) as Unpacked | UnpackedBefore3
    if (this.#unpacked[0] > VERSION) throw new TypeError(`instants of version ${this.#unpacked[0]} are not known`)
  }

  /** Visits every instant of a table. */
  each(table: InstantTable, each: EachInstant): void {
    this.#walk(table, each, () => {})
  }

  /** Visits every key of a table once or more, with sums over its instants in the minute. */
  eachKey(table: InstantTable, each: (key: ReadonlyArray<string>, sums: ReadonlyArray<number>) => void): void {
    const total: Array<number> = []
    this.#walk(
      table,
      (_key, _after_ms, sums) => {
        for (let slot = 0; slot < sums.length; slot++) total[slot] = (total[slot] ?? 0) + sums[slot]!
      },
      (key) => {
        each(key, total)
        total.fill(0)
      }
    )
  }

  #walk(table: InstantTable, each: EachInstant, endOf: (key: ReadonlyArray<string>) => void): void {
    const place = INSTANT_TABLES.indexOf(table)
    if (this.#unpacked[0] < VERSION) {
      for (const [key, after_ms, sums] of ((this.#unpacked as UnpackedBefore3)[place + 1] ??
        []) as ReadonlyArray<Instant>) {
        each(key, after_ms, sums)
        endOf(key)
      }
      return
    }
    const [, texts] = this.#unpacked as Unpacked
    const numbers = (this.#unpacked as Unpacked)[place + 2] as ReadonlyArray<number>
    if (numbers.length === 0) return
    const parts = numbers[0]!,
      width = numbers[1]!
    const sums = new Array<number>(width).fill(0)
    for (let at = 2; at < numbers.length;) {
      const key: Array<string> = []
      for (let part = 0; part < parts; part++) key.push(texts[numbers[at++]!]!)
      for (let left = numbers[at++]!; left > 0; left--) {
        const after_ms = numbers[at++]!,
          mask = numbers[at++]!
        for (let slot = 0; slot < width; slot++) sums[slot] = (mask >>> slot) & 1 ? numbers[at++]! : 0
        each(key, after_ms, sums)
      }
      endOf(key)
    }
  }
}
