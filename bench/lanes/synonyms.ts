/**
 * Question: how many of the synonyms that visitors use are found, how many of the suggested ones are wrong, and what
 * does it cost? Workload: a generated catalogue and visitors with planted words (`fixtures/events/synonyms.ts`), in
 * this process, as the job's thread does it. The figures are the means of three seeds. The planted words are
 * generated: real visitors are less regular.
 */
import { generateCatalog } from "../../fixtures/catalog/generate.ts"
import { generateSynonymVisitors } from "../../fixtures/events/synonyms.ts"
import { Reformulations } from "../../src/synonym-suggestions/finding/reformulations.ts"
import { suggestionsOf } from "../../src/synonym-suggestions/finding/suggest.ts"
import { TermTexts } from "../../src/synonym-suggestions/finding/term-vectors.ts"
import { machine, report, round } from "../harness/harness.ts"

export interface SynonymsOptions {
  readonly products: number
  readonly sessions: number
  readonly planted: number
  readonly seed: number
  readonly out: string | undefined
}
const SEEDS = 3
const SPAN_MS = 30 * 86_400_000

const measured = (options: SynonymsOptions, seed: number) => {
  const products = [...generateCatalog({ seed: options.seed, products: options.products })]
  const { planted, searches } = generateSynonymVisitors(products, {
    seed,
    sessions: options.sessions,
    planted: options.planted,
    from: 0,
    to: SPAN_MS
  })
  const asked = [...searches()]
  const began = process.cpuUsage()
  const seen = new Reformulations()
  for (const search of asked) seen.add(search)
  const texts = new TermTexts()
  for (const { description, title } of products) texts.add([title, description])
  for (const { q } of seen.queries) texts.add([q])
  const suggestions = suggestionsOf(seen.queries, seen.pairs, texts.vectors())
  const { system, user } = process.cpuUsage(began)
  const pairs = suggestions.flatMap(({ synonyms, term }) => synonyms.map((synonym) => [term, synonym] as const))
  const right = pairs.filter(([term, synonym]) => planted.get(term) === synonym).length
  return {
    precision: right / Math.max(1, pairs.length),
    recall: right / planted.size,
    queries: seen.queries.length,
    suggestions: pairs.length,
    processor_s: (system + user) / 1e6
  }
}

export const benchSynonyms = async (options: SynonymsOptions): Promise<void> => {
  const runs = Array.from({ length: SEEDS }, (_, i) => measured(options, options.seed + i))
  const mean = (of: (run: (typeof runs)[number]) => number) => runs.reduce((sum, run) => sum + of(run), 0) / runs.length
  report(
    `synonyms: ${options.planted} planted, ${options.sessions} visitors, ${options.products} products`,
    {
      precision: round(
        mean((run) => run.precision),
        3
      ),
      recall: round(
        mean((run) => run.recall),
        3
      ),
      least_precision: round(Math.min(...runs.map((run) => run.precision)), 3),
      queries: round(
        mean((run) => run.queries),
        0
      ),
      suggestions: round(
        mean((run) => run.suggestions),
        1
      ),
      processor_s: round(
        mean((run) => run.processor_s),
        2
      ),
      machine: machine()
    },
    options.out
  )
  return Promise.resolve()
}
