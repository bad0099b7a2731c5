/** Warm-up searches: what they open and where they run, and what they must not leave behind. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it, vi } from "vitest"
import { openEngine } from "../src/mod.ts"
import { SearchThread } from "../src/lane/search-thread.ts"
import { memoryResources, practiceSearches, search, warmUp } from "../src/operations/mod.ts"
import { putOf, suiteField, suiteSchema } from "../src/testing/engine-suite.ts"

const DOCS = 1_500
const original = SearchThread.prototype.post
const schema = suiteSchema("shop", [
  suiteField("title", "string"),
  suiteField("brand", "string", { facet: true }),
  suiteField("price", "float", { sort: true })
])
const documentOf = (i: number) => ({
  id: `d${i}`,
  title: `walnut kitchen table ${i % 70}`,
  brand: `brand ${i % 9}`,
  price: i / 2
})
const folders: string[] = []
const folderWith = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-warm-"))
  folders.push(folder)
  const path = join(folder, "engine")
  const engine = await openEngine({ path })
  for (const namespace of ["a", "b"]) {
    await engine.createCollection(namespace, schema, 0)
    const written = await engine.write(
      namespace,
      "shop",
      Array.from({ length: DOCS }, (_one, i) => putOf(documentOf(i)))
    )
    expect(written.ok).toBe(true)
  }
  await engine.close()
  return path
}
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))
const contextOf = <E>(engine: E, namespace: string) => ({ engine, resources: memoryResources(), namespace, now_s: 0 })

describe("practice searches", () => {
  it("are words of the documents themselves, with facets, a range, an order, an error and relevance", () => {
    expect(practiceSearches(schema, [documentOf(1), documentOf(2)])).toEqual([
      { q: "*", facet_by: "brand" },
      { q: "*", sort_by: "price:desc" },
      { q: "*", filter_by: "price:>0", facet_by: "brand" },
      { q: "walnut", query_by: "title,brand", facet_by: "brand" },
      { q: "walnut bra", query_by: "title,brand" },
      { q: "wlanut", query_by: "title,brand" },
      { q: "walnut brand", query_by: "title,brand", ranking: "relevance" }
    ])
  })
  it("ask for everything where there are no texts, no numbers and no documents", () => {
    expect(practiceSearches({ ...schema, fields: [] }, [])).toEqual([{ q: "*" }])
  })
})

describe("warming up", () => {
  it("opens the collection that it is asked for, and none of another tenant", async () => {
    const engine = await openEngine({ path: await folderWith() })
    expect(engine.usage("a", "shop")!.open).toBe(false)
    await warmUp(contextOf(engine, "a"), "shop", 1)
    expect([engine.usage("a", "shop")!.open, engine.usage("b", "shop")!.open]).toEqual([true, false])
    await warmUp(contextOf(engine, "a"), "no such shop", 1)
    await engine.close()
  })

  it("has no relevance index made that nobody asked for, and searches by one that is there", async () => {
    const engine = await openEngine({ path: await folderWith() })
    const context = contextOf(engine, "a")
    await warmUp(context, "shop", 1)
    const before = engine.usage("a", "shop")!.index_bytes
    await warmUp(context, "shop", 1)
    expect(engine.usage("a", "shop")!.index_bytes).toBe(before)
    const asked = { q: "walnut brand", query_by: "title,brand", ranking: "relevance" }
    expect((await search(context, "shop", asked)).ok).toBe(true)
    expect(engine.usage("a", "shop")!.index_bytes).toBeGreaterThan(before)
    await engine.close()
  })

  it("runs in every thread that searches, and real searches are answered meanwhile", async () => {
    const posted = new Set<SearchThread>()
    const post = vi.spyOn(SearchThread.prototype, "post").mockImplementation(function (this: SearchThread, message) {
      posted.add(this)
      return original.call(this, message)
    })
    const engine = await openEngine({ path: await folderWith(), worker: true, searchWorkers: 1 })
    const context = contextOf(engine, "a")
    const asked = { q: "kitchen table", query_by: "title", facet_by: "brand" }
    // Two threads of the lane and the worker; they come up one after another.
    for (let tries = 0; posted.size < 3; tries++) {
      expect(tries).toBeLessThan(200)
      const [, found] = await Promise.all([
        warmUp(context, "shop", 1),
        search(context, "shop", asked),
        search(contextOf(engine, "b"), "shop", asked)
      ])
      expect(JSON.parse((found.ok && found.value.text) || "{}")).toMatchObject({ found: DOCS })
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    post.mockRestore()
    await engine.close()
    // Nothing is left to do, and nothing fails.
    await warmUp(context, "shop", 1)
  })
})
