/**
 * Numbers that identify a root across units and segments, and the rarity of each root. The roots that document vectors
 * contain are numbered on first use, so that later vectors need no lookup by hash. Numbers stay valid as segments are
 * added and removed; the rarity of a root is read again after each change.
 */
import { keepTable } from "./kept-tables.ts"
import type { Lexicon } from "./lexicon.ts"
import type { UnitIndex } from "./unit-index.ts"
import { idfOf } from "./weighting.ts"

/** Number of roots at which all are renumbered; until then, roots of removed segments keep their numbers. */
const ROOTS_MAX = 1 << 18
/** Estimated bytes per root in the map. */
const ROOT_BYTES = 40

class RootNumbers {
  private byHash = new Map<number, number>()
  private rarities = new Float64Array(1024)
  /** By term, plus one; 0 for a term without a number. */ private numbers = new Map<UnitIndex, Uint32Array>()
  private docs = -1
  private frequencyOf: ((unit: UnitIndex, term: number) => number) | undefined

  get bytes(): number {
    let total = this.rarities.byteLength + this.byHash.size * ROOT_BYTES
    for (const own of this.numbers.values()) total += own.byteLength
    return total
  }
  /** One more than the highest number. */
  get size(): number {
    return this.byHash.size
  }
  /** Updates the numbers to the collection's current state. */
  follow(lexicon: Lexicon): void {
    this.frequencyOf = undefined
    const indexes = lexicon.segments.flat()
    if (this.byHash.size > ROOTS_MAX) {
      this.byHash = new Map()
      this.numbers = new Map()
      this.docs = -1
    }
    if (
      this.docs === lexicon.docs &&
      this.numbers.size === indexes.length &&
      indexes.every((index) => this.numbers.has(index))
    )
      return
    this.docs = lexicon.docs
    this.rarities.fill(0)
    this.numbers = new Map(
      indexes.map((index) => [index, this.numbers.get(index) ?? new Uint32Array(index.terms.size)])
    )
  }
  /** Root numbers by term, plus one; for a 0, call `add`. */
  of(unit: UnitIndex): Uint32Array {
    return this.numbers.get(unit)!
  }
  add(unit: UnitIndex, term: number): number {
    const hash = unit.hashes[term]
    let number = this.byHash.get(hash)
    if (number === undefined) {
      this.byHash.set(hash, (number = this.byHash.size))
      if (number >= this.rarities.length) {
        const more = new Float64Array(number * 2)
        more.set(this.rarities)
        this.rarities = more
      }
    }
    this.of(unit)[term] = number + 1
    return number
  }
  /** Of the root with this number, which a unit has as this term. */
  rarity(number: number, lexicon: Lexicon, unit: UnitIndex, term: number): number {
    const known = this.rarities[number]
    if (known !== 0) return known
    this.frequencyOf ??= lexicon.frequencies()
    return (this.rarities[number] = idfOf(this.frequencyOf(unit, term), lexicon.docs))
  }
}

const PREFIX = "relevance roots "
/** The root numbers of a collection for these units. */
export const rootNumbersOf = (lexicon: Lexicon): RootNumbers => {
  const { derived, name } = lexicon
  const key = PREFIX + name
  const known = derived.get(key)
  const numbers = known instanceof RootNumbers ? known : new RootNumbers()
  keepTable(derived, key, numbers)
  numbers.follow(lexicon)
  return numbers
}
