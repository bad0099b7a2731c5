/** Rewrites a query so that words matched through typos are spelled as they are indexed. Pure. */
import type { Analyzer } from "../analysis/mod.ts"
import type { WordCorrection } from "../plan.ts"

/**
 * `analyzer`: splits the query into words. Text between the words is kept. undefined if none of the words is in the
 * query, because a synonym was matched or a rule replaced it. O(query).
 *
 * @example
 * ```ts
 * import { createAnalyzer } from "@dowser/engine-sdk/analysis"
 * import { correctedQuery } from "@dowser/engine-sdk/understanding"
 *
 * const corrections = [{ typed: "hedphones", indexed: "headphones" }]
 * correctedQuery("Black hedphones", corrections, createAnalyzer({}))
 * ```
 */
export const correctedQuery = (
  q: string,
  corrections: ReadonlyArray<WordCorrection>,
  analyzer: Analyzer
): string | undefined => {
  if (corrections.length === 0) return undefined
  const indexed = new Map(corrections.map((each) => [each.typed, each.indexed]))
  let corrected = "",
    at = 0
  for (const { end, start, token } of analyzer.unstemmed.tokenizeWithOffsets(q)) {
    const word = indexed.get(token)
    if (word === undefined || start < at) continue
    corrected += q.slice(at, start) + word
    at = end
  }
  return at === 0 ? undefined : (corrected + q.slice(at)).trim().replace(/\s+/gu, " ")
}
