/**
 * Reorders the first hits after ranking: blocks of hits that count as equal (`docs/contract/text.md#sort-texts`), and
 * diversity.
 */
import type { SearchPlan, SortKey } from "../../plan.ts"
import { hasBit } from "../../index/bits.ts"
import { diversify } from "../../diversity/mmr.ts"
import { sortSpending, spend } from "../../budget/cutoff.ts"
import { eachOrdinal } from "../../index/columns.ts"
import { keyOffsets, sortRanked, type Ranked } from "../rank/rank.ts"
import type { KeyColumn } from "../rank/sort-keys.ts"
import type { SegmentMatches } from "../text/segment-matches.ts"
import type { DistanceTable } from "../vector/vectors.ts"

/** Minimum number of hits that reordering examines. */
const WINDOW_MIN = 250

/** Number of documents that ranking examines for `end` positions. */
export const windowOf = ({ diversity, sort }: SearchPlan, end: number): number =>
  diversity !== undefined || sort.some((key) => isBucketed(key)) ? Math.max(end, WINDOW_MIN) : end

const isBucketed = (key: SortKey): boolean =>
  (key.kind === "text_match" || key.kind === "vector_distance") && ((key.buckets ?? 0) > 0 || (key.bucketSize ?? 0) > 0)

/** Hits of one block tie on its key; the keys after it decide within the block. */
export const bucketed = (
  ranked: Ranked[],
  sort: ReadonlyArray<SortKey>,
  columns: ReadonlyArray<KeyColumn[]>
): Ranked[] => {
  let reordered = ranked
  for (let k = 0; k < sort.length; k++) if (isBucketed(sort[k])) reordered = bucketedBy(reordered, k, sort, columns)
  return reordered
}
const bucketedBy = (
  ranked: Ranked[],
  k: number,
  sort: ReadonlyArray<SortKey>,
  columns: ReadonlyArray<KeyColumn[]>
): Ranked[] => {
  const key = sort[k] as { readonly buckets?: number; readonly bucketSize?: number }
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
  const at = keyOffsets(columns[ranked[0].s])[k],
    { width } = columns[ranked[0].s][k]
  const byKey = sortSpending([...ranked], (a, b) => {
    for (let i = at; i < at + width; i++) if (a.keys[i] !== b.keys[i]) return b.keys[i] - a.keys[i]
    return 0
  })
  byKey.forEach((entry, i) => {
    entry.keys[at] = -Math.floor(i / size)
    if (width === 2) entry.keys[at + 1] = 0
  })
  return sortRanked(ranked, sort, columns)
}

/** Reorders the first hits by maximal marginal relevance; the others follow unchanged. O(window² · metrics). */
export const diversified = (
  ranked: Ranked[],
  { lambda, metrics }: NonNullable<SearchPlan["diversity"]>,
  matches: ReadonlyArray<SegmentMatches>,
  distances: ReadonlyArray<DistanceTable> | undefined
): Ranked[] => {
  const window = ranked.slice(0, WINDOW_MIN)
  const similarities = metrics.map(({ field, method }) =>
    method === "vector_distance"
      ? vectorSimilarity(window, field, matches)
      : valueSimilarity(window, field, method, matches)
  )
  const total = metrics.reduce((sum, { weight }) => sum + weight, 0) || 1
  const order = diversify({
    size: window.length,
    lambda,
    relevance: (i) => (distances === undefined ? window.length - i : -(distances[window[i].s][window[i].doc] || 0)),
    similarity: (i, j) => {
      let sum = 0
      for (let m = 0; m < metrics.length; m++) if (!spend(4)) sum += metrics[m].weight * similarities[m](i, j)
      return sum / total
    }
  })
  return [...order.map((i) => window[i]), ...ranked.slice(WINDOW_MIN)]
}

type Similarity = (i: number, j: number) => number
/** 1 for equal sets of values, else 0; or the share of values that two hits have in common (Jaccard similarity). */
const valueSimilarity = (
  window: ReadonlyArray<Ranked>,
  field: string,
  method: "equality" | "jaccard",
  matches: ReadonlyArray<SegmentMatches>
): Similarity => {
  const values = window.map((entry) => valuesOf(entry, field, matches))
  return (i, j) => {
    const a = values[i],
      b = values[j]
    let common = 0
    if (spend(a.size * 4)) return 0
    for (const value of a) if (b.has(value)) common++
    if (method === "equality") return common > 0 && common === a.size && common === b.size ? 1 : 0
    return a.size + b.size === 0 ? 0 : common / (a.size + b.size - common)
  }
}
const valuesOf = ({ doc, s }: Ranked, field: string, matches: ReadonlyArray<SegmentMatches>): ReadonlySet<string> => {
  const { segment } = matches[s].view
  const column = segment.values(field)
  const values = new Set<string>()
  if (column !== undefined) eachOrdinal(column, doc, (ordinal) => values.add(column.table.text(ordinal)))
  else {
    const numbers = segment.numbers(field)
    const keys = segment.sortKeys(field)
    const number = numbers?.first(doc)
    if (number !== undefined) values.add(String(number))
    else if (keys !== undefined && keys.ordinals[doc] > 0) values.add(keys.table.text(keys.ordinals[doc] - 1))
  }
  return values
}
const vectorSimilarity = (
  window: ReadonlyArray<Ranked>,
  field: string,
  matches: ReadonlyArray<SegmentMatches>
): Similarity => {
  const vectors = window.map(({ doc, s }) => {
    const column = matches[s].view.segment.vectors(field)
    return column === undefined || !hasBit(column.has, doc) ? undefined : column.lasting(doc)
  })
  return (i, j) => {
    const a = vectors[i],
      b = vectors[j]
    spend(a?.length ?? 0)
    return a === undefined || b === undefined ? 0 : cosine(a, b)
  }
}
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
