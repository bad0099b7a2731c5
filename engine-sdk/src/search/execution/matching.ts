/**
 * Determines which documents may match and which do: the filter, minus hidden and excluded documents and narrowed by
 * phrases, then words, a named ranking, vectors, or everything.
 */
import type { RelevanceQuery, SortKey } from "../../plan.ts"
import { RelevanceSearch } from "../relevance/relevance-search.ts"
import {
  andInto,
  andNotInto,
  bitsOf,
  clearBit,
  countBits,
  fillBits,
  hasBit,
  type Bits,
  type ReadonlyBits
} from "../../index/bits.ts"
import { encodeUtf8 } from "../../index/bytes.ts"
import { phraseBits } from "../../index/places.ts"
import type { Segment } from "../../index/segment.ts"
import { isOver, spend } from "../../budget/cutoff.ts"
import { blockMaxima } from "../rank/block-maxima.ts"
import { keyColumns } from "../rank/sort-keys.ts"
import { phraseMatches } from "../text/phrases.ts"
import type { SegmentMatches } from "../text/segment-matches.ts"
import type { KnownTerms } from "../text/term-lookup.ts"
import { searchText } from "../text/text-search.ts"
import type { TieColumn, TopK } from "../text/top-k-scorer.ts"
import type { Combination } from "../text/word-matcher.ts"
import type { DistanceTable } from "../vector/vectors.ts"
import { fuse, matchNearest, nearestAllowed, type HybridScores } from "./fusion.ts"
import type { FixedDocument } from "./placed.ts"
import { windowOf } from "./reordering.ts"
import { fuseScores } from "./score-fusion.ts"
import type { SearchRequest } from "./request.ts"

/** Text score of every document if the query has no words. */
const MATCH_ALL_SCORE = 100
/** Beyond this many positions every match is scored. */
const TOP_K_MAX = 1_000
/** Cost, in steps, of looking up an id in a segment and of finding the group of a document. */
const LOOK_UP_STEPS = 16,
  GROUP_STEPS = 16

/** What matching returns in addition to the matches. */
export interface Matched {
  readonly combinations: ReadonlyArray<Combination>
  readonly knownTerms: KnownTerms | undefined
  /** Set if a named ranking matched and scored the words. */ readonly relevance: RelevanceSearch | undefined
  readonly distances: ReadonlyArray<DistanceTable> | undefined
  readonly hybrid: HybridScores | undefined
}
const NOTHING: Matched = {
  combinations: [],
  knownTerms: undefined,
  relevance: undefined,
  distances: undefined,
  hybrid: undefined
}

/** The documents of one segment that pass the filter and contain the phrases, without hidden and excluded ones. */
export const narrowed = (
  { plan, reader }: SearchRequest,
  filtered: ReadonlyBits | undefined,
  s: number
): ReadonlyBits | undefined => {
  const view = reader.views[s]
  const { segment } = view
  // The segment may cache the filter's set, so a change needs a copy.
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
  // If an exclusion was cut off, the set would let excluded documents through, so it is emptied.
  if (changed !== undefined && isOver()) changed.fill(0)
  return changed ?? filtered
}

/** Fills the matches, whose `allowed` sets are given. `pinned`: the fixed documents that are known so far. */
export const collectMatches = (
  request: SearchRequest,
  matches: ReadonlyArray<SegmentMatches>,
  pinned: ReadonlyArray<FixedDocument>
): Matched => {
  const { plan, reader } = request
  if (plan.matchesNothing) return NOTHING
  const { text, vector } = plan
  if (text !== undefined && (text.tokens.length > 0 || text.phrases.length > 0)) {
    const relevance =
      text.relevance === undefined ? undefined : rankByRelevance(request, text.relevance, matches, pinned)
    const { combinations, knownTerms } =
      relevance === undefined
        ? searchText(reader, text, matches, () => resultCount(request, matches), topKOf(request, matches, pinned))
        : NOTHING
    const near = vector === undefined ? [] : nearestAllowed(reader, plan, vector, matches, pinned)
    const hybrid =
      vector === undefined
        ? undefined
        : relevance === undefined
          ? fuse(request, vector, near, matches)
          : fuseScores(reader, vector, near, matches, relevance.certainty())
    return { combinations, knownTerms, relevance, distances: hybrid?.distances, hybrid }
  }
  if (vector === undefined) {
    matchAll(matches)
    return NOTHING
  }
  return { ...NOTHING, distances: matchNearest(nearestAllowed(reader, plan, vector, matches, pinned), matches) }
}

const matchAll = (matches: ReadonlyArray<SegmentMatches>): void => {
  for (const match of matches) {
    const { docs } = match.view.segment
    match.found.set((match.allowed as Bits | undefined) ?? fillBits(bitsOf(docs), docs))
    match.count = countBits(match.found)
    match.high.fill(0, 0, docs)
    match.low.fill(MATCH_ALL_SCORE, 0, docs)
  }
}

/** Undefined if there is no word to rank by (only stop words); then the engine-compatible search runs instead. */
const rankByRelevance = (
  request: SearchRequest,
  query: RelevanceQuery,
  matches: ReadonlyArray<SegmentMatches>,
  pinned: ReadonlyArray<FixedDocument>
): RelevanceSearch | undefined => {
  const { plan, reader } = request
  const [first] = plan.sort
  const ordersByScore = plan.sort.length === 0 || first.kind === "text_match" || plan.vector !== undefined
  const shown = first?.kind === "text_match" && first.order === "desc" ? placesOf(request, pinned) : undefined
  const search = new RelevanceSearch(reader, query, matches, ordersByScore, shown ?? Infinity)
  return search.run() ? search : undefined
}

/** How many of the first documents, in the order of the plan, must have a score; undefined: all. */
const placesOf = (
  { grouping, plan, rankedMax }: SearchRequest,
  pinned: ReadonlyArray<FixedDocument>
): number | undefined => {
  if (plan.vector !== undefined || grouping !== undefined) return undefined
  if (plan.injected?.some(({ target }) => "filter" in target) === true) return undefined
  const k = windowOf(plan, rankedMax) + pinned.length
  return k > TOP_K_MAX ? undefined : k
}
/** Bounds the number of documents to score; undefined if all scores are needed or the order does not allow a bound. */
const topKOf = (
  request: SearchRequest,
  matches: ReadonlyArray<SegmentMatches>,
  pinned: ReadonlyArray<FixedDocument>
): TopK | undefined => {
  const { plan, reader, scope } = request
  const [first, second] = plan.sort
  const k = placesOf(request, pinned)
  if (k === undefined) return undefined
  const columnsOf = (key: SortKey) =>
    keyColumns({ scope, reader, distances: undefined, fused: undefined, groupSize: undefined }, [key], matches).map(
      ([{ arrays }]) => arrays
    )
  if (first?.kind === "field") {
    const columns = columnsOf(first)
    return columns.every((column) => column?.maxima !== undefined)
      ? { k, first: columns as TieColumn[], ties: [] }
      : undefined
  }
  if (first?.kind !== "text_match" || first.order !== "desc") return undefined
  if (second === undefined) return { k, ties: matches.map(({ view }) => newestFirst(view.segment)) }
  if (second.kind !== "field") return { k, ties: matches.map(() => undefined) }
  return { k, ties: columnsOf(second) }
}
const newestFirst = (segment: Segment) => {
  const ordered = { sign: 1, first: segment.seqs, absent: 0 }
  return { ...ordered, maxima: () => blockMaxima(segment, "", ordered) }
}

/** Number of documents, or of groups when grouping; the thresholds of a text search are compared with it. */
const resultCount = ({ grouping }: SearchRequest, matches: ReadonlyArray<SegmentMatches>): number => {
  if (grouping === undefined) return matches.reduce((total, { count }) => total + count, 0)
  const groups = new Set<number>()
  matches.forEach((match, s) => {
    if (match.count > 0)
      for (let doc = 0; doc < match.view.segment.docs && !spend(1); doc++)
        if (hasBit(match.found, doc)) {
          spend(GROUP_STEPS)
          groups.add(grouping.groupOf(s, doc))
        }
  })
  return groups.size
}
