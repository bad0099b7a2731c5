/**
 * The generators: the same seed gives the same bytes, sizes are exact, and judgments follow from how a query was made.
 */
import { describe, expect, it } from "vitest"
import { checksum } from "../../bench/harness.ts"
import { generateCatalog, productSchema } from "../../fixtures/catalog/generate.ts"
import { generateVisitors } from "../../fixtures/events/generate.ts"
import { generateQueries, gradeOf } from "../../fixtures/queries/generate.ts"
import { acceptBatch } from "../../src/events/accept-batch.ts"

const products = [...generateCatalog({ seed: 11, products: 1500 })]

describe("fixtures", () => {
  it("are the same for the same seed, and other for another", () => {
    const sum = (seed: number) =>
      checksum([...generateCatalog({ seed, products: 300 })].map((product) => JSON.stringify(product)))
    expect(sum(11)).toBe(sum(11))
    expect(sum(11)).not.toBe(sum(12))
    expect(sum(11)).toBe("1362efab1d71c14d")
  })
  it("have the size that was asked for, unique ids, and every required field of their schema", () => {
    expect(products).toHaveLength(1500)
    expect(new Set(products.map(({ id }) => id)).size).toBe(1500)
    const required = productSchema("p")
      .fields.filter((field) => !("optional" in field))
      .map(({ name }) => name)
    for (const product of products) expect(Object.keys(product)).toEqual(expect.arrayContaining(required))
  })
  it("judge by construction", () => {
    let relevant = 0
    for (const query of generateQueries(products, { seed: 3, queries: 200 })) {
      const grades = products.map((product) => gradeOf(query, product))
      if (grades.some((grade) => grade === 3)) relevant++
      for (const [i, grade] of grades.entries())
        if (grade > 0) expect(products[i].title.toLowerCase()).toContain(query.noun.toLowerCase())
    }
    expect(relevant).toBeGreaterThan(150)
  })
  it("make visitors whose every event is accepted", () => {
    const now = 1_790_000_000_000
    const events = [
      ...generateVisitors(products, {
        seed: 5,
        sessions: 200,
        collection: "products",
        from: now - 86_400_000,
        to: now,
        run: "t"
      })
    ]
    expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length)
    expect(new Set(events.map(({ type }) => type))).toEqual(
      new Set(["search", "click", "view", "add_to_cart", "purchase"])
    )
    for (let at = 0; at < events.length; at += 1000)
      expect(acceptBatch(events.slice(at, at + 1000), now).rejected).toEqual([])
  })
})
