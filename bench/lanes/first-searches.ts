/**
 * Question: after a start and after a merge, what does the first search of each kind cost that reads something besides
 * the index? Workload: generated products, facets with a value for most products and for each, relevance, a sort and a
 * range. One search at a time runs in a fresh process whose collection was opened by a search for everything: once as
 * it is (`cold`), once after the service's own warm-up (`practised`), and once with its code compiled on a small
 * collection. The same follows after an import of a quarter more that ends in one segment. Excluded: HTTP.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { generateCatalog } from "../../fixtures/catalog/generate.ts"
import { openEngine } from "../../engine-sdk/src/mod.ts"
import { prepareSearch, Reach, readSearch, runSearch } from "../../engine-sdk/src/operations/mod.ts"
import { machine, report } from "../harness/harness.ts"
import { runtimeCommand } from "../harness/program.ts"
import { Texts } from "../inputs/texts.ts"
import { contextOver, filled } from "../inputs/filled.ts"
import type { FirstSearchesJob } from "../probes/first-searches-probe.ts"

export interface FirstSearchesOptions {
  readonly products: number
  readonly seed: number
  readonly workers: number
  readonly out: string | undefined
}
const COLLECTION = "products"
const schemaOf = (name: string) => ({
  name,
  fields: [
    { name: "title", type: "string" },
    { name: "brand", type: "string", facet: true },
    { name: "price", type: "float" },
    { name: "sku", type: "string", facet: true },
    { name: "model", type: "string", facet: true }
  ]
})
const SMALL = "small",
  SMALL_PRODUCTS = 2_000
const RELEVANCE = { q: "red cotton shirt", query_by: "title,brand", ranking: "relevance", per_page: 10 }
const SEARCHES = {
  facet: { q: "*", facet_by: "model", per_page: 1 },
  facet_of_a_query: { q: "red", query_by: "title", facet_by: "model,brand", per_page: 1 },
  facet_among_equals: { q: "*", facet_by: "sku", per_page: 1 },
  relevance: RELEVANCE,
  sort: { q: "*", sort_by: "price:asc", per_page: 10 },
  range: { q: "*", filter_by: "price:[20..60]", per_page: 10 }
}

const run = async (job: FirstSearchesJob): Promise<Readonly<Record<string, unknown>>> => {
  const [command, ...flags] = runtimeCommand()
  const path = fileURLToPath(new URL("../probes/first-searches-probe.ts", import.meta.url))
  const child = spawn(command!, [...flags, path], { stdio: ["pipe", "pipe", "inherit"] })
  const chunks: Array<Buffer> = []
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk))
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
  child.stdin.end(JSON.stringify(job))
  const code = await ended
  if (code !== 0) throw new Error(`The probe ended with ${code}.`)
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as Readonly<Record<string, unknown>>
}
/**
 * A unique value for each document, and one shared by as many documents as its number, so that no facet is cut off
 * between equal counts.
 */
const namesOf = (at: number) => ({
  sku: `sku-${(at * 7_919) % 100_000_007}`,
  model: at % 8 === 0 ? `m${Math.floor(Math.sqrt(at / 8))}` : `m${(at * 7_919) % 100_000_007}`
})
const linesOf = function* (options: FirstSearchesOptions, from: number, to: number): Generator<string> {
  let at = 0
  for (const { brand, price, title } of generateCatalog({ seed: options.seed, products: to })) {
    if (at >= from) yield JSON.stringify({ id: `p${at}`, title, brand, price, ...namesOf(at) })
    at++
  }
}
const MERGED_POLL_MS = 50
/** Fills an index at `path`, searches it by relevance once, waits until it is merged, and closes it. */
const prepared = async (path: string, options: FirstSearchesOptions): Promise<void> => {
  const engine = await openEngine({ path, worker: true }),
    context = contextOver(engine)
  for (const [name, count] of [
    [SMALL, SMALL_PRODUCTS],
    [COLLECTION, options.products]
  ] as const)
    await filled(context, {
      schema: schemaOf(name),
      documents: Texts.of(linesOf(options, 0, count)),
      queries: [],
      warm: []
    })
  const reach = new Reach(context, {})
  const read = readSearch(context, COLLECTION, RELEVANCE, reach.restrictions)
  const planned = read.ok ? await prepareSearch(context, read.value, reach) : read
  if (!planned.ok) throw new Error(planned.error.message)
  await runSearch(context, planned.value)
  while (engine.usage(context.namespace, COLLECTION)!.segments > 1)
    await new Promise((resolve) => setTimeout(resolve, MERGED_POLL_MS))
  await engine.close()
}
export const benchFirstSearches = async (options: FirstSearchesOptions): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-bench-"))
  try {
    const path = join(folder, "engine")
    await prepared(path, options)
    const more = [...linesOf(options, options.products, Math.ceil(options.products * 1.25))]
    const job = { path, collection: COLLECTION, workers: options.workers, searches: SEARCHES }
    const cold = await run({ ...job, practised: false, small: undefined, more: [] }),
      practised = await run({ ...job, practised: true, small: undefined, more: [] }),
      compiled = await run({ ...job, practised: false, small: SMALL, more })
    const figures = { machine: machine(), products: options.products, cold, practised, compiled }
    report("first searches", figures, options.out)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
