/**
 * Tables over numbered rows that hold nothing but numbers, because there are a million rows: which row has a code, and
 * which row precedes another in a chain.
 */

/** The same numbers in a longer array. */
export const grown = <A extends Uint16Array | Uint32Array>(old: A, made: A): A => {
  made.set(old)
  return made
}

/** Open addressing: rows by their code; none is removed. Four bytes a slot, at most three quarters full. */
export class RowTable {
  readonly #codeAt: (row: number) => number
  #slots = new Uint32Array(1_024)
  #count = 0

  constructor(codeAt: (row: number) => number) {
    this.#codeAt = codeAt
  }

  add(row: number): void {
    if (++this.#count * 4 > this.#slots.length * 3) this.#resize(this.#slots.length * 2)
    this.#put(row)
  }

  /** Expected number of rows; many more can be added without rebuilding the table. */
  reserve(rows: number): void {
    const length = 2 ** Math.ceil(Math.log2((Math.max(1, rows) * 4) / 3))
    if (length > this.#slots.length) this.#resize(length)
  }

  /** The first row with this code that fits; -1 if there is none. */
  find(code: number, fits: (row: number) => boolean): number {
    const mask = this.#slots.length - 1
    for (let at = code & mask; this.#slots[at] !== 0; at = (at + 1) & mask) {
      const row = this.#slots[at]! - 1
      if (this.#codeAt(row) === code && fits(row)) return row
    }
    return -1
  }

  /** Takes the place of the first row; both have the same code. */
  replace(code: number, row: number, by: number): void {
    const mask = this.#slots.length - 1
    let at = code & mask
    while (this.#slots[at] !== row + 1) at = (at + 1) & mask
    this.#slots[at] = by + 1
  }

  #put(row: number): void {
    const mask = this.#slots.length - 1
    let at = this.#codeAt(row) & mask
    while (this.#slots[at] !== 0) at = (at + 1) & mask
    this.#slots[at] = row + 1
  }

  #resize(length: number): void {
    const before = this.#slots
    this.#slots = new Uint32Array(length)
    for (const slot of before) if (slot !== 0) this.#put(slot - 1)
  }
}

/** For each row the previous one; -1 if there is none. Four bytes a row. */
export class RowChain {
  #before: Uint32Array = new Uint32Array(1_024)

  before(row: number): number {
    return this.#before[row]! - 1
  }
  link(row: number, before: number): void {
    if (row >= this.#before.length) this.reserve(this.#before.length * 2)
    this.#before[row] = before + 1
  }
  reserve(rows: number): void {
    if (rows > this.#before.length) this.#before = grown(this.#before, new Uint32Array(rows))
  }
}
