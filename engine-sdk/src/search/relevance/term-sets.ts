/**
 * Which documents have a term in any unit, as sets for one search. Sets are joined 32 documents at a time, so a posting
 * of a common word costs only setting its bit; recently used sets of common words are cached with the segment. Other
 * arrays are reused from one search to the next.
 */
import { countBits, type Bits } from "../../index/bits.ts"
import type { Segment } from "../../index/segment.ts"
import { isOver, spend } from "../../budget/cutoff.ts"
import type { Lexicon } from "./lexicon.ts"
import type { QueryTerm } from "./query-terms.ts"
import type { UnitIndex } from "./unit-index.ts"

/** Number of terms whose sets are kept for reuse by the next search. */
const KEPT_TERMS_MAX = 8
const rooms: Bits[] = []
const roomOf = (t: number, words: number): Bits => {
  const kept = rooms.at(t)
  if (kept !== undefined && kept.length >= words) return kept
  const room = new Uint32Array(words)
  if (t <= rooms.length && t < KEPT_TERMS_MAX) rooms[t] = room
  return room
}

/**
 * A word is common if at least one in this many documents has it. Building the set of a rarer word is as fast as
 * reading a cached one.
 */
const COMMON_SHARE = 64
/** Maximum sets cached per segment: 24 bytes a document. */
const COMMON_SETS_MAX = 192
interface CommonSet {
  /** The indexes it was read from; a rebuilt index may differ. */
  readonly units: ReadonlyArray<UnitIndex>
  readonly bits: Bits
  readonly docs: number
}
class CommonSets {
  private readonly sets = new Map<string, CommonSet>()
  get bytes(): number {
    let total = 0
    for (const { bits } of this.sets.values()) total += bits.byteLength
    return total
  }
  /** The most recently used is last. */
  get(key: string): CommonSet | undefined {
    const set = this.sets.get(key)
    if (set !== undefined) {
      this.sets.delete(key)
      this.sets.set(key, set)
    }
    return set
  }
  set(key: string, set: CommonSet): void {
    this.sets.set(key, set)
    for (const oldest of this.sets.keys()) {
      if (this.sets.size <= COMMON_SETS_MAX) return
      this.sets.delete(oldest)
    }
  }
}
const KEY = "relevance sets"
const commonSetsOf = (segment: Segment): CommonSets => {
  let sets = segment.derived.get(KEY) as CommonSets | undefined
  if (sets === undefined) segment.derived.set(KEY, (sets = new CommonSets()))
  return sets
}

/** Built on first use; valid until the sets of another query are built. */
export class TermSets {
  private readonly lexicon: Lexicon
  private readonly terms: ReadonlyArray<QueryTerm>
  private readonly sets: Array<Bits | undefined>
  private readonly counts: Float64Array
  /** Set words in the segments before each; the last is the total. */ private readonly offsets: number[]
  private readonly own: Bits[] = []
  private readonly keys: ReadonlyArray<string>
  constructor(lexicon: Lexicon, terms: ReadonlyArray<QueryTerm>) {
    this.lexicon = lexicon
    this.terms = terms
    this.sets = Array.from({ length: terms.length * lexicon.segments.length })
    this.counts = new Float64Array(this.sets.length)
    this.offsets = [0]
    for (const [{ docs }] of lexicon.segments) this.offsets.push(this.offsets.at(-1)! + ((docs + 31) >>> 5))
    this.keys = terms.map(({ stems }) => `${lexicon.name}\n${stems.join(" ")}`)
  }
  /** The set of term `t` in segment `s`. Callers must not write to it. */
  of(t: number, s: number): Bits {
    return (this.sets[t * this.lexicon.segments.length + s] ??= this.make(t, s))
  }
  /** Number of documents that have the term, including deleted ones. */
  frequency(t: number): number {
    const { length } = this.lexicon.segments
    let docs = 0
    for (let s = 0; s < length; s++) docs += this.count(t, s)
    return docs
  }
  /** Number of documents of segment `s` that have the term, including deleted ones. */
  count(t: number, s: number): number {
    this.of(t, s)
    return this.counts[t * this.lexicon.segments.length + s]
  }
  private make(t: number, s: number): Bits {
    const { counts, keys, lexicon } = this
    const at = t * lexicon.segments.length + s
    const common = commonSetsOf(lexicon.views[s].segment)
    const known = common.get(keys[t]),
      units = lexicon.segments[s]
    if (known !== undefined && known.units.every((unit, u) => unit === units[u])) {
      counts[at] = known.docs
      return known.bits
    }
    const bits = this.read(t, s)
    counts[at] = countBits(bits)
    // A set that was cut off must not be cached.
    if (counts[at] * COMMON_SHARE >= units[0].docs && !isOver())
      common.set(keys[t], { units, bits: bits.slice(), docs: counts[at] })
    return bits
  }
  private read(t: number, s: number): Bits {
    const { lexicon, offsets } = this
    const room = (this.own[t] ??= roomOf(t, offsets[lexicon.segments.length]))
    const set = room.subarray(offsets[s], offsets[s + 1]).fill(0)
    const width = lexicon.units.length
    for (let u = 0; u < width; u++) {
      const { postingDocs, starts } = lexicon.segments[s][u]
      for (const places of this.terms[t].places) {
        const at = places[s * width + u]
        if (at >= 0) addDocs(set, postingDocs, starts[at], starts[at + 1])
      }
    }
    return set
  }
}
const addDocs = (set: Bits, docs: Uint32Array, from: number, end: number): void => {
  spend(end - from)
  for (let p = from; p < end; p++) {
    const doc = docs[p]
    set[doc >>> 5] |= 1 << (doc & 31)
  }
}
