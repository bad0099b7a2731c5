/**
 * Question: what does one search for a word that most documents contain cost per match, and how much of that is its
 * facets? The same search runs with and without facets in turn; the figures are medians.
 */
import { performance } from "node:perf_hooks"
import { round } from "../harness/harness.ts"

const ROUNDS = 31,
  ROUNDS_WARM = 10

const median = (values: ReadonlyArray<number>): number => [...values].sort((a, b) => a - b)[values.length >> 1]

export const measureCommonWord = async (
  run: (parameters: Record<string, unknown>) => Promise<string>,
  query: Record<string, unknown>
): Promise<Readonly<Record<string, number>>> => {
  const { facet_by, ...plain } = query
  const facets = String(facet_by).split(",").length
  const variants = [query, plain]
  const times = variants.map(() => [] as number[])
  let found = 0
  for (let round = 0; round < ROUNDS + ROUNDS_WARM; round++)
    for (const [i, parameters] of variants.entries()) {
      const at = performance.now()
      const text = await run(parameters)
      if (round >= ROUNDS_WARM) times[i].push(performance.now() - at)
      found = (JSON.parse(text) as { readonly found: number }).found
    }
  const [withFacets, without] = times.map(median)
  const perMatch = (ms: number): number => round((ms * 1e6) / Math.max(1, found), 1)
  return {
    found,
    ms: round(withFacets),
    ns_a_match: perMatch(withFacets),
    ns_a_match_and_facet: perMatch(Math.max(0, withFacets - without) / facets)
  }
}
