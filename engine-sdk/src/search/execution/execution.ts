/**
 * One search from plan to ranked documents: what may match, what does, how it is ordered. Rendering hits, facets and
 * the envelope lies in `search/answer`; several executions together make a union.
 */
import type { Injection, RelevanceQuery, SearchPlan, SortKey } from "../../plan.ts"
import { RelevanceSearch } from "../../relevance/relevance-search.ts"
import {
  andInto,
  andNotInto,
  bitsOf,
  clearBit,
  countBits,
  fillBits,
  hasBit,
  setBit,
  type Bits,
  type ReadonlyBits
} from "../../index/bits.ts"
import type { CollectionReader } from "../../index/reader.ts"
import { encodeUtf8 } from "../../index/bytes.ts"
import { diversify } from "../../diversity/mmr.ts"
import { Allowance, Cutoff, isOver, sortSpending, spend, within } from "../../budget/cutoff.ts"
import { eachOrdinal, type FacetedSet } from "../facets/facets.ts"
import { allowedBits } from "../filter/filters.ts"
import { Grouping } from "../rank/groups.ts"
import { Injecting, type FixedDocument } from "./injecting.ts"
import { nearest, type Neighbour } from "../vector/nearest.ts"
import { interleave } from "../rank/placement.ts"
import { phraseBits } from "../../index/places.ts"
import { keyOffsets, rankMatches, sortRanked, type Ranked } from "../rank/rank.ts"
import type { SearchScope } from "../scope.ts"
import { keyColumns, type KeyColumn } from "../rank/sort-keys.ts"
import { phraseMatches } from "../text/phrases.ts"
import { newMatches, type SegmentMatches } from "../text/segment-matches.ts"
import type { KnownTerms } from "../text/term-lookup.ts"
import { searchText } from "../text/text-search.ts"
import type { TopK } from "../text/top-k-scorer.ts"
import type { Combination } from "../text/word-matcher.ts"
import { distanceIn, type DistanceTable } from "../vector/vectors.ts"

/** Hits that re-ordering (buckets, diversity) looks at, at least. */
const WINDOW_MIN = 250
/** Text score of every document where no word was asked. */
const MATCH_ALL_SCORE = 100
/** Beyond this many positions every match is scored. */
const TOP_K_MAX = 1_000
/** Looking an id up in a segment, and finding the group of a document. */
const LOOK_UP_STEPS = 16,
  GROUP_STEPS = 16
/** For ordering what was found, when the time is over. */
const RANK_MIN_ms = 5

export interface Placed {
  readonly s: number
  readonly doc: number
  /** Absent for curated hits. */ readonly ranked?: Ranked
  readonly isCurated: boolean
  /** What a rule put here. */ readonly injection?: Injection
}
export interface RankedGroup {
  readonly group: number
  readonly found: number
  readonly members: ReadonlyArray<Placed>
}
export interface HybridScores {
  readonly fused: ReadonlyArray<Float64Array>
  /** NaN where a document has no distance. */ readonly distances: ReadonlyArray<DistanceTable>
}

export class Execution {
  readonly scope: SearchScope
  readonly reader: CollectionReader
  readonly plan: SearchPlan
  matches: SegmentMatches[]
  /** Pinned and injected documents, ascending by position. */ pinned: ReadonlyArray<FixedDocument>
  combinations: ReadonlyArray<Combination> = []
  knownTerms: KnownTerms | undefined
  /** Set when the words were matched and scored by a named ranking. */ relevance: RelevanceSearch | undefined
  isCutOff = false
  distances: ReadonlyArray<DistanceTable> | undefined
  hybrid: HybridScores | undefined
  readonly grouping: Grouping | undefined
  columns: KeyColumn[][] = []
  readonly cutoff: Cutoff
  private readonly rankedMax: number
  private groupSizes: Map<number, number> | undefined

  /** `rankedMax`: positions that will be asked for; what cannot be among them need not be scored. */
  constructor(
    scope: SearchScope,
    reader: CollectionReader,
    plan: SearchPlan,
    rankedMax = Infinity,
    cutoff = new Cutoff(new Allowance(), plan.cutoff_ms)
  ) {
    this.rankedMax = rankedMax
    this.scope = scope
    this.reader = reader
    this.plan = plan
    this.cutoff = cutoff
    this.grouping = plan.group === undefined ? undefined : new Grouping(plan.group, reader.views)
    this.matches = []
    this.pinned = []
    within(cutoff, () => this.find())
    this.isCutOff = cutoff.isPast
  }
  private find(): void {
    const { plan, reader, scope } = this
    const filtered = allowedBits(scope, reader, plan.filter)
    const hidden = new Set(plan.hidden)
    // What restricts a key holds for pins whatever the request says about filters.
    const pinnable = plan.filterCuratedHits ? filtered : allowedBits(scope, reader, plan.pinnedFilter)
    // Of several pins at one position, or of one document, the first.
    const positions = new Set<number>(),
      documents = new Set<string>()
    const existing = plan.pinned.flatMap(({ id, position }) => {
      spend(LOOK_UP_STEPS)
      const place = hidden.has(id) ? undefined : reader.locate(id)
      if (place === undefined) return []
      const key = `${place.at} ${place.doc}`
      const isFirst = !positions.has(position) && !documents.has(key)
      positions.add(position)
      documents.add(key)
      return isFirst ? [{ s: place.at, doc: place.doc, position }] : []
    })
    // Those that are filtered out give their positions to the ones behind them.
    const curated = existing
      .filter(({ s, doc }) => pinnable[s] === undefined || hasBit(pinnable[s]!, doc))
      .map((pin, i) => ({ ...pin, position: existing[i].position }))
    const injecting =
      plan.injected === undefined || plan.injected.length === 0 ? undefined : new Injecting(this, filtered)
    this.pinned = injecting === undefined ? curated : injecting.documents(curated)
    this.matches = reader.views.map((view, s) => newMatches(view, this.narrowed(filtered[s], s)))
    this.collect()
    // A slot for the best match is known once there are matches.
    if (injecting?.asksForBest === true) this.pinned = injecting.withBest(curated)
  }

  /** The filter without hidden documents and exclusions, within the phrases. */
  private narrowed(filtered: ReadonlyBits | undefined, s: number): ReadonlyBits | undefined {
    const { plan, reader } = this
    const view = reader.views[s]
    const { segment } = view
    // What passes the filter may be remembered by the segment: a change needs a copy.
    let changed: Bits | undefined
    const own = (): Bits => (changed ??= filtered?.slice() ?? fillBits(bitsOf(segment.docs), segment.docs))
    for (const id of plan.hidden) {
      spend(LOOK_UP_STEPS)
      for (const doc of segment.docsOfId(id)) clearBit(own(), doc)
    }
    if (plan.text !== undefined) {
      for (const phrase of plan.text.excluded) {
        const tokens = phrase.map(encodeUtf8)
        if (tokens.length === 0) continue
        for (const { field } of plan.text.fields) {
          const column = segment.text(field)
          if (column !== undefined) andNotInto(own(), phraseBits(column, tokens, segment.docs))
        }
      }
      if (plan.text.phrases.length > 0) andInto(own(), phraseMatches(reader, plan.text, view))
    }
    // What an exclusion did not get to would be let through.
    if (changed !== undefined && isOver()) changed.fill(0)
    return changed ?? filtered
  }

  private collect(): void {
    const { plan } = this
    if (plan.matchesNothing) return
    const { text, vector } = plan
    const hasText = text !== undefined && (text.tokens.length > 0 || text.phrases.length > 0)
    if (hasText) {
      if (text.relevance !== undefined && this.rankByRelevance(text.relevance)) {
        if (vector !== undefined) this.fuse()
        return
      }
      const outcome = searchText(this.reader, text, this.matches, () => this.resultCount(), this.topK())
      this.combinations = outcome.combinations
      this.knownTerms = outcome.knownTerms
      if (vector !== undefined) this.fuse()
    } else if (vector !== undefined) this.nearest()
    else
      for (const match of this.matches) {
        match.found.set(
          (match.allowed as Bits | undefined) ?? fillBits(bitsOf(match.view.segment.docs), match.view.segment.docs)
        )
        match.count = countBits(match.found)
        match.high.fill(0, 0, match.view.segment.docs)
        match.low.fill(MATCH_ALL_SCORE, 0, match.view.segment.docs)
      }
  }

  /** False when there is no word to rank by (only stop words): the engine-compatible search has an answer to those. */
  private rankByRelevance(query: RelevanceQuery): boolean {
    const search = new RelevanceSearch(
      this.reader,
      query,
      this.matches,
      this.plan.sort.length === 0 || this.plan.sort[0].kind === "text_match" || this.plan.vector !== undefined
    )
    if (!search.run()) return false
    this.relevance = search
    return true
  }
  /** What bounds the documents to score; undefined where all scores are needed or the order is another. */
  private topK(): TopK | undefined {
    const { plan } = this
    const [first, second] = plan.sort
    if (
      first?.kind !== "text_match" ||
      first.order !== "desc" ||
      plan.vector !== undefined ||
      this.grouping !== undefined
    )
      return undefined
    if (plan.injected?.some(({ target }) => "filter" in target) === true) return undefined
    const k = this.windowOf(this.rankedMax) + this.pinned.length
    if (k > TOP_K_MAX) return undefined
    if (second === undefined)
      return { k, ties: this.matches.map(({ view }) => ({ sign: 1, first: view.segment.seqs, absent: 0 })) }
    if (second.kind !== "field") return { k, ties: this.matches.map(() => undefined) }
    return {
      k,
      ties: keyColumns(
        { scope: this.scope, reader: this.reader, distances: undefined, fused: undefined, groupSize: undefined },
        [second],
        this.matches
      ).map(([{ arrays }]) => arrays)
    }
  }
  /** Documents that ranking looks at for `end` positions. */
  private windowOf(end: number): number {
    return this.plan.diversity !== undefined || this.plan.sort.some((key) => isBucketed(key))
      ? Math.max(end, WINDOW_MIN)
      : end
  }

  private resultCount(): number {
    if (this.grouping === undefined) return this.matches.reduce((total, { count }) => total + count, 0)
    const groups = new Set<number>()
    this.matches.forEach((match, s) => {
      if (match.count > 0)
        for (let doc = 0; doc < match.view.segment.docs && !spend(1); doc++)
          if (hasBit(match.found, doc)) {
            spend(GROUP_STEPS)
            groups.add(this.grouping!.groupOf(s, doc))
          }
    })
    return groups.size
  }

  // ---- vectors (13)
  // --------------------------------------------------------------------------------------------------

  /** The k nearest of what is allowed, nearest first. */
  private neighbours(k: number): Neighbour[] {
    const query = this.plan.vector!
    const self = query.likeId === undefined ? undefined : this.reader.locate(query.likeId)
    return nearest(this.reader, {
      query,
      k,
      isFiltered: this.plan.filter !== undefined,
      allowed: this.matches.map(({ allowed }) => allowed),
      excluded: [...this.pinned, ...(self === undefined ? [] : [{ s: self.at, doc: self.doc }])]
    })
  }
  private nearest(): void {
    const distances = this.matches.map((): Record<number, number> => ({}))
    this.distances = distances
    for (const { s, doc, distance } of this.neighbours(this.plan.vector!.k)) {
      distances[s][doc] = distance
      const match = this.matches[s]
      setBit(match.found, doc)
      match.high[doc] = 0
      match.low[doc] = 0
      match.count++
    }
  }
  /** Rank fusion of text and vector ranks, in single precision as recorded. */
  private fuse(): void {
    const vector = this.plan.vector!
    const alpha = Math.fround(vector.alpha)
    const near = this.neighbours(vector.k)
    const fused = this.matches.map(({ view }) => new Float64Array(view.segment.docs))
    const distances = this.matches.map(({ view }) => new Float64Array(view.segment.docs).fill(NaN))
    const texts: Array<{ s: number; doc: number; high: number; low: number; seq: number }> = []
    const add = (s: number, doc: number): void => {
      const match = this.matches[s]
      texts.push({ s, doc, high: match.high[doc], low: match.low[doc], seq: match.view.segment.seqs[doc] })
    }
    this.matches.forEach((match, s) => {
      for (let doc = 0; doc < match.view.segment.docs; doc++)
        if (hasBit(match.found, doc)) {
          spend(8)
          add(s, doc)
        }
    })
    for (const { s, doc, distance } of near) {
      spend(8)
      distances[s][doc] = distance
      const match = this.matches[s]
      if (hasBit(match.found, doc)) continue
      setBit(match.found, doc)
      match.count++
      match.high[doc] = 0
      match.low[doc] = 0
      if (vector.rerankHybridMatches) add(s, doc)
    }
    sortSpending(texts, (a, b) => b.high - a.high || b.low - a.low || b.seq - a.seq)
    let rank = 0
    for (let i = 0; i < texts.length; i++) {
      // Equal scores share a rank, except when every match is ranked anew.
      if (
        vector.rerankHybridMatches ||
        i === 0 ||
        texts[i].high !== texts[i - 1].high ||
        texts[i].low !== texts[i - 1].low
      )
        rank++
      fused[texts[i].s][texts[i].doc] = (1 - alpha) / rank
    }
    const distanceOf = vector.rerankHybridMatches ? distanceIn(this.reader, vector) : undefined
    const ordered =
      distanceOf === undefined
        ? near
        : sortSpending(
            texts.flatMap(({ s, doc }) => {
              // A match without a vector ranks before every distance, as recorded.
              const distance = (distances[s][doc] = distanceOf(s, doc))
              return [{ s, doc, distance: Number.isNaN(distance) ? -1 : distance }]
            }),
            (a, b) => a.distance - b.distance
          )
    ordered.forEach(({ s, doc }, i) => {
      fused[s][doc] = Math.fround(fused[s][doc] + alpha / (i + 1))
    })
    this.hybrid = { fused: fused.map((table) => table.map(Math.fround)), distances }
    this.distances = distances
  }

  // ---- order
  // ---------------------------------------------------------------------------------------------------------

  /** Documents that matched. */
  get organicDocuments(): number {
    let total = 0
    for (const { count } of this.matches) total += count
    return total
  }
  /** The same, pinned ones included once. */
  get foundDocuments(): number {
    let total = this.organicDocuments
    for (const { s, doc } of this.pinned) if (!hasBit(this.matches[s].found, doc)) total++
    return total
  }
  /** What facets count: matches and pinned hits, as sets per segment. */
  get facetedSets(): FacetedSet[] {
    const { plan } = this
    const isAll =
      plan.text === undefined &&
      plan.vector === undefined &&
      plan.filter === undefined &&
      plan.hidden.length === 0 &&
      !plan.matchesNothing
    return this.matches.map(({ view, found, count, docs }, s) => {
      const pins = this.pinned.filter((pin) => pin.s === s)
      const bits = pins.length === 0 ? found : found.slice()
      for (const { doc } of pins) setBit(bits, doc)
      return {
        view,
        bits,
        isAll,
        ...(pins.length === 0 ? { count } : {}),
        ...(pins.length === 0 && docs !== undefined ? { docs } : {}),
        ...(this.grouping === undefined ? {} : { groupOf: (doc: number) => this.grouping!.groupOf(s, doc) })
      }
    })
  }

  private prepareColumns(): void {
    const { plan } = this
    let groupSize: ((s: number, doc: number) => number) | undefined
    if (this.grouping !== undefined && plan.sort.some(({ kind }) => kind === "group_found")) {
      const sizes = this.sizesOfGroups()
      groupSize = (s, doc) => sizes.get(this.grouping!.groupOf(s, doc)) ?? 0
    }
    this.columns = keyColumns(
      { scope: this.scope, reader: this.reader, distances: this.distances, fused: this.hybrid?.fused, groupSize },
      plan.sort,
      this.matches
    )
  }
  private sizesOfGroups(): Map<number, number> {
    if (this.groupSizes !== undefined) return this.groupSizes
    const sizes = new Map<number, number>()
    for (const [s, { bits }] of this.facetedSets.entries())
      for (let w = 0; w < bits.length; w++) {
        let word = bits[w]
        while (word !== 0) {
          const low = word & -word
          word ^= low
          if (spend(GROUP_STEPS)) return (this.groupSizes = sizes)
          const group = this.grouping!.groupOf(s, (w << 5) + 31 - Math.clz32(low))
          sizes.set(group, (sizes.get(group) ?? 0) + 1)
        }
      }
    return (this.groupSizes = sizes)
  }

  /** The first `end` organic documents in order, pinned ones left out. */
  rank(end: number): Ranked[] {
    return this.ordering(() => this.ranked(end))
  }
  /** With a few milliseconds in any case. */
  private ordering<A>(run: () => A): A {
    const cutoff = this.cutoff.atLeast(RANK_MIN_ms)
    const answer = within(cutoff, run)
    this.isCutOff ||= cutoff.isPast
    return answer
  }
  private ranked(end: number): Ranked[] {
    this.prepareColumns()
    const { plan } = this
    const without =
      this.pinned.length === 0
        ? undefined
        : this.matches.map(({ view }, s) => {
            const pins = this.pinned.filter((pin) => pin.s === s)
            if (pins.length === 0) return undefined
            const bits = bitsOf(view.segment.docs)
            for (const { doc } of pins) setBit(bits, doc)
            return bits
          })
    let ranked = rankMatches(this.matches, plan.sort, this.columns, this.windowOf(end), without)
    for (let k = 0; k < plan.sort.length; k++) if (isBucketed(plan.sort[k])) ranked = this.bucket(ranked, k)
    if (plan.diversity !== undefined && this.grouping === undefined) ranked = this.diversified(ranked)
    return ranked
  }

  /** The best of the matches that are in `within`, by the sort keys; undefined where none is. */
  bestWithin(within: ReadonlyArray<Bits>): Ranked | undefined {
    this.prepareColumns()
    return this.bestOf(
      this.matches.map((match, s) => {
        const found = andInto(match.found.slice(), within[s])
        return { ...match, found, scored: found, scoredDocs: undefined, docs: undefined, count: countBits(found) }
      }),
      this.plan.sort,
      this.columns
    )
  }
  /** The best document of `within` whether or not it matches: by those sort keys that need no match. */
  bestAnywhere(within: ReadonlyArray<Bits>): Ranked | undefined {
    const sort = this.plan.sort.filter(
      ({ kind }) => kind === "field" || kind === "boosts" || kind === "geo" || kind === "eval"
    )
    const matches = this.matches.map((match, s) => ({
      ...match,
      found: within[s],
      scored: within[s],
      scoredDocs: undefined,
      docs: undefined,
      count: countBits(within[s])
    }))
    return this.bestOf(
      matches,
      sort,
      keyColumns(
        { scope: this.scope, reader: this.reader, distances: undefined, fused: undefined, groupSize: undefined },
        sort,
        matches
      )
    )
  }
  private bestOf(
    matches: ReadonlyArray<SegmentMatches>,
    sort: ReadonlyArray<SortKey>,
    columns: KeyColumn[][]
  ): Ranked | undefined {
    return matches.every(({ count }) => count === 0) ? undefined : rankMatches(matches, sort, columns, 1).at(0)
  }

  /** Hits of one block tie on the key (8.2). */
  private bucket(ranked: Ranked[], k: number): Ranked[] {
    const key = this.plan.sort[k] as { readonly buckets?: number; readonly bucketSize?: number }
    const n = ranked.length
    const size =
      key.buckets !== undefined && key.buckets > 0
        ? n < key.buckets
          ? 0
          : Math.ceil(n / key.buckets)
        : key.bucketSize !== undefined && key.bucketSize > 0 && n >= key.bucketSize
          ? key.bucketSize
          : 0
    if (size === 0) return ranked
    const at = keyOffsets(this.columns[ranked[0].s])[k],
      { width } = this.columns[ranked[0].s][k]
    const byKey = sortSpending([...ranked], (a, b) => {
      for (let i = at; i < at + width; i++) if (a.keys[i] !== b.keys[i]) return b.keys[i] - a.keys[i]
      return 0
    })
    byKey.forEach((entry, i) => {
      entry.keys[at] = -Math.floor(i / size)
      if (width === 2) entry.keys[at + 1] = 0
    })
    return sortRanked(ranked, this.plan.sort, this.columns)
  }

  private diversified(ranked: Ranked[]): Ranked[] {
    const { lambda, metrics } = this.plan.diversity!
    const window = ranked.slice(0, WINDOW_MIN)
    const valuesOf = metrics.map(({ field }) =>
      window.map((entry) => {
        const { segment } = this.matches[entry.s].view
        const column = segment.values(field)
        const values = new Set<string>()
        if (column !== undefined) eachOrdinal(column, entry.doc, (ordinal) => values.add(column.table.text(ordinal)))
        else {
          const numbers = segment.numbers(field)
          const keys = segment.sortKeys(field)
          const number = numbers?.first(entry.doc)
          if (number !== undefined) values.add(String(number))
          else if (keys !== undefined && keys.ordinals[entry.doc] > 0)
            values.add(keys.table.text(keys.ordinals[entry.doc] - 1))
        }
        return values
      })
    )
    const vectorsOf = metrics.map(({ field, method }) =>
      method !== "vector_distance"
        ? undefined
        : window.map((entry) => {
            const column = this.matches[entry.s].view.segment.vectors(field)
            return column === undefined || !hasBit(column.has, entry.doc)
              ? undefined
              : column.values.subarray(entry.doc * column.dimensions, (entry.doc + 1) * column.dimensions)
          })
    )
    const total = metrics.reduce((sum, { weight }) => sum + weight, 0) || 1
    const order = diversify({
      size: window.length,
      lambda,
      relevance: (i) =>
        this.distances === undefined ? window.length - i : -(this.distances[window[i].s][window[i].doc] || 0),
      similarity: (i, j) => {
        let sum = 0
        metrics.forEach(({ method, weight }, m) => {
          if (spend(4)) return
          if (method === "vector_distance") {
            const a = vectorsOf[m]![i],
              b = vectorsOf[m]![j]
            spend(a?.length ?? 0)
            sum += weight * (a === undefined || b === undefined ? 0 : cosine(a, b))
            return
          }
          const a = valuesOf[m][i],
            b = valuesOf[m][j]
          let common = 0
          if (spend(a.size * 4)) return
          for (const value of a) if (b.has(value)) common++
          if (method === "equality") sum += weight * (common > 0 && common === a.size && common === b.size ? 1 : 0)
          else sum += weight * (a.size + b.size === 0 ? 0 : common / (a.size + b.size - common))
        })
        return sum / total
      }
    })
    return [...order.map((i) => window[i]), ...ranked.slice(WINDOW_MIN)]
  }

  /** Organic documents and pins of positions [from, end). */
  page(from: number, end: number): Placed[] {
    if (end <= from) return []
    return placeAmong(this.rank(end), this.pinned, end).slice(from, end)
  }

  /** Groups of positions [from, end), and how many there are. */
  groupPage(from: number, end: number): { groups: RankedGroup[]; total: number } {
    return this.ordering(() => this.grouped(from, end))
  }
  private grouped(from: number, end: number): { groups: RankedGroup[]; total: number } {
    const grouping = this.grouping!
    const limit = this.plan.group!.limit
    const all = this.ranked(Math.max(1, this.foundDocuments))
    const placed = placeAmong(all, this.pinned, Infinity)
    const sizes = this.sizesOfGroups()
    const order: Array<{ group: number; members: Placed[] }> = []
    const known = new Map<number, { group: number; members: Placed[] }>()
    for (const one of placed) {
      spend(GROUP_STEPS)
      const group = grouping.groupOf(one.s, one.doc)
      let entry = known.get(group)
      if (entry === undefined) {
        entry = { group, members: [] }
        known.set(group, entry)
        order.push(entry)
      }
      if (entry.members.length < limit) entry.members.push(one)
    }
    return {
      total: order.length,
      groups: order
        .slice(from, end)
        .map(({ group, members }) => ({ group, members, found: sizes.get(group) ?? members.length }))
    }
  }
}

const isBucketed = (key: SortKey): boolean =>
  (key.kind === "text_match" || key.kind === "vector_distance") && ((key.buckets ?? 0) > 0 || (key.bucketSize ?? 0) > 0)

export const organicPlace = (entry: Ranked): Placed => ({ s: entry.s, doc: entry.doc, ranked: entry, isCurated: false })
export const fixedPlace = ({ s, doc, injection }: FixedDocument): Placed => ({
  s,
  doc,
  isCurated: true,
  ...(injection === undefined ? {} : { injection })
})
const placeAmong = (ranked: ReadonlyArray<Ranked>, pinned: ReadonlyArray<FixedDocument>, end: number): Placed[] =>
  pinned.length === 0
    ? ranked.map(organicPlace)
    : interleave(
        ranked.map(organicPlace),
        pinned.map((pin) => ({ ...fixedPlace(pin), position: pin.position })),
        end
      )
const cosine = (a: Float32Array, b: Float32Array): number => {
  let dot = 0,
    x = 0,
    y = 0
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i]
    x += a[i] * a[i]
    y += b[i] * b[i]
  }
  return x === 0 || y === 0 ? 0 : Math.max(0, dot / Math.sqrt(x * y))
}
