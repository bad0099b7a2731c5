/**
 * Question: what does a vector of a text cost, how long does a catalogue take while the program serves, and how are
 * searches and queries affected? Workload: the embedded model in this process. Short texts one by one (each a
 * request) and many together; texts of 100 words; 20,000 generated products (title, brand, category and attributes)
 * as one import of another organization. Meanwhile a program started as its users start it answers searches at a
 * fixed rate, compared with that rate alone, and short queries are embedded ten times a second. Memory: this process.
 */
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { generateCatalog, productSchema } from "../../fixtures/catalog/generate.ts"
import { findInstalled, placesOf } from "../../src/models/install/places.ts"
import { readPinned } from "../../src/models/install/pinned.ts"
import { layerMiniLm } from "../../src/ports/text-embedder/minilm/model.ts"
import { MODEL_NAME } from "../../src/ports/text-embedder/minilm/layout.ts"
import { type EmbedRequest, TextEmbedder } from "../../src/ports/text-embedder/text-embedder.ts"
import { machine, percentiles, report, round, rssMb } from "../harness/harness.ts"
import { requestBytes, runLoad, type RunningProgram, startServer } from "../harness/program.ts"

export interface EmbeddingsOptions {
  readonly products: number
  readonly seconds: number
  readonly rate: number
  readonly isPortable: boolean
  readonly seed: number
  readonly out: string | undefined
}
/** The reason why it cannot run here. */
export const embeddingsMissing = (): string | undefined =>
  findInstalled(placesOf("", undefined), readPinned()) === undefined
    ? "the models are not installed (`dowser models install`)"
    : undefined

type Embed = (texts: ReadonlyArray<string>, more?: Partial<EmbedRequest>) => Promise<void>
const processorMs = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1_000
}
const measured = async (texts: number, run: () => Promise<void>) => {
  const began = performance.now(),
    before = processorMs()
  await run()
  const ms = performance.now() - began
  return {
    texts_per_s: round((1_000 * texts) / ms, 1),
    ms_per_text: round(ms / texts, 2),
    processor_ms_per_text: round((processorMs() - before) / texts, 2)
  }
}
const pause = (ms: number) => new Promise((settle) => setTimeout(settle, ms))

/** This many different texts, so that none is cached. */
const SHORT = 400,
  LONG = 60
const costs = async (embed: Embed, titles: ReadonlyArray<string>, texts: ReadonlyArray<string>) => {
  const words = texts.join(" ").split(/\s+/)
  const long = Array.from({ length: 2 * LONG }, (_, i) => words.slice(100 * i, 100 * (i + 1)).join(" "))
  const short = titles.map((title) => title.split(/\s+/).slice(0, 4).join(" "))
  const each = async (some: ReadonlyArray<string>) => {
    for (const text of some) await embed([text], { priority: "query" })
  }
  return {
    short_alone: await measured(SHORT, () => each(short.slice(0, SHORT))),
    short_together: await measured(SHORT, () => embed(short.slice(SHORT, 2 * SHORT))),
    words_100_alone: await measured(LONG, () => each(long.slice(0, LONG))),
    words_100_together: await measured(LONG, () => embed(long.slice(LONG)))
  }
}

/** Embeds a new query ten times a second until the import is over. */
const queriesBeside = async (embed: Embed, isOver: () => boolean): Promise<ReadonlyArray<number>> => {
  const took: Array<number> = []
  for (let i = 0; !isOver(); i++) {
    const began = performance.now()
    await embed([`lamp for reading number ${i}`], { priority: "query", organizationId: "org_b" })
    took.push(performance.now() - began)
    await pause(100)
  }
  return took
}
const fill = async ({ full_key, port }: RunningProgram, lines: ReadonlyArray<string>): Promise<void> => {
  const send = (path: string, body: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers: { "x-svc-api-key": full_key }, body })
  await (await send("/v1/collections", JSON.stringify(productSchema("products")))).text()
  for (let from = 0; from < lines.length; from += 5_000)
    await (await send("/v1/collections/products/documents/import", lines.slice(from, from + 5_000).join("\n"))).text()
}
const beside = async (embed: Embed, options: EmbeddingsOptions, catalogue: ReadonlyArray<Product>) => {
  const server = await startServer()
  try {
    await fill(
      server,
      catalogue.map(({ line }) => line)
    )
    const requests = catalogue.slice(0, 1_000).map(({ title }) => {
      const path = `/v1/collections/products/documents/search?query_by=title,brand&q=${encodeURIComponent(title)}`
      return requestBytes("GET", path, server.search_key, undefined)
    })
    const { rate, seconds } = options
    const load = { host: "127.0.0.1", port: server.port, requests, unique: false, connections: 8, seconds, rate }
    await runLoad({ ...load, seconds: 1 })
    const quiet = await runLoad(load)
    let isOver = false
    const began = performance.now(),
      before = processorMs()
    const texts = catalogue.map(({ text }) => text)
    const imported = embed(texts.slice(0, 9_000)).then(async () => {
      for (let from = 9_000; from < texts.length; from += 9_000) await embed(texts.slice(from, from + 9_000))
      isOver = true
    })
    const queries = queriesBeside(embed, () => isOver)
    const busy = await runLoad(load)
    await imported
    const took_s = (performance.now() - began) / 1_000
    return {
      products_s: round(took_s, 1),
      products_per_s: round(texts.length / took_s, 1),
      processor_ms_per_product: round((processorMs() - before) / texts.length, 2),
      query_beside: percentiles([...(await queries)]),
      searches_per_s: rate,
      searches_quiet: percentiles([...quiet.latencies_ms]),
      searches_beside: percentiles([...busy.latencies_ms])
    }
  } finally {
    await server.stop()
  }
}

interface Product {
  readonly title: string
  readonly line: string
  readonly text: string
}
const catalogueOf = ({ products, seed }: EmbeddingsOptions): ReadonlyArray<Product> =>
  Array.from(generateCatalog({ seed, products }), (product) => {
    const { attributes, brand, category, title } = product
    return { title, line: JSON.stringify(product), text: [title, brand, category, attributes].flat().join(" ") }
  })

export const benchEmbeddings = async (options: EmbeddingsOptions): Promise<void> => {
  const folder = findInstalled(placesOf("", undefined), readPinned())
  if (folder === undefined) throw new Error(embeddingsMissing())
  const scope = Scope.makeUnsafe()
  const rss_before = rssMb(process.pid)
  const layer = layerMiniLm({
    installed: () => ({ state: "installed", folder }),
    isPortable: options.isPortable
  })
  const services = await Effect.runPromise(Layer.buildWithScope(layer, scope))
  const embedder = Context.get(services, TextEmbedder)
  const embed: Embed = async (texts, more = {}) => {
    await Effect.runPromise(
      embedder.embed({ model: MODEL_NAME, texts, priority: "document", organizationId: "org_a", ...more })
    )
  }
  try {
    const began = performance.now()
    await embed(["the first text"], { priority: "query" })
    const load_ms = round(performance.now() - began, 0)
    const catalogue = catalogueOf({ ...options, products: Math.max(options.products, 2_000) })
    const rss_loaded = rssMb(process.pid)
    const own = await costs(
      embed,
      catalogue.map(({ title }) => title),
      catalogue.map(({ text }) => text)
    )
    const rss_worked = rssMb(process.pid)
    const characters = catalogue.reduce((sum, { text }) => sum + text.length, 0) / catalogue.length
    const products = options.products === 0 ? {} : await beside(embed, options, catalogue.slice(0, options.products))
    report(
      `embeddings: ${MODEL_NAME}, ${options.isPortable ? "portable" : "native"}`,
      {
        rss_loaded_mb: rss_loaded - rss_before,
        rss_worked_mb: rss_worked - rss_before,
        load_ms,
        ...own,
        characters_per_product: round(characters, 0),
        ...products,
        machine: machine()
      },
      options.out
    )
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
