/**
 * All lanes at once on a small scale; `npm run bench -- together` is the same with 100,000 products and 1,000,000
 * events.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { kafkaMissing } from "../support/kafka.ts"
import { opensearchMissing } from "../support/opensearch.ts"
import { together } from "../support/together/scenario.ts"

const PRODUCTS = 2_000,
  EVENTS = 8_000
/**
 * Two processes without an engine of their own share a cluster: each finds what the other wrote, and misses what does
 * not exist.
 */
const knowsOfOthers = async (bases: ReadonlyArray<string>, key: string): Promise<void> => {
  const [first, second] = bases as [string, string]
  const call = async (base: string, method: string, path: string, body?: unknown) => {
    const response = await fetch(base + path, {
      method,
      headers: { "x-svc-api-key": key },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    return { status: response.status, body: (await response.json()) as any }
  }
  const fields = [
    { name: "title", type: "string" },
    { name: "price", type: "float", facet: true }
  ]
  assert.strictEqual((await call(first, "POST", "/collections", { name: "shoes", fields })).status, 201)
  // The others know a new collection within a second, and documents written to it at once.
  let known = await call(second, "GET", "/collections/shoes")
  for (let looks = 0; looks < 600 && known.status !== 200; looks++) {
    await new Promise((settle) => setTimeout(settle, 100))
    known = await call(second, "GET", "/collections/shoes")
  }
  assert.strictEqual(known.status, 200)
  const search = "/collections/shoes/documents/search?q=runing&query_by=title&facet_by=price"
  for (const [i, base] of [first, second, first].entries()) {
    const document = { id: String(i), title: `Running shoe ${i}`, price: 10 * i }
    const written = await call(base, "POST", "/collections/shoes/documents", document)
    assert.deepStrictEqual([written.status, written.body], [201, document])
    for (const other of [first, second]) {
      const { body } = await call(other, "GET", search)
      assert.strictEqual(body.found, i + 1)
      assert.strictEqual(body.hits[0].highlight.title.snippet, `<mark>Running</mark> shoe ${i}`)
    }
  }
  const arrows = [
    { name: "title", type: "string" },
    { name: "embedding", type: "float[]", num_dim: 2 }
  ]
  assert.strictEqual((await call(second, "POST", "/collections", { name: "arrows", fields: arrows })).status, 201)
  for (const [i, embedding] of [
    [1, 0],
    [0, 1],
    [0.9, 0.1]
  ].entries()) {
    const arrow = { id: String(i), title: `Arrow ${i}`, embedding }
    assert.strictEqual((await call(second, "POST", "/collections/arrows/documents", arrow)).status, 201)
  }
  const nearest = `/collections/arrows/documents/search?q=*&vector_query=${encodeURIComponent("embedding:([1, 0], k: 2)")}`
  const near = await call(second, "GET", nearest)
  assert.deepStrictEqual(
    near.body.hits?.map((hit: any) => hit.document.id),
    ["0", "2"]
  )
  const joined = { name: "pairs", fields: [{ name: "shoe", type: "string", reference: "shoes.id" }] }
  const refused = await call(second, "POST", "/collections", joined)
  assert.strictEqual(refused.status, 400)
  assert.match(refused.body.message, /opensearch.*references/)
  assert.strictEqual((await call(second, "DELETE", "/collections/shoes/documents/1")).status, 200)
  assert.strictEqual((await call(first, "GET", search)).body.found, 2)
}

const missing = kafkaMissing() ?? opensearchMissing()
const title = "loses nothing and counts nothing twice while one of each server and process is killed in turn"
if (missing !== undefined) it(title, (ctx) => ctx.skip(missing))
else
  it.live(
    title,
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const recount = yield* together({ products: PRODUCTS, events: EVENTS, before: knowsOfOthers }, () => {})
          assert.deepStrictEqual(recount.load.failed, [])
          assert.isAbove(recount.load.searches, 20)
          // Two of the five kills take a process away from running searches; few of these must be retried.
          const again = [...recount.load.again].filter(([kind]) => kind.startsWith("searches "))
          assert.isAtMost(
            again.reduce((sum, [, count]) => sum + count, 0),
            recount.load.searches / 10,
            JSON.stringify([...again, ["searches", recount.load.searches]])
          )
          assert.strictEqual(recount.documents, PRODUCTS)
          assert.strictEqual(recount.events, EVENTS)
          // One in eight events is a purchase for a cent.
          assert.strictEqual(recount.revenue_micros, (EVENTS / 8) * 10_000)
          assert.strictEqual(recount.kills.length, 5)
        })
      ),
    400_000
  )
