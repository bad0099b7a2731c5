/** Matching by vectors (`docs/contract/vectors.md`): the nearest documents, alone or fused with the text matches. */
import { bitsOf, hasBit, setBit } from "../../index/bits.ts"
import type { CollectionReader } from "../../index/reader.ts"
import type { SearchPlan, TextQuery, VectorQuery } from "../../plan.ts"
import { sortSpending, spend } from "../../budget/cutoff.ts"
import { rankMatches } from "../rank/rank.ts"
import { keyColumns } from "../rank/sort-keys.ts"
import type { SearchScope } from "../scope.ts"
import type { SegmentMatches } from "../text/segment-matches.ts"
import { searchText } from "../text/text-search.ts"
import { nearest, type Neighbour } from "../vector/nearest.ts"
import { distanceIn, type DistanceTable } from "../vector/vectors.ts"
import type { FixedDocument } from "./placed.ts"
import type { SearchRequest } from "./request.ts"

export interface HybridScores {
  readonly fused: ReadonlyArray<Float64Array>
  /** NaN for a document without a distance. */ readonly distances: ReadonlyArray<DistanceTable>
}
/** A document in the list of text matches. */
interface TextMatch {
  readonly s: number
  readonly doc: number
  readonly high: number
  readonly low: number
  readonly seq: number
}

/**
 * The k nearest allowed documents, nearest first, without pinned documents and the document that the query refers to.
 */
export const nearestAllowed = (
  reader: CollectionReader,
  plan: SearchPlan,
  query: VectorQuery,
  matches: ReadonlyArray<SegmentMatches>,
  pinned: ReadonlyArray<FixedDocument>
): Neighbour[] => {
  const self = query.likeId === undefined ? undefined : reader.locate(query.likeId)
  return nearest(reader, {
    query,
    k: query.k,
    isFiltered: plan.filter !== undefined,
    allowed: matches.map(({ allowed }) => allowed),
    excluded: [...pinned, ...(self === undefined ? [] : [{ s: self.at, doc: self.doc }])]
  })
}
/** Turns the nearest documents into matches and returns their distances. */
export const matchNearest = (
  near: ReadonlyArray<Neighbour>,
  matches: ReadonlyArray<SegmentMatches>
): ReadonlyArray<DistanceTable> => {
  const distances = matches.map((): Record<number, number> => ({}))
  for (const { s, doc, distance } of near) {
    distances[s][doc] = distance
    const match = matches[s]
    setBit(match.found, doc)
    match.high[doc] = 0
    match.low[doc] = 0
    match.count++
  }
  return distances
}

/**
 * Fuses text and vector results by rank, in single precision as recorded. Near documents become matches, too. Text
 * ranks follow the requested order (consecutive equal scores share a rank); with `rerankHybridMatches` they follow
 * scores alone, and every match gets a score and a distance.
 */
export const fuse = (
  { plan, reader, scope }: SearchRequest,
  vector: VectorQuery,
  near: ReadonlyArray<Neighbour>,
  matches: ReadonlyArray<SegmentMatches>
): HybridScores => {
  const alpha = Math.fround(vector.alpha)
  const isReranked = vector.rerankHybridMatches
  const fused = matches.map(({ view }) => new Float64Array(view.segment.docs))
  const distances = matches.map(({ view }) => new Float64Array(view.segment.docs).fill(NaN))
  const isByScore = isReranked || plan.sort.length === 0 || plan.sort[0].kind === "text_match"
  const found = isByScore ? undefined : inAskedOrder(scope, reader, plan, matches)
  let texts = textMatches(matches)
  const only = addNearest(near, matches, distances)
  if (isReranked && plan.text !== undefined) {
    scoreWordsOf(reader, plan.text, only, matches)
    texts = texts.concat(only.map(({ doc, s }) => textMatch(matches[s], s, doc)))
  }
  if (found === undefined) sortSpending(texts, (a, b) => b.high - a.high || b.low - a.low || b.seq - a.seq)
  else texts = found.map(({ doc, s }) => textMatch(matches[s], s, doc))
  let rank = 0
  for (let i = 0; i < texts.length; i++) {
    // Equal scores share a rank, except when every match is reranked.
    if (isReranked || i === 0 || texts[i].high !== texts[i - 1].high || texts[i].low !== texts[i - 1].low) rank++
    fused[texts[i].s][texts[i].doc] = (1 - alpha) / rank
  }
  const ordered = isReranked ? byDistance(texts, distances, distanceIn(reader, vector)) : near
  ordered.forEach(({ s, doc }, i) => {
    fused[s][doc] = Math.fround(fused[s][doc] + alpha / (i + 1))
  })
  for (const { doc, s } of texts) fused[s][doc] = Math.fround(fused[s][doc])
  return { fused, distances }
}
/** Makes the nearest documents matches and writes their distances; returns those that the text search did not find. */
export const addNearest = (
  near: ReadonlyArray<Neighbour>,
  matches: ReadonlyArray<SegmentMatches>,
  distances: ReadonlyArray<Float64Array>
): ReadonlyArray<{ readonly s: number; readonly doc: number }> => {
  const only: Array<{ readonly s: number; readonly doc: number }> = []
  for (const { s, doc, distance } of near) {
    spend(8)
    distances[s][doc] = distance
    const match = matches[s]
    if (hasBit(match.found, doc)) continue
    setBit(match.found, doc)
    match.count++
    match.high[doc] = 0
    match.low[doc] = 0
    only.push({ s, doc })
  }
  return only
}
/** The text matches in the requested order; sort keys that depend on the fused score are ignored. */
const inAskedOrder = (
  scope: SearchScope,
  reader: CollectionReader,
  plan: SearchPlan,
  matches: ReadonlyArray<SegmentMatches>
): ReadonlyArray<{ readonly s: number; readonly doc: number }> => {
  const inputs = { scope, reader, distances: undefined, fused: undefined, groupSize: undefined, filter: plan.filter }
  return rankMatches(matches, plan.sort, keyColumns(inputs, plan.sort, matches), Infinity)
}
/** Scores of documents that only the vector search found, based on the query words that they contain as typed. */
const scoreWordsOf = (
  reader: CollectionReader,
  text: TextQuery,
  only: ReadonlyArray<{ readonly s: number; readonly doc: number }>,
  matches: ReadonlyArray<SegmentMatches>
): void => {
  const allowed = matches.map(({ view }) => bitsOf(view.segment.docs))
  for (const { doc, s } of only) setBit(allowed[s], doc)
  const scored = matches.map(({ high, low, space, view }, s): SegmentMatches => {
    const found = bitsOf(view.segment.docs)
    return { view, allowed: allowed[s], found, scored: found, high, low, space, count: 0 }
  })
  const words: TextQuery = {
    ...text,
    fields: text.fields.map((field) => ({ ...field, numTypos: 0, infix: "off" })),
    synonyms: [],
    dropTokensThreshold: Infinity,
    splitJoinTokens: "off"
  }
  searchText(reader, words, scored, () => 0)
}
const textMatch = ({ high, low, view }: SegmentMatches, s: number, doc: number): TextMatch => ({
  s,
  doc,
  high: high[doc],
  low: low[doc],
  seq: view.segment.seqs[doc]
})
const textMatches = (matches: ReadonlyArray<SegmentMatches>): TextMatch[] => {
  const texts: TextMatch[] = []
  matches.forEach((match, s) => {
    for (let doc = 0; doc < match.view.segment.docs; doc++)
      if (hasBit(match.found, doc)) {
        spend(8)
        texts.push(textMatch(match, s, doc))
      }
  })
  return texts
}
/** All matches, nearest first; fills in their distances. */
const byDistance = (
  texts: ReadonlyArray<TextMatch>,
  distances: ReadonlyArray<Float64Array>,
  distanceOf: (s: number, doc: number) => number
): ReadonlyArray<{ readonly s: number; readonly doc: number }> =>
  sortSpending(
    texts.map(({ s, doc }) => {
      // A match without a vector ranks before every distance, as recorded.
      const distance = (distances[s][doc] = distanceOf(s, doc))
      return { s, doc, distance: Number.isNaN(distance) ? -1 : distance }
    }),
    (a, b) => a.distance - b.distance
  )
