/** A page holds the best of all matches, although most of them are never scored; and its common words are marked. */
import { expect, it } from "vitest"
import { parseJson } from "../src/documents/mod.ts"
import { createEngine, type LocalEngine } from "../src/mod.ts"
import { createCollection, importDocuments, memoryResources, search } from "../src/operations/mod.ts"
import { randomOf, type Random } from "./random.ts"

const WORDS = ["red", "wall", "clock", "lamp", "oak", "desk", "wool", "mat"]
const FIELDS = ["title", "brand", "text"]
const contextOf = (engine: LocalEngine, namespace: string) => ({
  engine,
  resources: memoryResources(),
  namespace,
  now_s: 1,
  limits: { answer_bytes_max: 64_000_000 }
})
type Context = ReturnType<typeof contextOf>
const filled = async (context: Context, documents: ReadonlyArray<object>): Promise<void> => {
  const fields = [...FIELDS.map((name) => ({ name, type: "string" })), { name: "price", type: "int32" }]
  const made = await createCollection(context, JSON.stringify({ name: "c", fields }))
  if (!made.ok) throw new Error(made.error.message)
  const bytes = new TextEncoder().encode(documents.map((document) => JSON.stringify(document)).join("\n"))
  const imported = importDocuments(
    context,
    "c",
    (async function* () {
      yield bytes
    })(),
    {}
  )
  if (!imported.ok) throw new Error(imported.error.message)
  for await (const lines of imported.value.lines) expect(lines).not.toContain('"success":false')
  const { engine, namespace } = context
  await expect.poll(() => engine.usage(namespace, "c")?.segments, { timeout: 60_000 }).toBe(1)
}
interface Hit {
  readonly document: { readonly id: string; readonly price: number }
  readonly text_match: bigint
  readonly highlight: Readonly<Record<string, { readonly snippet?: string }>>
}
interface Page {
  readonly found: number
  readonly hits: ReadonlyArray<Hit>
}
const pageOf = async (context: Context, parameters: Record<string, unknown>): Promise<Page> => {
  const answered = await search(context, "c", { query_by: FIELDS.join(), ...parameters })
  if (!answered.ok) throw new Error(answered.error.message)
  return parseJson(answered.value.text ?? "") as unknown as Page
}
const some = (random: Random, most: number): string =>
  Array.from({ length: 1 + random.below(most) }, () => random.pick(WORDS)).join(" ")

it("shows the same ten as the first of all matches, for two organizations side by side", async () => {
  const engine = createEngine()
  try {
    const random = randomOf(3)
    const contexts = ["acme", "other"].map((namespace) => contextOf(engine, namespace))
    for (const context of contexts)
      await filled(
        context,
        Array.from({ length: 2_000 }, (_document, i) => ({
          id: String(i),
          title: some(random, 4),
          brand: some(random, 1),
          text: some(random, 9),
          price: random.below(40)
        }))
      )
    for (let n = 0; n < 120; n++) {
      const context = contexts[n % 2]
      const sort_by = random.pick(["_text_match:desc", "_text_match:desc,price:desc", "_text_match:desc,price:asc"])
      const asked = { q: some(random, 3), sort_by, highlight_fields: "none" }
      const all: Hit[] = []
      const { found, hits: ten } = await pageOf(context, { ...asked, per_page: 10 })
      for (let page = 1; all.length < found; page++) {
        const { hits } = await pageOf(context, { ...asked, page, per_page: 250 })
        expect(hits.length).toBe(Math.min(250, found - all.length))
        all.push(...hits)
      }
      const shown = (hits: ReadonlyArray<Hit>) => hits.map(({ document, text_match }) => [document.id, text_match])
      const byPrice = sort_by.endsWith("price:desc") ? -1 : sort_by.endsWith("price:asc") ? 1 : 0
      const ordered = all.toSorted(
        (a, b) =>
          Number(b.text_match - a.text_match) ||
          byPrice * (a.document.price - b.document.price) ||
          Number(b.document.id) - Number(a.document.id)
      )
      expect(shown(all)).toEqual(shown(ordered))
      expect(shown(ten)).toEqual(shown(all.slice(0, 10)))
    }
  } finally {
    await engine.close()
  }
})
it("marks common words in the fields that have them", async () => {
  const engine = createEngine()
  try {
    const context = contextOf(engine, "acme")
    await filled(
      context,
      Array.from({ length: 33_000 }, (_document, i) => ({
        id: String(i),
        title: i % 3 === 0 ? "oak desk" : `n${i}`,
        brand: `b${i}`,
        text: i % 3 === 1 ? "a desk" : "a mat",
        price: 1
      }))
    )
    const { hits } = await pageOf(context, { q: "desk", per_page: 30, page: 2, sort_by: "price:asc" })
    expect(hits.length).toBe(30)
    for (const { document, highlight } of hits)
      expect(Object.entries(highlight).map(([field, { snippet }]) => [field, snippet])).toEqual(
        Number(document.id) % 3 === 0 ? [["title", "oak <mark>desk</mark>"]] : [["text", "a <mark>desk</mark>"]]
      )
  } finally {
    await engine.close()
  }
})
