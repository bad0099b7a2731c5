/**
 * Score fusion for a named ranking (`ranking=relevance`): the text score and the vector similarity are each scaled to
 * 0..1 over the competing documents and mixed by `alpha`. Ranks alone would hide how far the first is ahead of the
 * second. On three judged sets nDCG@10 is .430, .572 and .822 with an `alpha` of a third, .414, .539 and .806 by words
 * alone, and .422, .546 and .774 by ranks with .3 (`bench -- relevance --embedder minilm`).
 */
import { eachBit } from "../../index/bits.ts"
import type { CollectionReader } from "../../index/reader.ts"
import type { VectorQuery } from "../../plan.ts"
import { sortSpending, spend } from "../../budget/cutoff.ts"
import type { SegmentMatches } from "../text/segment-matches.ts"
import type { Neighbour } from "../vector/nearest.ts"
import { distanceIn } from "../vector/vectors.ts"
import { addNearest, type HybridScores } from "./fusion.ts"

/** Number of best text matches that compete with the nearest documents; the rest keep their order after them. */
const POOL = 100
const TWO_32 = 2 ** 32

interface Scored {
  readonly s: number
  readonly doc: number
  readonly score: number
  readonly seq: number
}
/**
 * The best of many documents by score, newest first among equals. Documents may be offered in any order; an offer costs
 * a few comparisons.
 */
class Best {
  readonly #kept: Scored[] = []
  /** The worst of the best; a document that does not precede it is rejected. */ #last: Scored | undefined
  offer(s: number, doc: number, score: number, seq: number): void {
    const last = this.#last
    if (last !== undefined && (score < last.score || (score === last.score && seq < last.seq))) return
    this.#kept.push({ s, doc, score, seq })
    if (this.#kept.length === 2 * POOL) this.#cut()
  }
  #cut(): void {
    sortSpending(this.#kept, (a, b) => b.score - a.score || b.seq - a.seq)
    this.#kept.length = Math.min(this.#kept.length, POOL)
    this.#last = this.#kept[POOL - 1]
  }
  first(): ReadonlyArray<Scored> {
    this.#cut()
    return this.#kept
  }
}
const scaleOf = (least: number, most: number): ((value: number) => number) => {
  const span = most - least
  return span > 0 ? (value) => (value - least) / span : (value) => (value < least ? value - least : 1)
}

/**
 * Adds the nearest documents to the matches. `certainty`: the share of the query that the matched words account for;
 * without it, scaling would make the best match by a guess look as good as a match as typed. O(matches + POOL ·
 * dimensions).
 */
export const fuseScores = (
  reader: CollectionReader,
  vector: VectorQuery,
  near: ReadonlyArray<Neighbour>,
  matches: ReadonlyArray<SegmentMatches>,
  certainty: number
): HybridScores => {
  const fused = matches.map(({ view }) => new Float64Array(view.segment.docs))
  const distances = matches.map(({ view }) => new Float64Array(view.segment.docs).fill(NaN))
  const best = new Best()
  matches.forEach(({ found, high, low, view }, s) => {
    eachBit(found, (doc) => {
      spend(8)
      fused[s][doc] = high[doc] * TWO_32 + low[doc]
      best.offer(s, doc, fused[s][doc], view.segment.seqs[doc])
    })
  })
  const first = best.first()
  const words = scaleOf(first.at(-1)?.score ?? 0, first[0]?.score ?? 0)
  const share = certainty * (1 - vector.alpha)
  matches.forEach(({ found }, s) => {
    eachBit(found, (doc) => {
      fused[s][doc] = Math.fround(share * words(fused[s][doc]))
    })
  })
  const only = addNearest(near, matches, distances)
  const distanceOf = distanceIn(reader, vector)
  for (const { doc, s } of first) if (Number.isNaN(distances[s][doc])) distances[s][doc] = distanceOf(s, doc)
  const pool = [...first, ...only.map(({ doc, s }) => ({ doc, s, score: undefined }))].filter(
    ({ doc, s }) => !Number.isNaN(distances[s][doc])
  )
  const nearness = scaleOf(
    -pool.reduce((most, { doc, s }) => Math.max(most, distances[s][doc]), -Infinity),
    -pool.reduce((least, { doc, s }) => Math.min(least, distances[s][doc]), Infinity)
  )
  for (const { doc, s, score } of pool)
    fused[s][doc] = Math.fround(
      (score === undefined ? 0 : share * words(score)) + vector.alpha * nearness(-distances[s][doc])
    )
  return { fused, distances }
}
