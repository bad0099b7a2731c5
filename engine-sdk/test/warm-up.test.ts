/** Warm-up searches: what they open, where they run, and what they must not leave behind. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it, vi } from "vitest"
import { openEngine } from "../src/mod.ts"
import { plansOf } from "../src/lane/job.ts"
import { SearchThread } from "../src/lane/search-thread.ts"
import {
  memoryResources,
  practiceSearches,
  prepareSearch,
  Reach,
  readSearch,
  search,
  warmUp
} from "../src/operations/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"
import { slowFilter } from "./slow-filter.ts"
import { OtherThreads } from "../src/memory/other-threads.ts"

const DOCS = 1_500
const original = SearchThread.prototype.post
const schema = suiteSchema("shop", [
  suiteField("title", "string"),
  suiteField("brand", "string", { facet: true }),
  suiteField("price", "float", { sort: true }),
  suiteField("place", "geopoint")
])
const heavy = suitePlan("shop", { filter: slowFilter(20_000) })
const documentOf = (i: number) => ({
  id: `d${i}`,
  title: `walnut kitchen table ${i % 70}`,
  brand: `brand ${i % 9}`,
  price: i / 2,
  place: [i % 90, i % 180]
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
  it("use words of the documents, with facets, a range, an order, a typo and relevance", () => {
    expect(practiceSearches(schema, [documentOf(1), documentOf(2)], ["title"], 0)).toEqual([
      { q: "*", facet_by: "brand" },
      { q: "*", sort_by: "price:desc" },
      { q: "*", filter_by: "price:>0", facet_by: "brand" },
      { q: "*", filter_by: "price:[0.5..1]" },
      { q: "walnut", query_by: "title,brand", facet_by: "brand" },
      { q: "walnut bra", query_by: "title,brand" },
      { q: "wlanut", query_by: "title,brand" },
      { q: "walnut kitchen kitchen", query_by: "title", ranking: "relevance" },
      { q: "walnut kitchen", query_by: "title", ranking: "relevance" }
    ])
  })
  it("have other words and another range in the next round", () => {
    const documents = ["walnut kitchen table", "oaken garden bench", "marble bathroom shelf"].map((title, i) => ({
      ...documentOf(i),
      title
    }))
    const rounds = [0, 1].map((round) => practiceSearches(schema, documents, ["title"], round).slice(3))
    expect(rounds[1]).toEqual([
      { q: "*", filter_by: "price:[0.5..1]" },
      { q: "oaken", query_by: "title,brand", facet_by: "brand" },
      { q: "oaken mar", query_by: "title,brand" },
      { q: "okaen", query_by: "title,brand" },
      { q: "garden marble bathroom", query_by: "title", ranking: "relevance" },
      { q: "garden bathroom", query_by: "title", ranking: "relevance" }
    ])
    for (const [i, asked] of rounds[0].entries()) expect(rounds[1][i]).not.toEqual(asked)
  })
  it("rank by relevance only over what is indexed, if need be with words of other fields", () => {
    const relevance = (ranked: ReadonlyArray<string>) =>
      practiceSearches(schema, [documentOf(1)], ranked, 0).flatMap(({ q, query_by, ranking }) =>
        ranking === "relevance" ? [[q, query_by]] : []
      )
    expect(relevance([])).toEqual([])
    expect(relevance(["text.*"])).toEqual([
      ["walnut kitchen brand", "text.*"],
      ["walnut brand", "text.*"]
    ])
  })
  it("count the third to tenth facet one by one", () => {
    const facets = Array.from({ length: 12 }, (_, i) => suiteField(`facet_${i}`, "int32", { facet: true }))
    const counted = { ...schema, fields: [...schema.fields.slice(0, 1), ...facets] }
    const searches = practiceSearches(counted, [documentOf(1)], [], 0)
    expect(searches[0]).toEqual({ q: "*", facet_by: "facet_0,facet_1" })
    expect(searches.filter(({ q }) => q === "walnut").map(({ facet_by }) => facet_by)).toEqual([
      "facet_0,facet_1",
      ...Array.from({ length: 8 }, (_, i) => `facet_${i + 2}`)
    ])
  })
  it("match everything if there are no texts, numbers or documents", () => {
    expect(practiceSearches({ ...schema, fields: [] }, [], [], 0)).toEqual([{ q: "*" }])
  })
})

describe("warming up", () => {
  it("opens the requested collection, and none of another tenant", async () => {
    const engine = await openEngine({ path: await folderWith() })
    expect(engine.usage("a", "shop")!.open).toBe(false)
    await warmUp(contextOf(engine, "a"), "shop", 1)
    expect([engine.usage("a", "shop")!.open, engine.usage("b", "shop")!.open]).toEqual([true, false])
    await warmUp(contextOf(engine, "a"), "no such shop", 1)
    await engine.close()
  })

  it("skips a relevance search until its index has been requested", async () => {
    const engine = await openEngine({ path: await folderWith() })
    const context = contextOf(engine, "a")
    await warmUp(context, "shop", 1)
    const asked = { q: "walnut brand", query_by: "title,brand", ranking: "relevance" }
    const reach = new Reach(context, {})
    const read = readSearch(context, "shop", asked, reach.restrictions)
    const planned = read.ok ? await prepareSearch(context, read.value, reach) : read
    if (!planned.ok) throw new Error(planned.error.message)
    expect(await engine.practise("a", [planned.value.plan])).toEqual([undefined])
    expect((await search(context, "shop", asked)).ok).toBe(true)
    // On a busy machine a practice search may use up its quantum, and is then left for the next round.
    await expect
      .poll(() => engine.practise("a", [planned.value.plan]), { timeout: 20_000 })
      .toMatchObject([{ ok: true, value: { found: DOCS } }])
    await engine.close()
  })

  it("ranks by relevance, on every thread, what searchers ranked before the start", async () => {
    const path = await folderWith()
    const before = await openEngine({ path })
    expect(before.rankedNames("a", "shop")).toEqual([])
    const asked = { q: "brand 3", query_by: "brand", ranking: "relevance" }
    expect((await search(contextOf(before, "a"), "shop", asked)).ok).toBe(true)
    expect(before.rankedNames("a", "shop")).toEqual(["brand"])
    await before.close()

    const elsewhere = vi.spyOn(OtherThreads.prototype, "practise")
    const engine = await openEngine({ path, worker: true })
    await warmUp(contextOf(engine, "a"), "shop", 2)
    await warmUp(contextOf(engine, "b"), "shop", 2)
    const ranked = elsewhere.mock.calls.flatMap(([namespace, work]) =>
      plansOf(work).flatMap(({ text }) =>
        text?.relevance === undefined ? [] : [[namespace, ...text.relevance.units.map(({ name }) => name)]]
      )
    )
    elsewhere.mockRestore()
    await engine.close()
    expect(ranked).toEqual(Array.from({ length: 4 }, () => ["a", "brand"]))
  })

  it("runs a search in the other threads although it yielded here", async () => {
    const elsewhere = vi.spyOn(OtherThreads.prototype, "practise")
    const engine = await openEngine({ path: await folderWith(), worker: true })
    const answers = await engine.practise("a", [heavy])
    expect([answers, elsewhere.mock.calls.length]).toEqual([[undefined], 1])
    elsewhere.mockRestore()
    await engine.close()
  })

  it("runs in every searching thread, and real searches are answered meanwhile", async () => {
    const posted = new Set<SearchThread>()
    const post = vi.spyOn(SearchThread.prototype, "post").mockImplementation(function (this: SearchThread, message) {
      posted.add(this)
      return original.call(this, message)
    })
    const engine = await openEngine({ path: await folderWith(), worker: true, searchWorkers: 1 })
    const context = contextOf(engine, "a")
    const asked = { q: "kitchen table", query_by: "title", facet_by: "brand" }
    // Two threads of the lane and the worker, which start one after another.
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
