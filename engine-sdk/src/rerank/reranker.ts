/**
 * The interface of a model that scores hits again, and the one that does nothing. A reranker writes scores as it gets
 * them, so that what was scored in time counts even when the rest was not (`rerank-stage.ts` makes the order of it).
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
  /** May throw or reject: what was scored until then is kept only when time ran out, not when it failed. */
  score(input: RerankInput): Awaitable<void>
}
/**
 * Keeps the engine's order: the honest baseline beside every other.
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
