/**
 * The package's main entry: fields inferred from documents or declared, searches, refusals, and what survives on disk.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, expectTypeOf, it } from "vitest"
import { createEngine, createSearch, SearchError, type SearchFailure } from "../src/mod.ts"

const SHOES = [
  { id: 1, title: "Trail running shoe", brand: "Peak", price: 89, rating: 5, specs: { weight_g: 240, drop: 4 } },
  { id: 2, title: "Road running shoe", brand: "Swift", price: 129.5, rating: 4.5, specs: { weight_g: 210, drop: 8.5 } },
  { id: 3, title: "Hiking boot", brand: "Peak", price: 159, rating: 4 }
]
const failureOf = async (call: Promise<unknown>): Promise<SearchFailure> => {
  const error: unknown = await call.then(
    () => {
      throw new Error("the call was answered")
    },
    (failed: unknown) => failed
  )
  if (error instanceof SearchError) return error.failure
  throw error
}

describe("fields from documents", () => {
  it("finds with a typo, a filter, facets and a sort", async () => {
    const shoes = createSearch()
    await shoes.add(SHOES)
    const { facets, found, hits } = await shoes.search("runing shoe", {
      filter: "price:<150",
      facets: ["brand", "price(cheap:[0, 100], dear:[100, 500])"],
      sort: "price:desc"
    })
    expect(found).toBe(2)
    expect(hits.map(({ document }) => document.id)).toEqual(["2", "1"])
    expect(hits[0].highlight).toMatchObject({ title: { snippet: "Road <mark>running</mark> <mark>shoe</mark>" } })
    expect([...facets.brand].sort((a, b) => (a.value < b.value ? -1 : 1))).toEqual([
      { value: "Peak", count: 1 },
      { value: "Swift", count: 1 }
    ])
    expect([...facets.price].sort((a, b) => (a.value < b.value ? -1 : 1))).toEqual([
      { value: "cheap", count: 1 },
      { value: "dear", count: 1 }
    ])
    await shoes.close()
  })
  it("keeps fractions that follow whole numbers, in the same batch and in a later one", async () => {
    const shoes = createSearch()
    await shoes.add(SHOES)
    expect(
      (await shoes.search("", { filter: "rating:>4.2 && specs.drop:>8.2" })).hits.map(({ document }) => document.id)
    ).toEqual(["2"])
    await shoes.add({ id: 4, title: "Sock", stock: 3, specs: { weight_g: 12 } })
    await shoes.add({ id: 5, title: "Lace", stock: 3.5, specs: { weight_g: 1.5 } })
    expect((await shoes.search("", { filter: "stock:>3.2" })).hits.map(({ document }) => document.id)).toEqual(["5"])
    expect(await shoes.get(4)).toMatchObject({ id: "4", stock: 3 })
    expect((await shoes.search("", { filter: "specs.weight_g:<2", facets: ["stock"] })).facets.stock).toEqual([
      { value: "3.5", count: 1 }
    ])
    await shoes.close()
  })
  it("replaces by id, counts and deletes", async () => {
    const shoes = createSearch()
    expect(await shoes.search("anything", { facets: ["brand"] })).toMatchObject({
      found: 0,
      hits: [],
      facets: { brand: [] }
    })
    await Promise.all([shoes.add(SHOES), shoes.add({ id: "3", title: "Winter boot" })])
    expect(await shoes.count()).toBe(3)
    expect(await shoes.get(3)).toEqual({ id: "3", title: "Winter boot" })
    expect(await shoes.delete(["1", 2, "77"])).toBe(2)
    expect((await shoes.search("boot")).found).toBe(1)
    await shoes.close()
  })
  it("corrects a word that only one document has, in a small collection", async () => {
    const shoes = createSearch()
    await shoes.add(SHOES)
    expect((await shoes.search("hikin bot")).hits.map(({ document }) => document.id)).toEqual(["3"])
    await shoes.close()
  })
  it("ranks by relevance, or like the reference engine; raw parameters override both", async () => {
    const shoes = createSearch()
    await shoes.add(SHOES)
    const [relevance] = (await shoes.search("running")).hits,
      [compatible] = (await shoes.search("running", { ranking: "compatible" })).hits
    expect(relevance.score).toBeLessThan(100)
    expect(compatible.score).toBeGreaterThan(1e15)
    const { answer } = await shoes.search("*", {
      parameters: { group_by: "brand", group_limit: 1, include_fields: "title" }
    })
    expect(answer.grouped_hits?.map(({ group_key, hits }) => [group_key, Object.keys(hits[0].document)])).toEqual([
      [["Peak"], ["title"]],
      [["Swift"], ["title"]]
    ])
    await shoes.close()
  })
})

describe("declared fields", () => {
  it("give documents their types", async () => {
    const products = createSearch({
      fields: {
        name: "string",
        price: "float",
        tags: "string[]",
        rating: { type: "float", optional: true },
        place: "geopoint",
        year: { type: "int64", sort: true }
      }
    })
    await products.add({ name: "Kettle", price: 40, tags: ["kitchen"], place: [46.9, 7.4], year: 2024 })
    const { facets, hits } = await products.search("ketle")
    expectTypeOf(hits[0].document.price).toEqualTypeOf<number>()
    expectTypeOf(hits[0].document.tags).toEqualTypeOf<ReadonlyArray<string>>()
    expectTypeOf(hits[0].document.rating).toEqualTypeOf<number | undefined>()
    expectTypeOf(hits[0].document.place).toEqualTypeOf<readonly [lat: number, lng: number]>()
    expectTypeOf(hits[0].document.year).toEqualTypeOf<number | bigint>()
    expectTypeOf(hits[0].document.id).toEqualTypeOf<string>()
    expectTypeOf(facets).toEqualTypeOf<{}>()
    // @ts-expect-error: a price is a number
    const refused = await failureOf(products.add({ name: "Pan", price: "40", tags: [], place: [0, 0], year: 1 }))
    expect(refused).toMatchObject({
      kind: "DocumentsRefused",
      stored: 0,
      refused: [{ index: 0, error: { kind: "Invalid", message: "Field `price` must be a float." } }]
    })
    // @ts-expect-error: nothing of that name
    expect(hits[0].document.colour).toBeUndefined()
    await products.close()
  })
  it("take paths, patterns and interfaces", async () => {
    interface Book {
      readonly title: string
      readonly pages: number
    }
    const books = createSearch<Book>()
    expectTypeOf(books.get).returns.resolves.toEqualTypeOf<
      { readonly title: string; readonly pages: number; readonly id: string } | undefined
    >()
    const loose = createSearch({ fields: { title: "string", "specs.weight": "float", "label_.*": "string" } })
    await loose.add({ title: "Lamp", specs: { weight: 1.5 }, label_de: "Lampe" })
    const { document } = (await loose.search("lampe", { queryBy: ["label_de"], filter: "specs.weight:>1" })).hits[0]
    expectTypeOf(document.title).toEqualTypeOf<string>()
    expectTypeOf(document.specs).toEqualTypeOf<unknown>()
    expect(document.label_de).toBe("Lampe")
    const faceted = await loose
      .search("", { facets: ["title", "specs.weight(light:[0, 2])"] })
      .catch((error: SearchError) => error.failure)
    if ("kind" in faceted) expectTypeOf(faceted).toEqualTypeOf<SearchFailure>()
    else
      expectTypeOf(faceted.facets).toEqualTypeOf<{
        readonly title: ReadonlyArray<{ readonly value: string; readonly count: number }>
        readonly "specs.weight": ReadonlyArray<{ readonly value: string; readonly count: number }>
      }>()
    await Promise.all([books.close(), loose.close()])
  })
})

describe("rules", () => {
  const titles = ({
    hits
  }: {
    readonly hits: ReadonlyArray<{ readonly document: Readonly<Record<string, unknown>> }>
  }) => hits.map(({ document }) => document.title)
  it("place, lift and hide, and say so", async () => {
    const shoes = createSearch({
      rules: {
        boosts: [{ filter_by: "brand:Peak", weight: 1 }],
        pins: [{ query: "shoe", match: "partial", doc_id: "3", position: 2 }],
        banners: [{ id: "sale", content: { text: "Sale" } }]
      }
    })
    await shoes.add(SHOES)
    const page = await shoes.search("runing shoe", { explain: true })
    expect(titles(page)).toEqual(["Trail running shoe", "Hiking boot", "Road running shoe"])
    expect(page).toMatchObject({ found: 3, banners: [{ id: "sale", content: { text: "Sale" } }] })
    expect(page.trace?.fired.map(({ kind }) => kind).sort()).toEqual(["banner", "boost", "pin"])
    expect(titles(await shoes.search("runing shoe", { rules: false }))).toEqual([
      "Road running shoe",
      "Trail running shoe"
    ])
    // Even a pin must pass the caller's own filter.
    expect(titles(await shoes.search("runing shoe", { filter: "price:<150" }))).toEqual([
      "Trail running shoe",
      "Road running shoe"
    ])
    await shoes.setRules({ exclusion_filter_by: "brand:Swift", redirects: [{ query: "returns", url: "/returns" }] })
    expect(titles(await shoes.search("runing shoe"))).toEqual(["Trail running shoe"])
    expect(await shoes.search("returns")).toMatchObject({ redirect: { url: "/returns" }, found: 0, hits: [] })
    await shoes.close()
  })
  it("apply to certain visitors, and for a limited time", async () => {
    let now_ms = Date.parse("2026-05-01T00:00:00Z")
    const shoes = createSearch({
      now_ms: () => now_ms,
      rules: { device: "mobile", country: "CH", ends_at: "2026-05-02T00:00:00Z", exclusion_filter_by: "brand:Peak" }
    })
    await shoes.add(SHOES)
    expect((await shoes.search("shoe", { device: "mobile", country: "CH" })).found).toBe(1)
    expect((await shoes.search("shoe", { device: "desktop", country: "CH" })).found).toBe(2)
    now_ms += 86_400_000
    expect((await shoes.search("shoe", { device: "mobile", country: "CH" })).found).toBe(2)
    await shoes.close()
  })
  it("diversify, rerank by a model of the program, and run a custom stage", async () => {
    const shoes = createSearch({
      rules: {
        diversity: [{ field: "brand", max: 1 }],
        rerank: { enabled: true, model: "cheapest", fields: ["price"] }
      },
      rerankers: {
        cheapest: {
          name: "cheapest",
          score: ({ candidates, scores }) =>
            candidates.forEach((candidate, i) => {
              scores[i] = -Number(candidate.value("price"))
            })
        }
      },
      stages: [
        { name: "reverse", budget_ms: 5, fallback: "keep_order", run: (candidates) => [...candidates].reverse() }
      ]
    })
    await shoes.add([...SHOES, { id: 4, title: "Track shoe", brand: "Peak", price: 60, rating: 3 }])
    const page = await shoes.search("", { explain: true })
    // Cheapest first, reversed by the custom stage, then one document of each brand before a second one.
    expect(titles(page)).toEqual(["Hiking boot", "Road running shoe", "Trail running shoe", "Track shoe"])
    expect(
      page.trace?.stages
        .filter(({ budget_ms }) => budget_ms !== undefined)
        .map(({ name, outcome }) => `${name} ${outcome}`)
    ).toEqual(["rerank applied", "reverse applied", "max_min applied"])
    await shoes.close()
  })
  it("are refused completely, with every problem in them", async () => {
    const shoes = createSearch()
    await shoes.add(SHOES)
    await shoes.setRules({ exclusion_filter_by: "brand:Peak" })
    const refused = await failureOf(
      shoes.setRules({
        pins: [{ query: "shoe", doc_id: "1" }],
        boosts: [{ filter_by: "colour:red", weight: 1 }],
        diversity: [{ field: "colour", max: 1 }]
      })
    )
    expect(refused).toMatchObject({ kind: "RulesRefused" })
    expect(refused.kind === "RulesRefused" ? refused.issues.map(({ path }) => path) : []).toEqual([
      "boosts[0].filter_by",
      "pins[0].position",
      "diversity[0].field"
    ])
    expect((await shoes.search("")).found).toBe(1)
    // @ts-expect-error: no such rule
    expect(await failureOf(createSearch({ rules: { pinned: [] } }).count())).toMatchObject({
      kind: "RulesRefused",
      issues: [{ path: "pinned" }]
    })
    await shoes.close()
  })
})

describe("failures", () => {
  it("belong to one closed union", async () => {
    const text = (failure: SearchFailure): string => {
      switch (failure.kind) {
        case "Invalid":
        case "Closed":
        case "RestrictionNotApplicable":
        case "NotFound":
        case "Conflict":
        case "CapReached":
        case "Damaged":
        case "CapabilityMissing":
        case "Overloaded":
        case "Unavailable":
        case "TimedOut":
          return failure.message
        case "RulesRefused":
          return failure.issues.map(({ path }) => path).join()
        case "DocumentsRefused":
          return failure.refused.map(({ error }) => error.message).join()
        case "OptionalPackageMissing":
          return failure.package
      }
    }
    const shoes = createSearch()
    await shoes.add(SHOES)
    expect(text(await failureOf(shoes.search("shoe", { filter: "colour:red" })))).toBe(
      "Could not find a filter field named `colour` in the schema."
    )
    const mixed = await failureOf(
      shoes.add([{ id: "8", title: "Sandal" }, { id: "9", title: "Clog", price: "free" }, { title: 7 }])
    )
    expect(mixed).toMatchObject({ kind: "DocumentsRefused", stored: 1, refused: [{ index: 1, id: "9" }, { index: 2 }] })
    expect(text(mixed)).toBe("Field `price` must be a float.,Field `title` must be a string.")
    expect(await shoes.count()).toBe(4)
    await shoes.close()
    await shoes.close()
    expect(await failureOf(shoes.search("shoe"))).toMatchObject({ kind: "Unavailable" })
    expect(await failureOf(createSearch({ fields: { title: { type: "string", num_dim: 3 } } }).count())).toMatchObject({
      kind: "Invalid",
      message: "Property `num_dim` is only allowed on a float array field."
    })
  })
})

describe("storage", () => {
  it("survives in a folder, and takes changed fields", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-sdk-collection-"))
    try {
      const before = createSearch({ path, fields: { title: "string", brand: "string" } })
      await before.add(SHOES.map(({ brand, id, price, title }) => ({ id, title, brand, price })))
      expect(await failureOf(before.search("", { facets: ["brand"] }))).toMatchObject({ kind: "NotFound" })
      await before.close()
      const after = createSearch({
        path,
        fields: { title: "string", brand: { type: "string", facet: true }, price: { type: "float", optional: true } }
      })
      expect((await after.search("", { facets: ["brand"], filter: "price:>100" })).facets.brand).toHaveLength(2)
      await after.close()
      const narrower = createSearch({ path, fields: { title: "string", size: "int32" } })
      expect(await failureOf(narrower.count())).toMatchObject({ kind: "Invalid" })
      await narrower.close()
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  })
  it("shares an engine and leaves it open", async () => {
    const engine = createEngine()
    const shoes = createSearch({ engine, name: "shoes" }),
      books = createSearch({ engine, name: "books" })
    await Promise.all([shoes.add(SHOES), books.add({ title: "Shoe dog" })])
    expect([(await shoes.search("shoe")).found, (await books.search("shoe")).found]).toEqual([2, 1])
    await shoes.close()
    expect((await books.search("shoe")).found).toBe(1)
    await engine.close()
  })
})
