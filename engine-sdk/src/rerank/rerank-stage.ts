/**
 * Reranking as a stage: the first `top_k` candidates are scored, and those that were scored in time are reordered among
 * their positions. All others stay where they were.
 */
import type { Candidate, Stage, StageContext } from "../stage/stage.ts"
import { StageLate } from "../stage/stage.ts"
import type { RerankSettings } from "../rules/rule-set.ts"
import type { Reranker } from "./reranker.ts"

/**
 * `settings.fallback` applies if the model fails, or if time runs out before anything was scored.
 *
 * @example
 * ```ts
 * import { createSearch } from "@dowser/engine-sdk"
 * import { linearReranker, rerankStage } from "@dowser/engine-sdk/rerank"
 * import { defaultRerank } from "@dowser/engine-sdk/rules"
 *
 * const stage = rerankStage({ ...defaultRerank, enabled: true, fields: ["title"] }, linearReranker())
 * const products = createSearch({ stages: [stage] })
 * ```
 */
export const rerankStage = (settings: RerankSettings, reranker: Reranker | undefined): Stage => ({
  name: "rerank",
  budget_ms: settings.timeout_ms,
  fallback: settings.fallback === "error" ? "error" : "keep_order",
  fields: settings.fields,
  run: (candidates, context) => {
    if (candidates.length < settings.min_hits) {
      context.skip(`${candidates.length} hits, fewer than min_hits`)
      return candidates
    }
    if (reranker === undefined) throw new Error(`no model \`${settings.model}\``)
    const top = candidates.slice(0, settings.top_k)
    const scores = new Float64Array(top.length).fill(NaN)
    const scoring = reranker.score({ candidates: top, fields: settings.fields, context, scores })
    if (!(scoring instanceof Promise)) return reordered(candidates, scores, context)
    return untilAborted(scoring, context.signal).then(() => reordered(candidates, scores, context))
  }
})

/** Settles with the promise, or when the signal aborts, whichever comes first. */
const untilAborted = (promise: Promise<void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    promise.then(resolve, reject)
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })

/**
 * Fills the positions of scored candidates with these, best first; equal scores keep their order. O(candidates · log
 * candidates).
 */
const reordered = (
  candidates: ReadonlyArray<Candidate>,
  scores: Float64Array,
  context: StageContext
): ReadonlyArray<Candidate> => {
  const scored: number[] = []
  scores.forEach((score, i) => {
    if (!Number.isNaN(score)) scored.push(i)
  })
  if (scored.length === 0 && scores.length > 0) throw new StageLate("nothing was scored in time")
  if (scored.length < scores.length) context.note(`${scored.length} of ${scores.length} were scored in time`)
  if (context.scored !== undefined) for (const i of scored) context.scored(candidates[i].id, "rerank", scores[i])
  const best = [...scored].sort((a, b) => scores[b] - scores[a] || a - b)
  const order = candidates.slice()
  best.forEach((from, n) => {
    const to = scored[n]
    order[to] = candidates[from]
    if (from !== to) context.moved?.(candidates[from].id, from, to, `score ${scores[from].toFixed(4)}`)
  })
  return order
}
