/**
 * Sums by key in memory, in the orders that pages use. Sums change by additions; an order that was used once is
 * maintained by moving the changed rows to their positions. Pure: the caller provides the sums.
 */

export interface Ranking {
  readonly name: string
  /** Whether a row with these sums is shown at all. */
  readonly shows: (sumOf: (column: number) => number) => boolean
  /** Compares two rows by their sums; negative if the first comes first. Equal rows are ordered by their keys. */
  readonly compare: (a: (column: number) => number, b: (column: number) => number) => number
}

/** Compares by code points, as the database's C collation compares UTF-8. */
const compareText = (a: string, b: string): number => {
  if (a === b) return 0
  for (let i = 0; i < a.length && i < b.length; i++) {
    const x = a.charCodeAt(i),
      y = b.charCodeAt(i)
    if (x === y) continue
    // Surrogates sort after all other characters.
    const isPairX = x >= 0xd800 && x < 0xe000,
      isPairY = y >= 0xd800 && y < 0xe000
    return isPairX !== isPairY ? (isPairX ? 1 : -1) : x - y
  }
  return a.length - b.length
}

interface Order {
  readonly ranking: Ranking
  rows: Uint32Array
  /** Rows changed since `rows` was computed, each once, and for each row whether it is among them. */
  readonly changed: Array<number>
  isChanged: Uint8Array
}

/** If more than one row in this many changed, everything is sorted again. */
const RESORT_SHARE = 4

export class RankedTable {
  readonly #width: number
  #columns: Array<Float64Array>
  readonly #keys: Array<ReadonlyArray<string>> = []
  readonly #places = new Map<string, number>()
  readonly #orders = new Map<string, Order>()
  #keyCharacters = 0

  /** `width` is the number of sums per row. */
  constructor(width: number) {
    this.#width = width
    this.#columns = Array.from({ length: width }, () => new Float64Array(1_024))
  }

  get size(): number {
    return this.#keys.length
  }
  /** Approximate size in memory. */
  get bytes(): number {
    return (
      this.#columns.reduce((sum, column) => sum + column.byteLength, 0) +
      this.size * 160 +
      this.#keyCharacters * 4 +
      this.#orders.size * this.size * 5
    )
  }

  /** O(1), plus one number for each order in use. */
  add(key: ReadonlyArray<string>, sums: ReadonlyArray<number>): void {
    const id = key.length === 1 ? key[0]! : key.join("\n")
    let row = this.#places.get(id)
    if (row === undefined) {
      row = this.#keys.push(key) - 1
      this.#places.set(id, row)
      this.#keyCharacters += id.length
      if (row >= this.#columns[0]!.length) {
        this.#columns = this.#columns.map((column) => {
          const wider = new Float64Array(column.length * 2)
          wider.set(column)
          return wider
        })
      }
    }
    for (let i = 0; i < this.#width; i++) this.#columns[i]![row]! += sums[i]!
    for (const order of this.#orders.values()) {
      if (row >= order.isChanged.length) {
        const wider = new Uint8Array(this.#columns[0]!.length)
        wider.set(order.isChanged)
        order.isChanged = wider
      }
      if (order.isChanged[row] === 1) continue
      order.isChanged[row] = 1
      order.changed.push(row)
    }
  }

  /**
   * Keys and sums of the rows from `offset` on, and how many rows the ranking shows. O(rows) after a change,
   * otherwise O(limit).
   */
  page(
    ranking: Ranking,
    limit: number,
    offset: number
  ): {
    readonly total: number
    readonly rows: ReadonlyArray<{ readonly key: ReadonlyArray<string>; readonly sums: ReadonlyArray<number> }>
  } {
    const { rows } = this.#ordered(ranking)
    const shown = rows.subarray(offset, offset + limit)
    return {
      total: rows.length,
      rows: Array.from(shown, (row) => ({ key: this.#keys[row]!, sums: this.#columns.map((column) => column[row]!) }))
    }
  }

  #ordered(ranking: Ranking): Order {
    let order = this.#orders.get(ranking.name)
    if (order === undefined)
      this.#orders.set(
        ranking.name,
        (order = {
          ranking,
          rows: this.#sorted(ranking, this.size, (i) => i),
          changed: [],
          isChanged: new Uint8Array(this.size)
        })
      )
    const { changed, isChanged } = order
    if (changed.length === 0) return order
    order.rows =
      changed.length * RESORT_SHARE > this.size
        ? this.#sorted(ranking, this.size, (i) => i)
        : this.#merged(
            ranking,
            order.rows,
            isChanged,
            this.#sorted(ranking, changed.length, (i) => changed[i]!)
          )
    for (const row of changed) isChanged[row] = 0
    changed.length = 0
    return order
  }

  #sorted(ranking: Ranking, count: number, at: (i: number) => number): Uint32Array {
    const rows = new Uint32Array(count)
    let n = 0
    for (let i = 0; i < count; i++) {
      const row = at(i)
      if (ranking.shows((column) => this.#columns[column]![row]!)) rows[n++] = row
    }
    return rows.subarray(0, n).sort((a, b) => this.#compare(ranking, a, b))
  }

  /** Finds each changed row's position by bisection, because comparisons are expensive and moving numbers is not. */
  #merged(ranking: Ranking, before: Uint32Array, isChanged: Uint8Array, again: Uint32Array): Uint32Array {
    const rows = new Uint32Array(before.length + again.length)
    let end = 0
    for (let i = 0; i < before.length; i++) if (isChanged[before[i]!] !== 1) rows[end++] = before[i]!
    const count = end + again.length
    // From the last one backwards, so that each of the others moves once.
    for (let j = again.length - 1; j >= 0; j--) {
      const row = again[j]!
      let low = 0
      for (let high = end; low < high;) {
        const middle = (low + high) >>> 1
        if (this.#compare(ranking, rows[middle]!, row) < 0) low = middle + 1
        else high = middle
      }
      rows.copyWithin(low + j + 1, low, end)
      rows[low + j] = row
      end = low
    }
    return rows.subarray(0, count)
  }

  #compare(ranking: Ranking, a: number, b: number): number {
    const bySums = ranking.compare(
      (column) => this.#columns[column]![a]!,
      (column) => this.#columns[column]![b]!
    )
    if (bySums !== 0) return bySums
    const keyA = this.#keys[a]!,
      keyB = this.#keys[b]!
    for (let i = 0; i < keyA.length; i++) {
      const byKey = compareText(keyA[i]!, keyB[i]!)
      if (byKey !== 0) return byKey
    }
    return 0
  }
}
