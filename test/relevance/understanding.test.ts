/**
 * How well queries are understood, as shares of queries whose meaning is known by construction
 * (`bench/inputs/understanding.ts`), and of names in a real catalogue if it is beside the project.
 */
import { existsSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { readLines } from "../../bench/harness/harness.ts"
import {
  catalogueProducts,
  correctionShares,
  entityShares,
  type Lab,
  namingQueries,
  openCatalogue,
  openLab,
  openWords,
  productValues,
  rewriteShare,
  transliterated,
  typedOnLayouts
} from "../../bench/inputs/understanding.ts"

describe("three hundred words of four languages", () => {
  let words: Lab
  beforeAll(async () => {
    words = await openWords()
  })
  afterAll(() => words?.close())
  it("are found at rank 1 when typed on another keyboard layout", async () => {
    expect(words.collection.num_documents).toBe(300)
    const { right, tried } = await rewriteShare(words, typedOnLayouts())
    expect(tried).toBeGreaterThan(550)
    expect(right / tried).toBeGreaterThanOrEqual(0.97)
  })
  it("are found at rank 1 when typed in another script", async () => {
    const { right, tried } = await rewriteShare(words, transliterated())
    expect(tried).toBeGreaterThan(700)
    expect(right / tried).toBeGreaterThanOrEqual(0.9)
  })
})

describe("generated queries", () => {
  const products = catalogueProducts()
  let catalogue: Lab
  beforeAll(async () => {
    catalogue = await openCatalogue(products)
  })
  afterAll(() => catalogue?.close())
  it.each([
    ["compatible", 2_000, undefined],
    ["relevance", 400, "relevance"]
  ] as const)(
    "with one typing error are corrected to the intended words: %s ranking",
    async (_name, queries, ranking) => {
      const { clean, mistyped } = await correctionShares(catalogue, products, queries, ranking)
      expect([mistyped.tried, clean.tried]).toEqual([queries, queries])
      expect(mistyped.right / queries).toBeGreaterThanOrEqual(0.9)
      expect(clean.right / queries).toBeGreaterThanOrEqual(0.995)
    }
  )
  it("name the values that they were made of", async () => {
    const shares = await entityShares(catalogue, namingQueries(productValues(products), 2_000))
    expect(shares.precision).toBeGreaterThanOrEqual(0.95)
    expect(shares.recall).toBeGreaterThanOrEqual(0.95)
  })
})

describe("names in a real catalogue (chorus_icecat)", () => {
  const file = new URL("../../../shared/data/chorus_icecat/docs.jsonl.gz", import.meta.url).pathname
  it("are those that queries were made of", async (context) => {
    if (!existsSync(file))
      return context.skip("relevance lane: chorus_icecat is not beside the project (../shared/data)")
    const fields = ["supplier", "attr_t_printing_colours", "attr_t_print_technology", "attr_t_product_colour"]
    const rows = (await readLines(file)).map((line) => JSON.parse(line) as Record<string, unknown>)
    const icecat = await openLab(
      { name: "icecat", fields: fields.map((name) => ({ name, type: "string", facet: true, optional: true })) },
      rows.map((row) =>
        Object.fromEntries(["id", ...fields].flatMap((name) => (name in row ? [[name, row[name]]] : [])))
      )
    )
    const valued = rows.filter(({ supplier }) => typeof supplier === "string")
    const queries = namingQueries((random) => {
      const row = random.pick(valued)
      const values = fields.map((name) => row[name]).filter((value) => typeof value === "string")
      return values.slice(0, 1 + random.below(values.length))
    }, 1_000)
    const { precision, recall } = await entityShares(icecat, queries)
    await icecat.close()
    expect(precision).toBeGreaterThanOrEqual(0.95)
    expect(recall).toBeGreaterThanOrEqual(0.95)
  })
})
