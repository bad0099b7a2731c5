/**
 * Postings of common words as sets: one memory access to a set shows whether a document has the word and where its
 * posting is. Large segments get them once, for all threads (`making-sets.ts`); until then, and for words that did not
 * fit there, each thread keeps some of its own, because words common enough to slow a search recur in other searches.
 */
import { bitsOf, popcount32, type Bits } from "./bits.ts"

/** A list gets a set if one document in this many has the word; for rarer words, searching the list is as fast. */
const DENSE_FACTOR = 64
/** Smaller segments are read just as fast without sets. */
export const SET_SEGMENT_DOCS_MIN = 32_768
/** Whether a word with so many postings, in a segment of so many documents, gets a set. */
export const isDense = (frequency: number, docs: number): boolean =>
  docs >= SET_SEGMENT_DOCS_MIN && frequency * DENSE_FACTOR >= docs
/**
 * Maximum sets of a segment: three sixteenths of a byte per document each, 36 bytes per document together. More than
 * the lists of one combination of words.
 */
const SETS_MAX = 192
/** The most recently used are kept whatever they cost, because a search refers to the sets of a combination. */
const FRESH_SETS = 96
/** Words of a set that share a base, as a shift: 65,536 documents, so that two bytes suffice for an offset. */
const BASE_SHIFT = 11
/** Bases of a set with this many words. */
export const basesOf = (words: number): number => (words >>> BASE_SHIFT) + 1

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

/** Adds a list to an empty set. Cost: the postings. */
export const fillSet = ({ bases, bits, firsts }: ListSet, postings: Uint32Array, from: number, end: number): void => {
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
}

/** Sets of a field that all threads share (`stored-sets.ts`). */
interface SharedSets {
  get(term: number): ListSet | undefined
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
  readonly docs: number
  /** By index of the field. */ private stored: ReadonlyArray<SharedSets | undefined> = []
  private age = 0
  constructor(docs: number) {
    this.docs = docs
  }
  /** Reads these from now on, instead of sets of its own. */
  useStored(stored: ReadonlyArray<SharedSets | undefined>): void {
    this.stored = stored
    this.sets.clear()
  }
  /** The set of a field's term that all threads share. */
  storedOf(at: number, term: number): ListSet | undefined {
    return this.stored[at]?.get(term)
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
    fillSet(set, postings, from, end)
    this.sets.set(key, { set, cost: end - from, worth: this.age + end - from })
    return set
  }
  /** Reuses the memory of an evicted set once the maximum is reached. */
  private room(): ListSet {
    if (this.sets.size < SETS_MAX) {
      const bits = bitsOf(this.docs)
      return { bits, firsts: new Uint16Array(bits.length), bases: new Uint32Array(basesOf(bits.length)) }
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
