/**
 * Measures of a ranked list against judgments: nDCG@10 with exponential gain, reciprocal rank, recall@100, the share of
 * the first ten that was judged, and the paired bootstrap that tells whether a difference is more than chance (Efron;
 * Järvelin & Kekäläinen for nDCG).
 */

/** Grade by document id; above 0 is relevant. */
export type Judgments = ReadonlyMap<string, number>
export interface QueryScore {
  readonly ndcg10: number
  readonly mrr: number
  readonly recall100: number
  /** Share of the first ten hits that have a judgment, even one of 0; 0 if nothing was found. */
  readonly judged10: number
}

const gain = (grade: number) => 2 ** grade - 1
const discounted = (grades: ReadonlyArray<number>) =>
  grades.slice(0, 10).reduce((sum, grade, i) => sum + gain(grade) / Math.log2(i + 2), 0)

/**
 * `ranked`: document ids, best first. undefined if nothing is relevant, because such a query is not informative.
 * O(ranked + judgments · log judgments).
 *
 * @example
 * ```ts
 * import { scoreOf } from "@dowser/engine-sdk/judging"
 *
 * const score = scoreOf(["p1", "p2"], new Map([["p2", 3]]))
 * score?.mrr // 0.5
 * ```
 */
export const scoreOf = (ranked: ReadonlyArray<string>, judgments: Judgments): QueryScore | undefined => {
  const relevant = [...judgments.values()].filter((grade) => grade > 0).sort((a, b) => b - a)
  if (relevant.length === 0) return undefined
  const grades = ranked.map((id) => judgments.get(id) ?? 0)
  const first = grades.findIndex((grade) => grade > 0)
  const shown = ranked.slice(0, 10)
  return {
    ndcg10: discounted(grades) / discounted(relevant),
    mrr: first < 0 ? 0 : 1 / (first + 1),
    recall100: grades.slice(0, 100).filter((grade) => grade > 0).length / relevant.length,
    judged10: shown.length === 0 ? 0 : shown.filter((id) => judgments.has(id)).length / shown.length
  }
}

/**
 * The mean of values; 0 if there are none.
 *
 * @example
 * ```ts
 * import { mean } from "@dowser/engine-sdk/judging"
 *
 * mean([0.4, 0.6]) // 0.5
 * ```
 */
export const mean = (values: ReadonlyArray<number>): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * Mean difference `a − b` over the same queries with its 95 % interval, by resampling queries. `below(n)` returns a
 * random integer from 0 to n − 1. O(rounds · queries).
 *
 * @example
 * ```ts
 * import { pairedBootstrap } from "@dowser/engine-sdk/judging"
 *
 * const { difference, high, low } = pairedBootstrap([0.5, 0.7], [0.4, 0.5], (n) => Math.floor(Math.random() * n))
 * low > 0 // then the first ranking is better
 * ```
 */
export const pairedBootstrap = (
  a: ReadonlyArray<number>,
  b: ReadonlyArray<number>,
  below: (n: number) => number,
  rounds = 10_000
): { readonly difference: number; readonly low: number; readonly high: number } => {
  const differences = a.map((value, i) => value - b[i])
  if (differences.length === 0) return { difference: 0, low: 0, high: 0 }
  const means = new Float64Array(rounds)
  for (let round = 0; round < rounds; round++) {
    let sum = 0
    for (let i = 0; i < differences.length; i++) sum += differences[below(differences.length)]
    means[round] = sum / differences.length
  }
  means.sort()
  return {
    difference: mean(differences),
    low: means[Math.floor(0.025 * rounds)],
    high: means[Math.floor(0.975 * rounds)]
  }
}
