/**
 * Question: does ranking by a visitor's earlier interactions move up the product that they buy, and what does that
 * cost? Workload: a generated catalogue. Each visitor likes two brands, a colour and a price level, makes twenty
 * interactions with the results of some queries, and then searches for something else. What they buy is drawn from the
 * first 250 hits, by the engine's rank and by their taste. The bench prints nDCG@10 of the bought products at each
 * strength, the time of the stage over 250 hits, how much longer the search takes in process than at strength 0, and
 * the bytes of full rows of histories in an embedded Postgres. Excluded: HTTP, and reading the row (measured alone).
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import {
  createCollection,
  importDocuments,
  memoryResources,
  type OperationContext,
  prepareSearch,
  Reach,
  readSearch,
  runSearch
} from "../../engine-sdk/src/operations/mod.ts"
import { generateCatalog, type Product, productSchema } from "../../fixtures/catalog/generate.ts"
import { generateQueries } from "../../fixtures/queries/generate.ts"
import { makeRandom } from "../../fixtures/random.ts"
import { affinityStage } from "../../src/personalization/affinity-stage.ts"
import { tasteFieldsOf } from "../../src/personalization/affinities.ts"
import { Tastes } from "../../src/personalization/tastes.ts"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { packTake, remembered, type Take, type TakeKind, unpackTakes } from "../../streams/figures/history.ts"
import { Takes } from "../../streams/processors/affinities/emitted.ts"
import { writeHistories } from "../../streams/processors/affinities/write.ts"
import { chunksOf, machine, percentiles, report, round } from "../harness/harness.ts"

export interface PersonalizationOptions {
  readonly products: number
  readonly visitors: number
  readonly seed: number
  readonly out: string | undefined
}

const STRENGTHS = [0, 0.1, 0.2, 0.3, 0.5, 0.7] as const
const WINDOW = 250
const TAKEN = 20
const BOUGHT = 3
/** Number of full rows whose bytes are measured. */
const ROWS = 10_000
const PARTS = 20

interface Liking {
  readonly brands: ReadonlySet<string>
  readonly color: string
  /** Natural logarithm of the preferred price. */ readonly price: number
}
/** From 0 to 1: a matching brand contributes half, colour and price the rest. */
const tasteOf = ({ brands, color, price }: Liking, product: Product): number =>
  (brands.has(product.brand) ? 0.5 : 0) +
  (product.color === color ? 0.3 : 0) +
  0.2 * Math.max(0, 1 - Math.abs(Math.log(product.price) - price))

type Random = ReturnType<typeof makeRandom>
/**
 * Draws one of the hits by rank and taste: a perfect match is 55 times as likely as a hit without a match at its rank.
 */
const drawn = (random: Random, liking: Liking, hits: ReadonlyArray<Product>): Product => {
  const weights = hits.map((product, rank) => Math.exp(4 * tasteOf(liking, product)) / Math.log2(rank + 2))
  let left = random.next() * weights.reduce((sum, weight) => sum + weight, 0)
  return hits[weights.findIndex((weight) => (left -= weight) <= 0)] ?? hits[0]
}

const loaded = async (products: ReadonlyArray<Product>): Promise<OperationContext> => {
  const context: OperationContext = {
    engine: createEngine(),
    resources: memoryResources(),
    namespace: "bench",
    now_s: 1,
    limits: { answer_bytes_max: 16_000_000 }
  }
  const made = await createCollection(context, JSON.stringify(productSchema("products")))
  if (!made.ok) throw new Error(made.error.message)
  const lines = products.map((product) => JSON.stringify(product))
  const started = importDocuments(context, "products", chunksOf(lines), {})
  if (!started.ok) throw new Error(started.error.message)
  for await (const line of started.value.lines)
    if (line.includes('"success":false')) throw new Error(`A document was refused: ${line.slice(0, 300)}`)
  return context
}

/** The ids of `hits` results in order, through the same steps as a request, and how long that took (ms). */
const searched = async (
  context: OperationContext,
  q: string,
  hits: number,
  stage: ReturnType<typeof affinityStage> | undefined
) => {
  const began = performance.now()
  const reach = new Reach(context, {})
  const asked = { q, query_by: "title,brand,category", per_page: String(hits), include_fields: "id" }
  const read = readSearch(context, "products", asked, reach.restrictions)
  if (!read.ok) throw new Error(read.error.message)
  const planned = await prepareSearch(context, read.value, reach)
  if (!planned.ok) throw new Error(planned.error.message)
  const merchandise = { rules: undefined, request: { now_ms: 0 }, explain: false }
  const search =
    stage === undefined ? planned.value : { ...planned.value, merchandise: { ...merchandise, stages: [stage] } }
  const found = await runSearch(context, search, { now_us: () => performance.now() * 1_000 })
  if (!found.ok) throw new Error(found.error.message)
  const ids = (found.value.answer.hits ?? []).map(({ document }) => String(document.id))
  const ms = performance.now() - began
  return { ids, ms, stage_us: found.value.trace?.stages.find(({ name }) => name === "personalization")?.us }
}

const reads: ReturnType<typeof affinityStage>["run"] = (candidates, context) => {
  for (const field of ["brand", "category", "color", "price"]) void context.column?.(field)
  return candidates
}

const ndcg10 = (ids: ReadonlyArray<string>, bought: ReadonlySet<string>): number => {
  const gain = (place: number) => 1 / Math.log2(place + 2)
  let all = 0,
    most = 0
  ids.slice(0, 10).forEach((id, place) => {
    if (bought.has(id)) all += gain(place)
  })
  for (let place = 0; place < bought.size; place++) most += gain(place)
  return all / most
}

/**
 * Bytes per visitor with a full row, including the index, after forty additions. `ids` is the number of the visitor's
 * identifiers besides the user's own.
 */
const rowBytes = async (ids: number): Promise<number> => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-personalization-"))
  const server = await startEmbeddedPostgres(join(folder, "postgres"))
  try {
    const measured = Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (let turn = 0; turn < 40 * PARTS; turn++) {
        const takes = new Takes()
        const from = ((turn % PARTS) * ROWS) / PARTS
        for (let visitor = from; visitor < from + ROWS / PARTS; visitor++)
          takes.event("org_01ARZ3NDEKTSV4RRFFQ69G5FAV", "products", {
            type: "click",
            collection: "products",
            user_id: `user-${visitor}`,
            ...(ids === 0 ? {} : { session_id: `ses-${visitor}-${turn % ids}` }),
            document_id: `prd-${String((visitor * 31 + turn) % 1_000_000).padStart(6, "0")}`,
            timestamp: 1_790_000_000_000 + turn
          })
        yield* writeHistories(takes)
        // As autovacuum does once a fifth of the rows is dead.
        if (turn % (PARTS / 5) === 0) yield* sql`VACUUM visitor_histories`
      }
      const [row] = yield* sql<{ n: number; bytes: number }>`SELECT count(*)::int4 AS n,
        pg_total_relation_size('visitor_histories')::float8 AS bytes FROM visitor_histories`
      return row!.bytes / row!.n
    })
    return await Effect.runPromise(
      Effect.provide(measured, Layer.provideMerge(layerMigrations, layerSql(server))) as Effect.Effect<number>
    )
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

export const benchPersonalization = async (options: PersonalizationOptions): Promise<void> => {
  const products = [...generateCatalog({ seed: options.seed, products: options.products })]
  const byId = new Map(products.map((product) => [product.id, product]))
  const context = await loaded(products)
  const collection = context.engine.describeCollection("bench", "products")!
  const fields = tasteFieldsOf(collection, () => true)
  const all = generateQueries(products, {
    seed: options.seed,
    queries: 400,
    typoShare: 0,
    prefixShare: 0,
    filterShare: 0
  })
  const answers: Array<{ readonly q: string; readonly hits: ReadonlyArray<Product> }> = []
  for (const { q } of all) {
    const { ids } = await searched(context, q, WINDOW, undefined)
    if (ids.length >= 100) answers.push({ q, hits: ids.map((id) => byId.get(id)!) })
  }
  const random = makeRandom(options.seed).fork("tastes")
  const colors = [...new Set(products.flatMap(({ color }) => color ?? []))]
  const byDepartment = Map.groupBy(answers, ({ hits: [first] }) => first.department)
  const sums = STRENGTHS.map(() => 0)
  const times = {
    stage: [] as Array<number>,
    beyond: [] as Array<number>,
    derive: [] as Array<number>,
    reads: [] as Array<number>
  }
  let hits = 0
  for (let visitor = 0; visitor < options.visitors; visitor++) {
    // A visitor with one department, because brands belong to departments.
    const { department, price } = random.pick(products.filter((product) => byDepartment.has(product.department)))
    const shelf = products.filter((product) => product.department === department)
    const liking: Liking = {
      brands: new Set([random.pick(shelf).brand, random.pick(shelf).brand]),
      color: random.pick(colors),
      price: Math.log(price)
    }
    const known = byDepartment.get(department)!
    const taken = Array.from({ length: TAKEN }, (_, i): Take => {
      const kind = random.pick<TakeKind>(["view", "view", "view", "click", "click", "add_to_cart", "purchase"])
      const { id } = drawn(random, liking, random.pick(known).hits)
      return { kind, at_s: 1_790_000_000 + 3_600 * i, document: id }
    })
    // Only as many as a row keeps.
    const takes = unpackTakes(remembered(Buffer.concat(taken.map(packTake))))
    const { hits: found, q } = random.pick(known)
    const bought = new Set(Array.from({ length: BOUGHT }, () => drawn(random, liking, found).id))
    const began = performance.now()
    const affinities = await new Tastes(() => 0).affinities(context, collection, fields, takes)
    times.derive.push(performance.now() - began)
    for (const [i, strength] of STRENGTHS.entries()) {
      const { ids } = await searched(
        context,
        q,
        WINDOW,
        strength === 0 ? undefined : affinityStage(affinities, strength)
      )
      sums[i] += ndcg10(ids, bought)
    }
    for (let warm = 0; warm < 4; warm++) await searched(context, q, 10, affinityStage(affinities, 0.3))
    const plain = await searched(context, q, 10, undefined)
    const personal = await searched(context, q, 10, affinityStage(affinities, 0.3))
    hits += found.length
    const reading = { ...affinityStage(affinities, 0.3), run: reads }
    times.reads.push(((await searched(context, q, 10, reading)).stage_us ?? 0) / 1_000)
    times.beyond.push(personal.ms - plain.ms)
    times.stage.push((personal.stage_us ?? 0) / 1_000)
  }
  await context.engine.close()
  const ndcg = sums.map((sum) => round(sum / options.visitors, 4))
  report(
    "personalization",
    {
      machine: machine(),
      products: products.length,
      visitors: options.visitors,
      queries: answers.length,
      hits_mean: Math.round(hits / options.visitors),
      row_bytes: Math.round(await rowBytes(0)),
      // Three of these ids are kept.
      row_bytes_logged_in: Math.round(await rowBytes(5)),
      ...Object.fromEntries(STRENGTHS.map((strength, i) => [`ndcg_at_10_of_${strength}`, ndcg[i]])),
      gain_at_03: round(ndcg[STRENGTHS.indexOf(0.3)] / ndcg[0] - 1),
      stage: percentiles(times.stage),
      of_which_reading_values: percentiles(times.reads),
      search_beyond: percentiles(times.beyond),
      affinities_of_20: percentiles(times.derive)
    },
    options.out
  )
}
