/**
 * Question: what does a search cost whose query is understood, corrected and rewritten, and how often is that right?
 * Workload: generated queries over a generated catalogue, in process. Plain and mistyped queries are searched with
 * and without corrections, alternately; the additions to the response are computed and timed separately. Rewriting:
 * three hundred words typed on other layouts, timed from the response without hits to the one with hits. Shares are
 * those of the tests (`bench/inputs/understanding.ts`). Machine and sizes are printed first.
 */
import { generateQueries } from "../../fixtures/queries/generate.ts"
import { machine, percentiles, report, round } from "../harness/harness.ts"
import {
  catalogueProducts,
  correctionShares,
  entityShares,
  type Lab,
  namingQueries,
  openCatalogue,
  openWords,
  productValues,
  rewriteShare,
  transliterated,
  typedOnLayouts
} from "../inputs/understanding.ts"

export interface UnderstandingOptions {
  readonly queryCount: number
  readonly out: string | undefined
}
const QUERY_BY = "title,brand,category,attributes"
const WARM = 500

const microseconds = (values: Array<number>) => {
  const { p50_ms, p99_ms } = percentiles(values)
  return { p50: round(1_000 * p50_ms, 1), p99: round(1_000 * p99_ms, 1) }
}
const timed = async <A>(run: () => A | Promise<A>): Promise<readonly [A, number]> => {
  const from = performance.now()
  const made = run()
  const value = made instanceof Promise ? await made : made
  return [value, performance.now() - from]
}

/** The time to compute the additions to a response, and the median slowdown of a search with corrections. */
const beyond = async (lab: Lab, queries: ReadonlyArray<string>) => {
  const made: Array<number> = [],
    withCorrections: Array<number> = [],
    without: Array<number> = []
  for (const [i, q] of [...queries.slice(0, WARM), ...queries].entries()) {
    const asked = { q, query_by: QUERY_BY }
    // The second variant finds its data in the processor's caches, so they take turns.
    const first = await timed(() => lab.ask(asked, i % 2 === 0))
    const second = await timed(() => lab.ask(asked, i % 2 === 1))
    const [[answered, with_ms], [, without_ms]] = i % 2 === 0 ? [first, second] : [second, first]
    const [, made_ms] = await timed(() => lab.understand({ ...answered, typed: q, tried: [] }))
    if (i < WARM) continue
    made.push(made_ms)
    withCorrections.push(with_ms)
    without.push(without_ms)
  }
  const slower_us = round(1_000 * (percentiles(withCorrections).p50_ms - percentiles(without).p50_ms), 1)
  const own = microseconds(made)
  return { ...own, search_with_corrections_slower_by: slower_us }
}
const rewriting = async (lab: Lab) => {
  const took: Array<number> = []
  for (const { q } of typedOnLayouts()) {
    const asked = { q, query_by: "title" }
    const [plain, plain_ms] = await timed(() => lab.ask(asked))
    if (plain.found.answer.found > 0) continue
    const [, whole_ms] = await timed(() => lab.rewrite({ ...asked, query_rewrite: "layout,translit,split" }))
    took.push(Math.max(0, whole_ms - plain_ms))
  }
  return microseconds(took)
}
const share = ({ right, tried }: { readonly right: number; readonly tried: number }) => round(right / tried, 4)

export const benchUnderstanding = async ({ out, queryCount }: UnderstandingOptions): Promise<void> => {
  const products = catalogueProducts()
  const catalogue = await openCatalogue(products)
  const words = await openWords()
  const generated = (typoShare: number) =>
    [...generateQueries(products, { seed: 3, queries: queryCount, typoShare, prefixShare: 0, filterShare: 0 })].map(
      ({ q }) => q
    )
  const plain = await beyond(catalogue, generated(0))
  const corrected = await beyond(catalogue, generated(1))
  const { clean, mistyped } = await correctionShares(catalogue, products, queryCount)
  const named = await entityShares(catalogue, namingQueries(productValues(products), queryCount))
  const [layout, translit] = [await rewriteShare(words, typedOnLayouts()), await rewriteShare(words, transliterated())]
  const rewritten = await rewriting(words)
  const { bytes, size } = await catalogue.entityIndex()
  report(
    "understanding",
    {
      machine: machine(),
      values: size,
      bytes_per_value: Math.round(bytes / size),
      beyond_us: { plain, corrected, rewritten },
      shares: {
        layout: share(layout),
        translit: share(translit),
        corrected: share(mistyped),
        clean: share(clean),
        entity_precision: round(named.precision, 4),
        entity_recall: round(named.recall, 4)
      }
    },
    out
  )
  await catalogue.close()
  await words.close()
}
