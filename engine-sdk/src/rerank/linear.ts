/**
 * A weighted sum of hit features: the reranker that needs no other process. `train-linear.ts` learns the weights from
 * clicks.
 */
import { featuresOf, type FeatureTable } from "./features.ts"
import type { Reranker } from "./reranker.ts"

/** Plain JSON. */
export interface LinearModel {
  /** By feature name. The weight of `coverage:*` is shared evenly by all fields that have no weight of their own. */
  readonly weights: Readonly<Record<string, number>>
}
/**
 * Weights for a shop that has no clicks yet: the engine's order, adjusted by how much of the query the named fields
 * contain. Decision: they are small compared with the rank's, so that an untrained model only corrects the engine.
 *
 * @example
 * ```ts
 * import { untrainedModel } from "@dowser/engine-sdk/rerank"
 *
 * const model = { weights: { ...untrainedModel.weights, text_match: 1 } }
 * ```
 */
export const untrainedModel: LinearModel = {
  weights: {
    rank: 1,
    discount: 0.7,
    text_match: 0.2,
    words_matched: 0.2,
    "coverage:*": 0.4,
    "prefix:*": 0.1,
    "adjacent:*": 0.2,
    "start:*": 0.05
  }
}

const HELD_US = 25_000
/**
 * Scores hits by weighted features, with the weights of a trained model or the default ones.
 *
 * @example
 * ```ts
 * import { createSearch } from "@dowser/engine-sdk"
 * import { linearReranker } from "@dowser/engine-sdk/rerank"
 *
 * const products = createSearch({
 *   rerankers: { clicks: linearReranker({ weights: { rank: 1, "coverage:*": 2 } }) },
 *   rules: { rerank: { enabled: true, model: "clicks", fields: ["title"] } }
 * })
 * ```
 */
export const linearReranker = (model: LinearModel = untrainedModel): Reranker => ({
  name: "linear",
  score: ({ candidates, fields, context, scores }) => {
    // Scoring blocks the thread, so it is limited no matter how much time the rules allow.
    const started_us = context.now_us()
    const isLate = (): boolean => context.timeLeft_ms() <= 0 || context.now_us() - started_us > HELD_US
    const table = featuresOf(candidates, context.request.words, fields, isLate)
    if (isLate()) return
    sumInto(scores, table, weightsOf(model, table.names))
  }
})
/**
 * The score of each row. O(rows · features).
 *
 * @example
 * ```ts
 * import { linearScores } from "@dowser/engine-sdk/rerank"
 *
 * const features = { names: ["rank", "coverage:title"], values: new Float64Array([1, 0, 0.5, 1]), rows: 2 }
 * linearScores({ weights: { "coverage:title": 1 } }, features) // one score a row
 * ```
 */
export const linearScores = (model: LinearModel, table: FeatureTable): Float64Array => {
  const scores = new Float64Array(table.rows)
  sumInto(scores, table, weightsOf(model, table.names))
  return scores
}
export const weightsOf = ({ weights }: LinearModel, names: ReadonlyArray<string>): ReadonlyArray<number> => {
  const kindOf = (name: string): string => `${name.slice(0, name.indexOf(":"))}:*`
  const sharing = new Map<string, number>()
  const own = (name: string): number | undefined => (Object.hasOwn(weights, name) ? weights[name] : undefined)
  for (const name of names) if (own(name) === undefined) sharing.set(kindOf(name), (sharing.get(kindOf(name)) ?? 0) + 1)
  return names.map((name) => own(name) ?? (own(kindOf(name)) ?? 0) / sharing.get(kindOf(name))!)
}
const sumInto = (scores: Float64Array, { names, values, rows }: FeatureTable, weights: ReadonlyArray<number>): void => {
  for (let i = 0, at = 0; i < rows; i++) {
    let sum = 0
    for (let f = 0; f < names.length; f++, at++) sum += weights[f] * values[at]
    scores[i] = sum
  }
}
