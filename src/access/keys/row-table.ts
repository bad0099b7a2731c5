/**
 * Tables over numbered rows that contain only numbers, because there are a million rows: the row with a given code,
 * and the row before another in a chain.
 */

import { freeSlot, slotOf } from "@dowser/engine-sdk/host"

/** Copies the numbers into a longer array. */
export const grown = <A extends Uint16Array | Uint32Array>(old: A, made: A): A => {
  made.set(old)
  return made
}

/** Open addressing: rows by their code, without removal. Four bytes per slot, at most three quarters full. */
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
    const slot = slotOf(this.#slots, code, (value) => this.#codeAt(value - 1) === code && fits(value - 1))
    return this.#slots[slot]! - 1
  }

  /** Replaces the first row by another with the same code. */
  replace(code: number, row: number, by: number): void {
    this.#slots[slotOf(this.#slots, code, (value) => value === row + 1)] = by + 1
  }

  #put(row: number): void {
    this.#slots[freeSlot(this.#slots, this.#codeAt(row))] = row + 1
  }

  #resize(length: number): void {
    const before = this.#slots
    this.#slots = new Uint32Array(length)
    for (const slot of before) if (slot !== 0) this.#put(slot - 1)
  }
}

/** For each row, the previous one; -1 if there is none. Four bytes per row. */
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
