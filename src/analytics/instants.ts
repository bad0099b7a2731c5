/**
 * Single instants of the rollups, packed by organization and minute: what makes bounds between two minutes exact without a
 * row per event, and what rows are folded from (streams/processors/attribution/fold.ts). One value per flush and minute;
 * the values of a minute add up. Self-contained msgpackr arrays.
 *
 * Version 3: `[3, texts, …tables]`, a table being one flat array of numbers: parts of a key, then for each key the places
 * of its parts in `texts`, how many instants follow, and for each of them the milliseconds after the minute, a bit for each
 * sum that is not 0, and those sums. Some 8 bytes an instant and no object each, where version 2 took 60 and three.
 */
import { Packr } from "msgpackr"

export const INSTANT_TABLES = ["queries", "products", "events", "filters"] as const
export type InstantTable = (typeof INSTANT_TABLES)[number]
/** `sums` is only good until the call returns. */
export type EachInstant = (key: ReadonlyArray<string>, after_ms: number, sums: ReadonlyArray<number>) => void

const packr = new Packr({ useRecords: false })
const VERSION = 3
/** Bits that a number's bit operations have. */
const WIDTH_MAX = 31

interface Open {
  readonly numbers: Array<number>
  key: ReadonlyArray<string> | undefined
  /** Of the last key's count. */ countAt: number
}

/** One minute of one organization. Instants of one key should come together; O(1) each. */
export class MinutePacker {
  readonly #texts: Array<string> = []
  readonly #places = new Map<string, number>()
  readonly #tables: Record<InstantTable, Open>

  constructor() {
    const open = (): Open => ({ numbers: [], key: undefined, countAt: -1 })
    this.#tables = { queries: open(), products: open(), events: open(), filters: open() }
  }

  #placeOf(text: string): number {
    let place = this.#places.get(text)
    if (place === undefined) this.#places.set(text, place = this.#texts.push(text) - 1)
    return place
  }

  /** The key without its first `skipped` parts; sums are `values[from]` to `values[from + width - 1]`. */
  add(table: InstantTable, key: ReadonlyArray<string>, skipped: number, after_ms: number, values: ArrayLike<number>, from: number, width: number): void {
    const open = this.#tables[table], { numbers } = open
    if (open.key !== key) {
      if (numbers.length === 0) {
        if (width > WIDTH_MAX) throw new RangeError(`${width} sums of an instant; at most ${WIDTH_MAX}`)
        numbers.push(key.length - skipped, width)
      }
      for (let part = skipped; part < key.length; part++) numbers.push(this.#placeOf(key[part]!))
      open.key = key
      open.countAt = numbers.push(0) - 1
    }
    numbers[open.countAt] = numbers[open.countAt]! + 1
    numbers.push(after_ms)
    const maskAt = numbers.push(0) - 1
    let mask = 0
    for (let slot = 0; slot < width; slot++) {
      const value = values[from + slot]!
      if (value === 0) continue
      mask |= 1 << slot
      numbers.push(value)
    }
    numbers[maskAt] = mask
  }

  pack(): Uint8Array {
    return packr.pack([VERSION, this.#texts, ...INSTANT_TABLES.map((table) => this.#tables[table].numbers)])
  }
}

type Instant = readonly [key: ReadonlyArray<string>, after_ms: number, sums: ReadonlyArray<number>]
type Unpacked = readonly [version: number, texts: ReadonlyArray<string>, ...tables: ReadonlyArray<ReadonlyArray<number>>]
/** Version 1 had no filters, and keys of products ended with the document. */
type UnpackedBefore3 = readonly [version: number, queries: ReadonlyArray<Instant>, products: ReadonlyArray<Instant>, events: ReadonlyArray<Instant>, filters?: ReadonlyArray<Instant>]

/** A minute to be looked at more than once. O(bytes). */
export class MinuteReader {
  readonly #unpacked: Unpacked | UnpackedBefore3

  constructor(bytes: Uint8Array) {
    this.#unpacked = packr.unpack(bytes) as Unpacked | UnpackedBefore3
    if (this.#unpacked[0] > VERSION) throw new TypeError(`instants of version ${this.#unpacked[0]} are not known`)
  }

  /** Every instant of a table. */
  each(table: InstantTable, each: EachInstant): void {
    this.#walk(table, each, () => {})
  }

  /** Every key of a table once or more, with sums over its instants in the minute. */
  eachKey(table: InstantTable, each: (key: ReadonlyArray<string>, sums: ReadonlyArray<number>) => void): void {
    const total: Array<number> = []
    this.#walk(table, (_key, _after_ms, sums) => {
      for (let slot = 0; slot < sums.length; slot++) total[slot] = (total[slot] ?? 0) + sums[slot]!
    }, (key) => {
      each(key, total)
      total.fill(0)
    })
  }

  #walk(table: InstantTable, each: EachInstant, endOf: (key: ReadonlyArray<string>) => void): void {
    const place = INSTANT_TABLES.indexOf(table)
    if (this.#unpacked[0] < VERSION) {
      for (const [key, after_ms, sums] of ((this.#unpacked as UnpackedBefore3)[place + 1] ?? []) as ReadonlyArray<Instant>) {
        each(key, after_ms, sums)
        endOf(key)
      }
      return
    }
    const [, texts] = this.#unpacked as Unpacked
    const numbers = (this.#unpacked as Unpacked)[place + 2] as ReadonlyArray<number>
    if (numbers.length === 0) return
    const parts = numbers[0]!, width = numbers[1]!
    const sums = new Array<number>(width).fill(0)
    for (let at = 2; at < numbers.length;) {
      const key: Array<string> = []
      for (let part = 0; part < parts; part++) key.push(texts[numbers[at++]!]!)
      for (let left = numbers[at++]!; left > 0; left--) {
        const after_ms = numbers[at++]!, mask = numbers[at++]!
        for (let slot = 0; slot < width; slot++) sums[slot] = (mask >>> slot) & 1 ? numbers[at++]! : 0
        each(key, after_ms, sums)
      }
      endOf(key)
    }
  }
}
