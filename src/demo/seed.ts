/**
 * Fills the demo shop: a generated catalogue through the import operation, a few search rules, and a day of visitors
 * through the public events API. Running it again after an interruption does not change existing data.
 */
import {
  createCollection,
  importDocuments,
  type OperationContext,
  resolveCollection
} from "@dowser/engine-sdk/operations"
import { Clock, Effect } from "effect"
import { generateCatalog, type Product, productSchema } from "../../fixtures/catalog/generate.ts"
import { generateVisitors } from "../../fixtures/events/generate.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { Events } from "../events/intake/service.ts"
import { Ingest } from "../ingest/ingest.ts"
import { SearchRules } from "../rules/search-rules.ts"

interface SeedOptions {
  readonly organizationId: string
  readonly collection: string
  readonly products: number
  /** Called often, with `done` of `total` for the named part. */ readonly report: (
    part: "products" | "events",
    done: number,
    total: number
  ) => void
}

const SEED = 20_260_101
const DAY_MS = 86_400_000
const SESSIONS_PER_THOUSAND_PRODUCTS = 220
const EVENTS_PER_BATCH = 1_000

/** Chunks of about 64 KB: JSON Lines as an import sends them. */
async function* chunksOf(products: ReadonlyArray<Product>, report: (done: number) => void): AsyncGenerator<Uint8Array> {
  let lines: Array<string> = []
  for (const [i, product] of products.entries()) {
    lines.push(JSON.stringify(product))
    if (lines.length < 128 && i + 1 < products.length) continue
    yield new TextEncoder().encode(`${lines.join("\n")}\n`)
    report(i + 1)
    lines = []
  }
}

const importAll = async (
  context: OperationContext,
  options: SeedOptions,
  products: ReadonlyArray<Product>
): Promise<void> => {
  if (context.engine.describeCollection(context.namespace, options.collection) === undefined) {
    const created = await createCollection(context, JSON.stringify(productSchema(options.collection)))
    if (!created.ok) throw new Error(`The demo collection was refused: ${created.error.message}`)
  }
  const started = importDocuments(
    context,
    options.collection,
    chunksOf(products, (done) => options.report("products", done, products.length)),
    { action: "upsert" }
  )
  if (!started.ok) throw new Error(`The demo import was refused: ${started.error.message}`)
  for await (const text of started.value.lines) {
    const refused = text.split("\n").find((line) => line.includes('"success":false'))
    if (refused !== undefined) throw new Error(`A demo product was refused: ${refused}`)
  }
}

/** Rules as a merchandiser might begin: the best-known headphones first, with a banner. */
const rulesOf = (products: ReadonlyArray<Product>) => {
  const best = products
    .filter(({ stock, title }) => stock > 0 && /headphones/i.test(title))
    .sort((a, b) => b.popularity - a.popularity)[0]
  return {
    pins: best === undefined ? [] : [{ query: "headphones", doc_id: best.id, position: 1 }],
    banners: [
      {
        id: "audio-week",
        query: "headphones",
        match: "partial",
        content: { title: "Audio week", text: "Free returns on everything you can hear." }
      }
    ],
    facet_suggestions: { fields: ["brand"], limit: 5 }
  }
}

const FEED_PRODUCTS = 500
/** Like a supplier's nightly feed: some of the shop's products, as a feed whose job can be observed. */
export const startDemoFeed = Effect.fn("startDemoFeed")(function* (
  organizationId: string,
  collection: string,
  products: number
) {
  const ingest = yield* Ingest
  const documents: Array<Record<string, unknown>> = []
  for (const product of generateCatalog({ seed: SEED, products }))
    if (documents.push({ ...product }) >= FEED_PRODUCTS) break
  yield* ingest.create({ organizationId, collection, name: "Supplier feed", source: "inline", config: { documents } })
})

export const seedDemo = Effect.fn("seedDemo")(function* (options: SeedOptions) {
  const contextOf = yield* makeContexts
  const events = yield* Events
  const products = [...generateCatalog({ seed: SEED, products: options.products })]
  yield* Effect.promise(() => importAll(contextOf(options.organizationId), options, products))
  const rules = yield* SearchRules
  const collection = resolveCollection(contextOf(options.organizationId), options.collection)
  if (collection !== undefined && rules.get(options.organizationId, collection) === undefined) {
    yield* Effect.orDie(
      Effect.flatMap(rules.checked(options.organizationId, collection, rulesOf(products)), (ruleSet) =>
        rules.replace(options.organizationId, collection, ruleSet)
      )
    )
  }
  const now = yield* Clock.currentTimeMillis
  const sessions = Math.ceil((options.products * SESSIONS_PER_THOUSAND_PRODUCTS) / 1000)
  const visitors = [
    ...generateVisitors(products, {
      seed: SEED,
      sessions,
      collection: options.collection,
      from: now - DAY_MS,
      to: now,
      run: "demo"
    })
  ]
  for (let at = 0; at < visitors.length; at += EVENTS_PER_BATCH) {
    const batch = visitors.slice(at, at + EVENTS_PER_BATCH)
    const answer = yield* Effect.orDie(events.ingestEvents(options.organizationId, batch))
    if (answer.rejected.length > 0)
      return yield* Effect.die(new Error(`A demo event was refused: ${answer.rejected[0]!.reason}`))
    options.report("events", Math.min(visitors.length, at + batch.length), visitors.length)
  }
  return { products: products.length, events: visitors.length }
})
