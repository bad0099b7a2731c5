/**
 * The relevance ranking as a stage of a search: which documents match, and what each scores. BM25F over the terms of
 * the query decides; the best are then looked at word by word (pairs, share of the title) and against each other
 * (diffusion). Filters, order by other keys, facets, groups and pages are the execution's, as for the engine-compatible
 * scoring.
 */
import { hasBit, setBit } from "../../index/bits.ts"
import type { CollectionReader } from "../../index/reader.ts"
import type { RelevanceQuery, TextMatchInfo } from "../../plan.ts"
import type { MarkedWord } from "../highlight/highlight-text.ts"
import { isOver, spend } from "../../budget/cutoff.ts"
import type { SegmentMatches } from "../text/segment-matches.ts"
import { diffuse } from "./diffusion.ts"
import { Lexicon } from "./lexicon.ts"
import { markerOf } from "./marking.ts"
import { addPairs, type Candidate, type TermDocs } from "./pairs.ts"
import { streamNumbers, TermResolver, type QueryTerm, type QueryTerms } from "./query-terms.ts"
import { PARTS } from "./unit-index.ts"
import { idfOf, perOccurrence, saturated, type FieldNorm } from "./weighting.ts"

/**
 * Decision: documents with every word of the query match. When fewer than this many have them all, those that miss the
 * least (by rarity of the words) match too, until there are so many. A shop's filter counts then speak of what was
 * asked, while a question in prose still finds the articles that answer half of it. Counted without filters, so that a
 * filter only ever takes documents away. Measured: with 100 instead, recall@100 on two sets of abstracts falls from .79
 * to .70 and from .69 to .59; with 500 nDCG@10 and recall@100 are those of matching any word.
 */
const FOUND_MIN = 500
const SHARE_BINS = 512
/** What a spelling of the query costs before any document is looked at. */
const VARIANT_STEPS = 256
/** Documents that are looked at word by word. */
const CLOSE_LOOK_DOCS = 300
const DIFFUSION_DOCS = 200
const DIFFUSION_SHARE = 0.5
const DIFFUSION_WORD_STEPS = 4
const TITLE_SHARE = 0.15
const COORDINATED_TERMS_MAX = 3
/** Scores on the wire are whole numbers of millionths. */
const SCORE_UNIT = 1e6
const TWO_32 = 4294967296

interface Scored {
  readonly scores: Float64Array
  /** Rarity of the words that are there. */ readonly shares: Float64Array
  readonly bits: Uint32Array
  readonly touched: Uint32Array
  count: number
}

export class RelevanceSearch {
  private asked: ReadonlyArray<QueryTerms> = []
  private readonly query: RelevanceQuery
  private readonly matches: ReadonlyArray<SegmentMatches>
  private readonly lexicon: Lexicon
  private readonly norm: FieldNorm
  /** `ordersByScore` false: another key comes first, so the costly last steps are left out. */
  private readonly ordersByScore: boolean
  constructor(
    reader: CollectionReader,
    query: RelevanceQuery,
    matches: ReadonlyArray<SegmentMatches>,
    ordersByScore: boolean
  ) {
    this.query = query
    this.matches = matches
    this.ordersByScore = ordersByScore
    this.lexicon = new Lexicon(reader, query.units)
    const { lengthMeans, segments, units } = this.lexicon
    // Not set at once: the engine makes a function that is written where a property is set for long, and with it what
    // it captures.
    const norm = (u: number, s: number, doc: number): number =>
      perOccurrence(units[u].weight, segments[s][u].lengths[doc], lengthMeans[u])
    this.norm = norm
  }

  /** Fills the matches. False when the text holds nothing but stop words: then it is not for this ranking. */
  run(): boolean {
    const resolver = new TermResolver(this.lexicon, this.query)
    const asked = [this.query.text, ...this.query.variants].flatMap((text, i) =>
      i > 0 && spend(VARIANT_STEPS) ? [] : (resolver.resolve(text) ?? [])
    )
    if (asked.length === 0) return false
    this.asked = asked
    for (const terms of asked) {
      if (spend(VARIANT_STEPS)) break
      if (terms.terms.length > 0) this.search(terms)
    }
    return true
  }

  /** What highlighting marks. */
  marker(): (written: string) => MarkedWord | undefined {
    return markerOf(this.asked, this.query.units[0].locale)
  }
  /** Words of the query that no document has, each with the roots that it was taken for, best first. */
  misspelt(): ReadonlyMap<string, ReadonlyArray<string>> {
    return new Map(
      this.asked[0].terms.flatMap(({ misspelt, stems }) => (misspelt === undefined ? [] : [[misspelt, stems]]))
    )
  }
  /** The parts of a hit's score, in the words of the engine-compatible one; scores are millionths. */
  infoOf(score: bigint, s: number, doc: number): TextMatchInfo {
    const { segments, units } = this.lexicon
    const { terms } = this.asked[0]
    const matched = units.map((_unit, u) =>
      terms.filter((term) => {
        const wanted = streamNumbers(term, s, u, units.length),
          { stream, streamStarts } = segments[s][u]
        if (spend((streamStarts[doc + 1] - streamStarts[doc]) * wanted.length)) return false
        return (
          wanted.length > 0 &&
          stream.subarray(streamStarts[doc], streamStarts[doc + 1]).some((number) => wanted.includes(number))
        )
      })
    )
    const tokens = new Set(matched.flat())
    return {
      best_field_score: score.toString(),
      best_field_weight: Math.round(
        units.reduce((most, { weight }, u) => (matched[u].length > 0 ? Math.max(most, weight) : most), 0)
      ),
      fields_matched: matched.filter((own) => own.length > 0).length,
      num_tokens_dropped: terms.length - tokens.size,
      score: score.toString(),
      tokens_matched: tokens.size,
      typo_prefix_score: [...tokens].some(({ factor }) => factor < 1) ? 1 : 0
    }
  }

  private search({ compounds, order, terms }: QueryTerms): void {
    const found = terms.map((term) => this.docsOf(term))
    const idfs = found.map(({ frequency }) => idfOf(frequency, this.lexicon.docs))
    const total = terms.reduce((sum, term, t) => sum + idfs[t] * term.count, 0)
    const scored = this.matches.map(({ view }, s) => {
      const cells = borrow(view.segment.docs)
      spend(view.segment.docs >>> 3)
      terms.forEach((term, t) => {
        add(cells, found[t].segments[s], idfs[t] * term.count, term.factor, t)
      })
      for (const { a, b, joined } of compounds)
        addCompound(
          cells,
          [found[a].segments[s], found[b].segments[s]],
          this.docsIn(joined, s),
          [idfs[a], idfs[b]],
          joined.factor,
          (1 << a) | (1 << b)
        )
      return cells
    })
    const isBaseline = this.query.ranking === "bm25"
    const coordinates = !isBaseline && terms.length > 1 && terms.length <= COORDINATED_TERMS_MAX
    const least = isBaseline || terms.length === 1 ? 0 : this.leastShare(scored, total)
    const top = new BestDocs(CLOSE_LOOK_DOCS)
    scored.forEach((cells, s) => {
      const { allowed } = this.matches[s]
      const { bits, scores, shares, touched } = cells
      let kept = 0
      for (let i = 0; i < cells.count; i++) {
        const doc = touched[i]
        const matches = (allowed === undefined || hasBit(allowed, doc)) && shares[doc] >= least
        if (matches && coordinates) scores[doc] *= Math.sqrt(Math.min(1, shares[doc] / total))
        shares[doc] = 0
        if (!matches) continue
        touched[kept++] = doc
        if (!isBaseline) top.offer(s, doc, scores[doc], bits[doc])
      }
      cells.count = kept
    })
    if (!isBaseline && this.ordersByScore && !isOver()) {
      const best = top.take()
      if (terms.length > 1) addPairs(this.lexicon, terms, order, found, best)
      this.weighTitles(terms, best)
      best.sort(byScore)
      this.spread(terms.length, best)
      for (const { s, doc, score } of best) scored[s].scores[doc] = score
    }
    scored.forEach((cells, s) => {
      spend(cells.count * 4)
      for (let i = 0; i < cells.count; i++) this.record(s, cells.touched[i], cells.scores[cells.touched[i]])
      giveBack(cells)
    })
  }

  /** Weighted counts of a term per segment, and how many documents have it. O(postings) over all segments. */
  private docsOf(term: QueryTerm): { readonly segments: ReadonlyArray<TermDocs>; readonly frequency: number } {
    const segments = this.lexicon.segments.map((_own, s) => this.docsIn(term, s))
    return { segments, frequency: segments.reduce((sum, { docs }) => sum + docs.length, 0) }
  }
  private docsIn(term: QueryTerm, s: number): TermDocs {
    const { lexicon } = this
    const width = lexicon.units.length,
      own = lexicon.segments[s]
    const size = this.matches[s].view.segment.docs
    if (tfCells.length < size) {
      tfCells = new Float32Array(size * 2)
      touchedCells = new Uint32Array(size * 2)
    }
    const tfs = tfCells,
      touched = touchedCells
    let n = 0
    for (let u = 0; u < width; u++) {
      const { counts, lengths, postingDocs, starts } = own[u]
      const { weight } = lexicon.units[u],
        lengthMean = lexicon.lengthMeans[u]
      for (const places of term.places) {
        const at = places[s * width + u]
        if (at < 0) continue
        for (let p = starts[at], end = starts[at + 1]; p < end; p++) {
          const doc = postingDocs[p]
          if (tfs[doc] === 0) touched[n++] = doc
          tfs[doc] += counts[p] * perOccurrence(weight, lengths[doc], lengthMean)
        }
      }
    }
    // Only here, where no cell of the room holds anything that it must not: a search may be broken off at any account.
    const docs = touched.slice(0, n),
      kept = new Float32Array(n)
    for (let i = 0; i < n; i++) {
      kept[i] = tfs[docs[i]]
      tfs[docs[i]] = 0
    }
    spend(n * 4)
    return { docs, tfs: kept }
  }

  /**
   * The share of the query that a document must have: all of it, or less when too few have it. Deleted documents do not
   * count.
   */
  private leastShare(scored: ReadonlyArray<Scored>, total: number): number {
    const whole = total * (1 - 1e-9)
    if (!this.query.mayDropWords) return whole
    const bins = new Uint32Array(SHARE_BINS + 1)
    scored.forEach(({ count, shares, touched }, s) => {
      const { deleted } = this.matches[s].view
      for (let i = 0; i < count; i++)
        if (deleted === undefined || !hasBit(deleted, touched[i]))
          bins[shares[touched[i]] >= whole ? SHARE_BINS : Math.floor((SHARE_BINS * shares[touched[i]]) / total)]++
    })
    let docs = 0
    for (let bin = SHARE_BINS; bin >= 0; bin--) {
      docs += bins[bin]
      if (docs >= FOUND_MIN) return bin === SHARE_BINS ? whole : (total * bin) / SHARE_BINS
    }
    return 0
  }

  /** Titles that consist of the words asked are nearer to them. The title is the heaviest name. */
  private weighTitles(terms: ReadonlyArray<QueryTerm>, best: ReadonlyArray<Candidate>): void {
    const { segments, units } = this.lexicon
    const heaviest = units.reduce((most, { weight }) => Math.max(most, weight), 0)
    const titles = units.flatMap(({ weight }, u) => (weight === heaviest ? [u] : []))
    const wanted = segments.map((_own, s) =>
      titles.map((u) => terms.flatMap((term) => streamNumbers(term, s, u, units.length)))
    )
    for (const candidate of best) {
      let words = 0,
        matched = 0
      titles.forEach((u, k) => {
        const unit = segments[candidate.s][u]
        words += unit.lengths[candidate.doc]
        if (spend(unit.lengths[candidate.doc] * wanted[candidate.s][k].length)) return
        for (
          let p = unit.streamStarts[candidate.doc], end = unit.streamStarts[candidate.doc + 1];
          p < end && unit.stream[p] !== PARTS;
          p++
        )
          if (wanted[candidate.s][k].includes(unit.stream[p])) matched++
      })
      if (words > 0) candidate.score *= 1 + TITLE_SHARE * Math.min(1, matched / words)
    }
  }

  /** Nothing for one and two terms, half for three. The window stays ahead of what follows. */
  private spread(terms: number, best: Candidate[]): void {
    const gate = Math.min(1, Math.max(0, (terms - 2) / 2))
    if (gate === 0 || best.length < 3) return
    const window = best.slice(0, DIFFUSION_DOCS)
    const words = window.reduce(
      (sum, { s, doc }) =>
        sum +
        this.lexicon.segments[s].reduce((own, { streamStarts }) => own + streamStarts[doc + 1] - streamStarts[doc], 0),
      0
    )
    // In one piece: while it runs it says nothing.
    if (spend(words * DIFFUSION_WORD_STEPS)) return
    const scores = diffuse(this.lexicon, this.norm, window, DIFFUSION_SHARE * gate)
    const next = best.length > DIFFUSION_DOCS ? best[DIFFUSION_DOCS].score : 0
    const lift = Math.max(0, next - scores.reduce((least, score) => Math.min(least, score), Infinity))
    window.forEach((candidate, i) => {
      candidate.score = scores[i] + lift
    })
  }

  /** The best spelling of a query counts. */
  private record(s: number, doc: number, score: number): void {
    const match = this.matches[s]
    const units = Math.max(1, Math.round(score * SCORE_UNIT))
    const high = Math.floor(units / TWO_32),
      low = units % TWO_32
    if (!hasBit(match.found, doc)) {
      setBit(match.found, doc)
      match.count++
    } else if (high < match.high[doc] || (high === match.high[doc] && low <= match.low[doc])) return
    match.high[doc] = high
    match.low[doc] = low
  }
}

const byScore = (a: Candidate, b: Candidate): number => b.score - a.score || a.s - b.s || a.doc - b.doc

let tfCells = new Float32Array(0)
let touchedCells = new Uint32Array(0)

const add = (cells: Scored, { docs, tfs }: TermDocs, weight: number, factor: number, t: number): void => {
  const { bits, scores, shares, touched } = cells
  const bit = t < 32 ? 1 << t : 0
  for (let i = 0; i < docs.length; i++) {
    const doc = docs[i]
    if (shares[doc] === 0) {
      touched[cells.count++] = doc
      scores[doc] = 0
      bits[doc] = 0
    }
    scores[doc] += factor * weight * saturated(tfs[i])
    shares[doc] += weight
    bits[doc] |= bit
  }
}

/**
 * Documents that write two words of the query as one count as if they had both, unless what they have of both is more.
 */
const addCompound = (
  cells: Scored,
  parts: readonly [TermDocs, TermDocs],
  joined: TermDocs,
  idfs: readonly [number, number],
  factor: number,
  bit: number
): void => {
  const { docs, tfs } = joined
  if (docs.length === 0) return
  // What the two words gave, by document, and then only the part that is missing.
  const { bits, scores, shares, touched } = cells
  const given = new Map<number, { score: number; share: number }>(
    Array.from(docs, (doc) => [doc, { score: 0, share: 0 }])
  )
  parts.forEach((part, i) =>
    part.docs.forEach((doc, at) => {
      const known = given.get(doc)
      if (known !== undefined) {
        known.score += idfs[i] * saturated(part.tfs[at])
        known.share += idfs[i]
      }
    })
  )
  docs.forEach((doc, at) => {
    const { score, share } = given.get(doc)!
    const credit = factor * (idfs[0] + idfs[1]) * saturated(tfs[at])
    if (credit <= score) return
    if (shares[doc] === 0) {
      touched[cells.count++] = doc
      scores[doc] = 0
      bits[doc] = 0
    }
    scores[doc] += credit - score
    shares[doc] += idfs[0] + idfs[1] - share
    bits[doc] |= bit
  })
}

/** Cells are lent between searches; `shares` is all zero while they wait. */
const waiting: Scored[] = []
const WAITING_MAX = 16
const borrow = (docs: number): Scored => {
  const cells = waiting.pop()
  if (cells !== undefined && cells.scores.length >= docs) return cells
  return {
    scores: new Float64Array(docs),
    shares: new Float64Array(docs),
    bits: new Uint32Array(docs),
    touched: new Uint32Array(docs),
    count: 0
  }
}
const giveBack = (cells: Scored): void => {
  cells.count = 0
  if (waiting.length < WAITING_MAX) waiting.push(cells)
  waiting.sort((a, b) => a.scores.length - b.scores.length)
}

/** Keeps the best documents; the root of the heap is the worst of them. */
class BestDocs {
  private readonly heap: Candidate[] = []
  private readonly capacity: number
  constructor(capacity: number) {
    this.capacity = capacity
  }
  offer(s: number, doc: number, score: number, terms: number): void {
    const { heap } = this
    if (heap.length < this.capacity) {
      heap.push({ s, doc, score, terms })
      if (heap.length === this.capacity) heap.sort((a, b) => a.score - b.score)
      return
    }
    if (score <= heap[0].score) return
    const entry = { s, doc, score, terms }
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && heap[child + 1].score < heap[child].score) child++
      if (heap[child].score >= score) break
      heap[at] = heap[child]
      at = child
    }
    heap[at] = entry
  }
  take(): Candidate[] {
    return this.heap
  }
}
