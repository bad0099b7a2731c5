/**
 * The newest session of each visitor, found by a 64-bit hash of the visitor's identity. Open addressing in typed
 * arrays, 12 bytes per slot, at most three fifths of them used. When the table is full, obsolete entries are removed;
 * if that is not enough, the oldest ones are.
 */
import { slotOf } from "../slots.ts"

const EMPTY = 0
const SLOTS_LEAST = 64

/** Hashes a text to 64 bits, as two words; the second is never 0. Two rounds of multiplication per character. */
const hashWords = (prefix: number, text: string, out: Uint32Array): void => {
  let a = 0xdeadbeef ^ prefix,
    b = 0x41c6ce57 ^ prefix
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 0x9e3779b1)
    b = Math.imul(b ^ code, 0x5f356495)
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35)
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35)
  out[0] = a
  out[1] = b === EMPTY ? 1 : b
}

export interface VisitorTableImage {
  readonly used: number
  readonly columns: ReadonlyArray<Uint32Array<ArrayBuffer>>
}

export class VisitorTable {
  readonly #slotsMax: number
  #first = new Uint32Array(SLOTS_LEAST)
  #second = new Uint32Array(SLOTS_LEAST)
  #session = new Uint32Array(SLOTS_LEAST)
  #used = 0
  readonly #words = new Uint32Array(2)

  /** A power of two. */
  constructor(slotsMax: number) {
    this.#slotsMax = slotsMax
  }
  get bytes(): number {
    return 12 * this.#first.length
  }
  /** The session of a visitor; 0 if there is none. */
  get(prefix: number, text: string): number {
    hashWords(prefix, text, this.#words)
    return this.#session[this.#slotOf(this.#words[0], this.#words[1])]
  }
  /** `isOf(session)`: whether a session is still needed; called only when the table is full. */
  set(prefix: number, text: string, session: number, isOf: (session: number) => boolean): void {
    hashWords(prefix, text, this.#words)
    const [first, second] = this.#words
    let slot = this.#slotOf(first, second)
    if (this.#second[slot] === EMPTY) {
      if (5 * (this.#used + 1) > 3 * this.#first.length) {
        this.#makeRoom(isOf)
        slot = this.#slotOf(first, second)
      }
      this.#first[slot] = first
      this.#second[slot] = second
      this.#used++
    }
    this.#session[slot] = session
  }
  #slotOf(first: number, second: number): number {
    return slotOf(this.#second, first, (value, slot) => value === second && this.#first[slot] === first)
  }
  #makeRoom(isOf: (session: number) => boolean): void {
    let kept = 0
    const sessions: Array<number> = []
    for (let slot = 0; slot < this.#first.length; slot++)
      if (this.#second[slot] !== EMPTY && isOf(this.#session[slot])) {
        kept++
        if (this.#first.length >= this.#slotsMax) sessions.push(this.#session[slot])
      }
    const isTight = 5 * kept > 2 * this.#first.length
    if (!isTight || this.#first.length < this.#slotsMax)
      return this.#rebuild(isTight ? 2 * this.#first.length : this.#first.length, isOf)
    const least = sessions.sort((a, b) => a - b)[sessions.length >>> 1]
    this.#rebuild(this.#first.length, (session) => session > least && isOf(session))
  }
  #rebuild(slots: number, isOf: (session: number) => boolean): void {
    const first = this.#first,
      second = this.#second,
      session = this.#session
    this.#first = new Uint32Array(slots)
    this.#second = new Uint32Array(slots)
    this.#session = new Uint32Array(slots)
    this.#used = 0
    for (let from = 0; from < first.length; from++) {
      if (second[from] === EMPTY || !isOf(session[from])) continue
      const slot = this.#slotOf(first[from], second[from])
      this.#first[slot] = first[from]
      this.#second[slot] = second[from]
      this.#session[slot] = session[from]
      this.#used++
    }
  }
  image(): VisitorTableImage {
    return { used: this.#used, columns: [this.#first, this.#second, this.#session] }
  }
  static of(slotsMax: number, { columns, used }: VisitorTableImage): VisitorTable {
    const table = new VisitorTable(slotsMax)
    ;[table.#first, table.#second, table.#session] = columns as Array<Uint32Array<ArrayBuffer>>
    table.#used = used
    return table
  }
}
