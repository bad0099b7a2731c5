/**
 * The interface of a model that scores hits again, and one that changes nothing. A reranker writes scores as it obtains
 * them, so that scores written in time are used even if others are missing (`rerank-stage.ts` sorts by them).
 */
import type { Awaitable } from "../engine.ts"
import type { Candidate, StageContext } from "../stage/stage.ts"

export interface RerankInput {
  readonly candidates: ReadonlyArray<Candidate>
  /** Text and number fields that the rules name. */ readonly fields: ReadonlyArray<string>
  readonly context: StageContext
  /** One cell per candidate, NaN until `scores[i]` is written. Higher is better. */ readonly scores: Float64Array
}
export interface Reranker {
  readonly name: string
  /** May throw or reject. Scores written by then are used only if time ran out, not if it failed. */
  score(input: RerankInput): Awaitable<void>
}
/**
 * Keeps the engine's order: the baseline for comparison with other rerankers.
 *
 * @example
 * ```ts
 * import { createSearch } from "@dowser/engine-sdk"
 * import { noneReranker } from "@dowser/engine-sdk/rerank"
 *
 * const products = createSearch({ rerankers: { baseline: noneReranker } })
 * ```
 */
export const noneReranker: Reranker = {
  name: "none",
  score: ({ scores }) => {
    for (let i = 0; i < scores.length; i++) scores[i] = -i
  }
}
