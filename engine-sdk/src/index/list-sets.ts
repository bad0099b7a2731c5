/**
 * Postings of common words as sets, kept with their segment: words that fill a search are asked for again by others,
 * and a set says with one look at memory whether a document has the word and where its posting lies.
 */
import { bitsOf, popcount32, type Bits } from "./bits.ts"

/** A list is worth a set from one document in so many; below it looking through the list is as near. */
const DENSE_FACTOR = 64
/** Segments below it are read as fast without. */
const DOCS_MIN = 32_768
/**
 * Sets of a segment: three sixteenths of a byte a document each, 36 bytes a document together. More than the lists of
 * one combination of words.
 */
const SETS_MAX = 192
/** Those that were asked for last stay whatever they cost: a search holds on to the sets of a combination. */
const FRESH_SETS = 96
/** Words of a set that share a base: 65,536 documents, so that two bytes say where a posting lies behind it. */
const BASE_SHIFT = 11

/**
 * Documents of a list; where the postings of every 32 of them begin (anything where there are none), behind the base of
 * their block.
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
  /** What making it took, in postings. */ readonly cost: number
  /** Its cost above what left last when it was asked for: the lowest leaves next. */ worth: number
}
/**
 * The sets of a segment, least recently used first. Of the older ones that leaves which costs least to make again, aged
 * by what left since it was asked for (GreedyDual, Young 1991). A set is good until `FRESH_SETS` others were asked for.
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
  /** Cost: the postings, and a sixteenth of a byte a document. */
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
  /** Memory of a set that leaves, where there are enough. */
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
