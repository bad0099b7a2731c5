/**
 * The code of searches is compiled when it first runs, which costs the first of each kind some ten milliseconds. This
 * runs them once the program answers, over a small collection in memory that is of no organization, a few milliseconds
 * at a time, so that no caller is the first.
 *
 * Gain: `npm run bench -- first-searches`, the columns `cold` and `rehearsed`.
 */
import { createEngine } from "@dowser/engine-sdk/memory"
import {
  closed,
  createCollection,
  importDocuments,
  memoryResources,
  type OperationContext,
  prepareSearch,
  Reach,
  readSearch,
  runSearch,
  writeAnswer
} from "@dowser/engine-sdk/operations"

const COLLECTION = "rehearsal"
const DOCUMENTS = 2_000
const ROUNDS = 8
const WORDS = ["red", "cotton", "shirt", "desk", "lamp", "oak", "board", "steel", "mug", "with", "for", "small"]
const schema = {
  name: COLLECTION,
  fields: [
    { name: "title", type: "string" },
    { name: "brand", type: "string", facet: true },
    { name: "tags", type: "string[]", facet: true },
    { name: "price", type: "float" },
    { name: "stock", type: "int32", facet: true },
    { name: "place", type: "geopoint" },
    { name: "sku", type: "string", facet: true }
  ]
}
const word = (n: number): string => WORDS[n % WORDS.length]!
const documentOf = (_: unknown, n: number): string =>
  JSON.stringify({
    id: `r${n}`,
    title: `${word(n)} ${word(n * 7 + 3)} ${word(n * 5 + 1)} ${n % 97}`,
    brand: `brand ${n % 40}`,
    tags: [word(n), word(n + 4)],
    price: (n % 500) / 4,
    stock: n % 30,
    place: [40 + (n % 100) / 10, (n % 180) / 2],
    sku: `sku-${n}`
  })
const text = { q: "red cotton shirt", query_by: "title,brand", per_page: 10 }
/** One of each way that a search may go. */
const SEARCHES: ReadonlyArray<Readonly<Record<string, unknown>>> = [
  text,
  { ...text, q: "coton shrit" },
  { ...text, q: "lam" },
  { ...text, facet_by: "brand,tags,stock" },
  { ...text, ranking: "relevance" },
  { ...text, q: "with", sort_by: "price:asc" },
  { ...text, filter_by: "price:[20..60] && brand:=`brand 7`" },
  { ...text, group_by: "brand", group_limit: 2 },
  { q: "*", per_page: 10, facet_by: "brand" },
  { q: "*", per_page: 10, facet_by: "sku" },
  { q: "*", per_page: 10, sort_by: "price:desc", filter_by: "tags:[oak, desk]" },
  { q: "*", per_page: 10, filter_by: "price:>20 && stock:<5" },
  { q: "*", per_page: 10, filter_by: "place:(45, 20, 300 km)", sort_by: "place(45, 20):asc" }
]

const searched = async (context: OperationContext, asked: Readonly<Record<string, unknown>>): Promise<void> => {
  const reach = new Reach(context, {})
  const read = readSearch(context, COLLECTION, asked, reach.restrictions)
  const planned = read.ok ? await prepareSearch(context, read.value, reach) : read
  if (!planned.ok) throw new Error(planned.error.message)
  const found = await runSearch(context, planned.value)
  const written = found.ok ? writeAnswer(planned.value, found.value) : found
  if (!written.ok) throw new Error(written.error.message)
  closed(written.value)
}
/** `pause` is called between any two searches. Rejects where a search is refused, which is a fault of this file. */
export const rehearse = async (pause: () => Promise<void>): Promise<void> => {
  const engine = createEngine()
  try {
    const context: OperationContext = {
      engine,
      resources: memoryResources(),
      namespace: "rehearsal",
      now_s: 1,
      limits: { answer_bytes_max: 1_000_000 }
    }
    const made = await createCollection(context, JSON.stringify(schema))
    if (!made.ok) throw new Error(made.error.message)
    const lines = Array.from({ length: DOCUMENTS }, documentOf)
    const started = importDocuments(
      context,
      COLLECTION,
      (async function* () {
        for (let at = 0; at < DOCUMENTS; at += 100) {
          await pause()
          yield new TextEncoder().encode(`${lines.slice(at, at + 100).join("\n")}\n`)
        }
      })(),
      {}
    )
    if (!started.ok) throw new Error(started.error.message)
    for await (const answers of started.value.lines)
      if (answers.includes('"success":false')) throw new Error(`A document was refused: ${answers.slice(0, 300)}`)
    for (let round = 0; round < ROUNDS; round++)
      for (const asked of SEARCHES) {
        await pause()
        await searched(context, asked)
      }
  } finally {
    await engine.close()
  }
}
