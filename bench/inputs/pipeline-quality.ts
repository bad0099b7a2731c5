/**
 * The effect of rerank and diversity on the first ten hits: nDCG on judged queries, number of different brands, and
 * distance within the list.
 */
import { mean, scoreOf, type Judgments } from "../../engine-sdk/src/judging/mod.ts"

export interface Listed {
  readonly id: string
  readonly brand: string
  readonly vector: Float32Array | undefined
}
export interface Quality {
  readonly ndcg: number
  readonly distinct_brands: number
  readonly intra_list_distance: number
}
const shown = 10

/** Means over the lists. nDCG covers only lists whose query has a relevant document. */
export const qualityOf = (
  lists: ReadonlyArray<{ readonly hits: ReadonlyArray<Listed>; readonly judgments: Judgments }>
): Quality => ({
  ndcg: mean(
    lists.flatMap(
      ({ hits, judgments }) =>
        scoreOf(
          hits.map(({ id }) => id),
          judgments
        )?.ndcg10 ?? []
    )
  ),
  distinct_brands: mean(lists.map(({ hits }) => new Set(hits.slice(0, shown).map(({ brand }) => brand)).size)),
  intra_list_distance: mean(
    lists.map(({ hits }) => distanceWithin(hits.slice(0, shown).flatMap(({ vector }) => vector ?? [])))
  )
})
/** Mean of 1 − cosine over all pairs; vectors have length 1. */
const distanceWithin = (vectors: ReadonlyArray<Float32Array>): number =>
  mean(vectors.flatMap((a, i) => vectors.slice(i + 1).map((b) => 1 - a.reduce((sum, part, d) => sum + part * b[d], 0))))
