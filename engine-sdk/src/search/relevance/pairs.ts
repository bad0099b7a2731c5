/**
 * Neighbouring words of the query that are also neighbours in a document: they count once for being adjacent, and once
 * for being near each other in any order (sequential dependence, Metzler and Croft 2005). Only the best documents gain;
 * the rarity of a pair is counted over all documents that have both words, or over an even sample of them.
 */
import { countBits, type Bits } from "../../index/bits.ts"
import { isOver, spend } from "../../budget/cutoff.ts"
import { SpareNumbers } from "../../spare.ts"
import { listOf } from "../text/candidates.ts"
import type { Candidate } from "./best-documents.ts"
import { adjacent, countPairs, near, type Lexicon } from "./lexicon.ts"
import { pairFrequenciesOf, type PairFrequencies, type PairFrequency } from "./pair-frequencies.ts"
import type { QueryTerm, QueryTerms } from "./query-terms.ts"
import type { TermSets } from "./term-sets.ts"
import type { UnitIndex } from "./unit-index.ts"
import { idfOf, saturated } from "./weighting.ts"

const PAIR_SHARE = 0.1
/** Maximum number of pairs of one query. Longer texts are prose, where further pairs add little. */
const PAIRS_MAX = 24
/** Documents whose words are read to estimate how rare a pair is. */
const SAMPLE_DOCS = 512

/** Pairs of neighbouring words of the query, each pair once. */
export const pairsOf = (lexicon: Lexicon, { order, terms }: QueryTerms, sets: TermSets): WordPair[] => {
  const seen = new Set<number>()
  const pairs: WordPair[] = []
  const known = pairFrequenciesOf(lexicon)
  for (let i = 1; i < order.length && pairs.length < PAIRS_MAX; i++) {
    const a = order[i - 1],
      b = order[i]
    if (a === b || seen.has(a * 4096 + b)) continue
    seen.add(a * 4096 + b)
    pairs.push(new WordPair(lexicon, sets, known, a, b, terms[a], terms[b]))
  }
  return pairs
}

/** How often the two words are adjacent, and near each other, in the document counted last, weighted by unit. */
let following = 0,
  nearby = 0
/** A root of each word in one unit of a segment. */
interface PlacedPair {
  readonly unit: UnitIndex
  readonly weight: number
  readonly first: number
  readonly second: number
}
const spareJoint = new SpareNumbers()

export class WordPair {
  private readonly lexicon: Lexicon
  private readonly sets: TermSets
  private readonly a: number
  private readonly b: number
  private readonly termB: QueryTerm
  private readonly key: string
  private readonly known: PairFrequencies
  /** Weights for being adjacent and for being near each other. */
  private weights: { readonly follows: number; readonly stands: number } | undefined
  /** Per segment, in the order of the units. */ private readonly placed: ReadonlyArray<ReadonlyArray<PlacedPair>>
  constructor(
    lexicon: Lexicon,
    sets: TermSets,
    known: PairFrequencies,
    a: number,
    b: number,
    termA: QueryTerm,
    termB: QueryTerm
  ) {
    this.lexicon = lexicon
    this.sets = sets
    this.known = known
    this.key = `${termA.stems.join(" ")}\n${termB.stems.join(" ")}`
    this.a = a
    this.b = b
    this.termB = termB
    const width = lexicon.units.length
    this.placed = lexicon.segments.map((own, s) => {
      const found: PlacedPair[] = []
      for (let u = 0; u < width; u++)
        for (const x of termA.places)
          for (const y of termB.places) {
            const first = x[s * width + u],
              second = y[s * width + u]
            if (first >= 0 && second >= 0) found.push({ unit: own[u], weight: lexicon.units[u].weight, first, second })
          }
      return found
    })
  }
  /** The score that a document gains from the pair. */
  gainOf({ doc, s, terms }: Candidate): number {
    const { a, b } = this
    const mayHave = a > 31 || b > 31 || ((terms >>> a) & (terms >>> b) & 1) === 1
    if (!mayHave || isOver()) return 0
    this.count(s, doc)
    if (nearby === 0) return 0
    // Copied, because counting in other documents overwrites them.
    const next = following,
      close = nearby
    const { follows, stands } = (this.weights ??= this.weigh())
    return follows * saturated(next) + stands * saturated(close)
  }
  private weigh(): { readonly follows: number; readonly stands: number } {
    const { docs } = this.lexicon
    let frequency = this.known.get(this.key)
    if (frequency === undefined) {
      frequency = this.frequency()
      if (!isOver()) this.known.set(this.key, frequency)
    }
    return {
      follows: PAIR_SHARE * idfOf(Math.max(1, frequency.adjacentDocs), docs),
      stands: PAIR_SHARE * idfOf(Math.max(1, frequency.nearDocs), docs)
    }
  }
  private count(s: number, doc: number): void {
    following = 0
    nearby = 0
    for (const { first, second, unit, weight } of this.placed[s]) {
      countPairs(unit, doc, first, second)
      following += weight * adjacent
      nearby += weight * near
    }
  }

  /** Documents that have the pair, estimated from a sample if many have both words. */
  private frequency(): PairFrequency {
    const { segments } = this.lexicon
    const joint = this.jointSets()
    const counts = joint.map(countBits)
    const step = Math.max(1, Math.ceil(counts.reduce((sum, docs) => sum + docs, 0) / SAMPLE_DOCS))
    let adjacentDocs = 0,
      nearDocs = 0,
      before = 0
    for (let s = 0; s < segments.length; s++) {
      // If all of them are read, their order does not matter.
      const docs = step === 1 ? allOf(joint[s], counts[s]) : this.everyNth(s, joint[s], counts[s], before, step)
      before += counts[s]
      for (let i = 0; i < docs.length && !isOver(); i++) {
        this.count(s, docs[i])
        if (following > 0) adjacentDocs++
        if (nearby > 0) nearDocs++
      }
    }
    return { adjacentDocs: adjacentDocs * step, nearDocs: nearDocs * step }
  }
  /** Documents with both words, per segment. */
  private jointSets(): Bits[] {
    const { a, b, lexicon, sets } = this
    const words = lexicon.segments.map(([{ docs }]) => (docs + 31) >>> 5)
    const room = spareJoint.take(words.reduce((sum, own) => sum + own, 0))
    let at = 0
    return words.map((own, s) => {
      const joint = room.subarray(at, (at += own)),
        x = sets.of(a, s),
        y = sets.of(b, s)
      for (let w = 0; w < own; w++) joint[w] = x[w] & y[w]
      return joint
    })
  }
  /**
   * Every `step`th document in the order of the second word's postings, which spreads the sample over its units.
   * `before`: number of documents in earlier segments. `joint` is overwritten.
   */
  private everyNth(s: number, joint: Bits, count: number, before: number, step: number): Uint32Array {
    const { lexicon, termB } = this
    const width = lexicon.units.length
    const first = (step - (before % step)) % step
    const picked = new Uint32Array(count <= first ? 0 : Math.ceil((count - first) / step))
    let next = first,
      met = 0,
      n = 0
    for (let u = 0; u < width; u++) {
      const { postingDocs, starts } = lexicon.segments[s][u]
      for (const places of termB.places) {
        const at = places[s * width + u]
        if (at < 0 || n === picked.length) continue
        const end = starts[at + 1]
        spend(end - starts[at])
        for (let p = starts[at]; p < end && n < picked.length; p++) {
          const doc = postingDocs[p],
            w = doc >>> 5,
            bit = 1 << (doc & 31)
          if ((joint[w] & bit) === 0) continue
          joint[w] ^= bit
          if (met++ !== next) continue
          picked[n++] = doc
          next += step
        }
      }
    }
    return picked
  }
}
const allOf = (joint: Bits, count: number): Uint32Array => {
  const docs = new Uint32Array(count)
  listOf(joint, 0, joint.length, docs)
  return docs
}
