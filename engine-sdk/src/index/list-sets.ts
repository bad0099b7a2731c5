/**
 * Postings of common words as sets, cached with their segment. Words common enough to slow a search recur in other
 * searches, and one memory access to a set shows whether a document has the word and where its posting is.
 */
import { bitsOf, popcount32, type Bits } from "./bits.ts"

/** A list gets a set if one document in this many has the word; for rarer words, searching the list is as fast. */
const DENSE_FACTOR = 64
/** Smaller segments are read just as fast without sets. */
const DOCS_MIN = 32_768
/**
 * Maximum sets of a segment: three sixteenths of a byte per document each, 36 bytes per document together. More than
 * the lists of one combination of words.
 */
const SETS_MAX = 192
/** The most recently used are kept whatever they cost, because a search refers to the sets of a combination. */
const FRESH_SETS = 96
/** Words of a set that share a base, as a shift: 65,536 documents, so that two bytes suffice for an offset. */
const BASE_SHIFT = 11

/**
 * Documents of a list, and where the postings of every 32 of them start (undefined if there are none), relative to the
 * base of their block.
 */
export interface ListSet {
  readonly bits: Bits
  readonly firsts: Uint16Array
  readonly bases: Uint32Array
}
/** The posting of a document that is in the set. */
export const postingIn = ({ bases, bits, firsts }: ListSet, doc: number): number => {
  const w = doc >>> 5
  return bases[w >>> BASE_SHIFT] + firsts[w] + popcount32(bits[w] & ((1 << (doc & 31)) - 1))
}

interface KeptSet {
  readonly set: ListSet
  /** Cost of building the set, in postings. */ readonly cost: number
  /** Eviction priority: cost, plus the worth last evicted when it was used. */ worth: number
}
/**
 * The sets of a segment, least recently used first. Of the older ones, the cheapest to recompute is evicted, aged by
 * evictions since its last use (GreedyDual, Young 1991). A set is valid until `FRESH_SETS` others have been requested.
 */
export class ListSets {
  private readonly sets = new Map<number, KeptSet>()
  private readonly docs: number
  private age = 0
  constructor(docs: number) {
    this.docs = docs
  }
  isDense(frequency: number): boolean {
    return this.docs >= DOCS_MIN && frequency * DENSE_FACTOR >= this.docs
  }
  get(key: number): ListSet | undefined {
    const known = this.sets.get(key)
    if (known === undefined) return undefined
    this.sets.delete(key)
    this.sets.set(key, known)
    known.worth = this.age + known.cost
    return known.set
  }
  /** Builds a set. Cost: the postings, plus a sixteenth of a byte per document. */
  make(key: number, postings: Uint32Array, from: number, end: number): ListSet {
    const set = this.room()
    const { bases, bits, firsts } = set
    for (let p = from, block = -1, base = 0, last = -1; p < end; p++) {
      const doc = postings[p],
        w = doc >>> 5
      bits[w] |= 1 << (doc & 31)
      if (w === last) continue
      last = w
      if (w >>> BASE_SHIFT !== block) {
        block = w >>> BASE_SHIFT
        bases[block] = base = p
      }
      firsts[w] = p - base
    }
    this.sets.set(key, { set, cost: end - from, worth: this.age + end - from })
    return set
  }
  /** Reuses the memory of an evicted set once the maximum is reached. */
  private room(): ListSet {
    if (this.sets.size < SETS_MAX) {
      const bits = bitsOf(this.docs)
      return { bits, firsts: new Uint16Array(bits.length), bases: new Uint32Array((bits.length >>> BASE_SHIFT) + 1) }
    }
    let key = -1,
      least = Infinity,
      left = SETS_MAX - FRESH_SETS
    for (const [own, { worth }] of this.sets) {
      if (left-- === 0) break
      if (worth >= least) continue
      least = worth
      key = own
    }
    const { set } = this.sets.get(key)!
    this.sets.delete(key)
    this.age = least
    set.bits.fill(0)
    return set
  }
}
