/**
 * The tests that every engine behind the port must pass. The suite depends on no test framework: it takes `describe`,
 * `it` and `expect` and a factory. Assertions have two grades: `exact` engines must answer as the contract says,
 * `approximate` ones only with the right set of documents.
 */
import type { SearchEngine } from "../engine.ts"
import type { Filter } from "../filter.ts"
import type { SearchAnswer, SearchPlan } from "../plan.ts"
import type { Document } from "../schema.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "./suite-values.ts"

/** The part of a test framework that the suite uses. */
export interface SuiteFramework {
  readonly describe: (name: string, body: () => void) => void
  readonly it: (name: string, body: () => Promise<void>) => void
  readonly expect: (value: unknown) => { toEqual(expected: unknown): void; toBe(expected: unknown): void }
}
export interface EngineUnderTest {
  readonly engine: SearchEngine
  readonly dispose: () => Promise<void>
}

export { putOf, suiteField, suitePlan, suiteSchema, suiteText }

const PRODUCTS: ReadonlyArray<Document> = [
  { id: "1", name: "Copper Kettle", brand: "Berg", price: 40, stock: 3, tags: ["kitchen", "red"] },
  { id: "2", name: "Copper Mug", brand: "Berg", price: 12.5, stock: 0, tags: ["kitchen"] },
  { id: "3", name: "Oak Table", brand: "Holm", price: 300, stock: 2, tags: ["living", "oak table"] },
  { id: "4", name: "Old oak table set", brand: "holm", price: 450, tags: ["living"] },
  { id: "5", name: "Steel Kettle", brand: "Nord", price: 25, stock: 9, tags: ["kitchen", "steel"] }
]
const productSchema = suiteSchema("products", [
  suiteField("name", "string", { optional: false, sort: true }),
  suiteField("brand", "string", { facet: true }),
  suiteField("price", "float", { facet: true }),
  suiteField("stock", "int32"),
  suiteField("tags", "string[]", { facet: true })
])
const contains = (field: string, token: string): Filter => ({
  kind: "string",
  field,
  values: [{ tokens: [token], match: "contains", prefix: false }],
  prefixCandidates: 4
})

const made = async (engine: SearchEngine, name: string, created_at: number): Promise<void> => {
  const created = await engine.createCollection("a", suiteSchema(name, [suiteField("x", "int32")]), created_at)
  if (!created.ok) throw new Error(created.error.message)
}

/**
 * Declares the tests. Each gets its own engine from `make`.
 *
 * @example
 * ```ts
 * import { createEngine } from "@dowser/engine-sdk"
 * import { engineSuite } from "@dowser/engine-sdk/testing"
 * import { describe, expect, it } from "vitest"
 *
 * engineSuite({ describe, expect, it }, "my engine", async () => {
 *   const engine = createEngine()
 *   return { engine, dispose: async () => engine.close() }
 * })
 * ```
 */
export const engineSuite = (
  framework: SuiteFramework,
  name: string,
  make: () => Promise<EngineUnderTest>,
  grade: "exact" | "approximate" = "exact"
): void => {
  const { describe, it, expect } = framework
  const using = (body: (engine: SearchEngine) => Promise<void>) => async (): Promise<void> => {
    const { engine, dispose } = await make()
    try {
      await body(engine)
    } finally {
      await dispose()
    }
  }
  const answer = async (engine: SearchEngine, plan: SearchPlan, namespace = "a"): Promise<SearchAnswer> => {
    const [result] = await engine.search(namespace, [plan])
    if (!result.ok) throw new Error(result.error.message)
    return result.value
  }
  const ids = async (engine: SearchEngine, plan: SearchPlan, namespace = "a"): Promise<string[]> => {
    const found = ((await answer(engine, plan, namespace)).hits ?? []).map(({ document }) => String(document.id))
    return grade === "exact" ? found : found.sort()
  }
  const order = (...expected: string[]): string[] => (grade === "exact" ? expected : expected.sort())
  const filled = async (engine: SearchEngine, namespace = "a"): Promise<void> => {
    const made = await engine.createCollection(namespace, productSchema, 1)
    const written = await engine.write(
      namespace,
      "products",
      PRODUCTS.map((document) => putOf(document))
    )
    if (!made.ok || !written.ok || written.value.some(({ result }) => !result.ok))
      throw new Error("the suite's products could not be written")
  }

  describe(`${name}: collections`, () => {
    it(
      "creates, describes, lists newest first and drops",
      using(async (engine) => {
        await made(engine, "first", 1)
        await made(engine, "second", 2)
        const again = await engine.createCollection("a", suiteSchema("first", [suiteField("x", "int32")]), 3)
        expect(again.ok ? "made" : again.error.kind).toBe("Conflict")
        expect(engine.listCollections("a").map(({ schema }) => schema.name)).toEqual(["second", "first"])
        expect(engine.describeCollection("a", "first")?.created_at).toBe(1)
        expect((await engine.dropCollection("a", "first")).ok).toBe(true)
        expect(engine.describeCollection("a", "first")).toBe(undefined)
        const missing = await engine.dropCollection("a", "first")
        expect(missing.ok ? "dropped" : missing.error.kind).toBe("NotFound")
      })
    )
    it(
      "keeps namespaces apart",
      using(async (engine) => {
        await filled(engine, "a")
        expect(engine.listCollections("b")).toEqual([])
        const [other] = await engine.search("b", [suitePlan("products")])
        expect(other.ok ? "found" : other.error.kind).toBe("NotFound")
        await filled(engine, "b")
        await engine.write("b", "products", [{ kind: "delete", id: "1" }])
        expect(engine.describeCollection("a", "products")?.num_documents).toBe(5)
        expect(engine.describeCollection("b", "products")?.num_documents).toBe(4)
      })
    )
    it(
      "alters: adds a field over stored documents, refuses what does not fit",
      using(async (engine) => {
        await filled(engine)
        await engine.write("a", "products", [putOf({ id: "6", name: "Lamp", colour: "red" })])
        const refused = await engine.alterCollection("a", "products", {
          drop: [],
          add: [suiteField("colour", "int32", { optional: true })]
        })
        expect(refused.ok).toBe(false)
        expect(await ids(engine, suitePlan("products", { filter: contains("name", "lamp") }))).toEqual(["6"])
        const altered = await engine.alterCollection("a", "products", {
          drop: ["stock"],
          add: [suiteField("colour", "string", { facet: true })]
        })
        expect(altered.ok ? altered.value.schema.fields.map((field) => field.name) : []).toEqual([
          "name",
          "brand",
          "price",
          "tags",
          "colour"
        ])
        expect(await ids(engine, suitePlan("products", { filter: contains("colour", "red") }))).toEqual(["6"])
      })
    )
  })

  describe(`${name}: documents`, () => {
    it(
      "answers one verdict per operation, in order",
      using(async (engine) => {
        await engine.createCollection("a", productSchema, 1)
        const written = await engine.write(
          "a",
          "products",
          [
            putOf({ id: "1", name: "One" }, "create"),
            putOf({ id: "1", name: "Again" }, "create"),
            putOf({ id: "2" }, "create"),
            putOf({ name: "Generated" }, "create"),
            putOf({ id: "1", brand: "Berg" }, "update"),
            { kind: "delete", id: "9" },
            { kind: "put", action: "create", dirtyValues: undefined, document: '{"id":"5","name":"From text"}' }
          ],
          { returnDocuments: true }
        )
        const verdicts = written.ok ? written.value : []
        expect(verdicts.map(({ result }) => (result.ok ? "ok" : result.error.kind))).toEqual([
          "ok",
          "Conflict",
          "Invalid",
          "ok",
          "ok",
          "NotFound",
          "ok"
        ])
        expect(verdicts[4]?.result).toEqual({
          ok: true,
          value: { id: "1", changed: true, document: { id: "1", name: "One", brand: "Berg" } }
        })
        expect(engine.describeCollection("a", "products")?.num_documents).toBe(3)
      })
    )
    it(
      "shows a write to the next search and keeps insertion order through updates",
      using(async (engine) => {
        await filled(engine)
        await engine.write("a", "products", [putOf({ ...PRODUCTS[0], name: "Copper Pot" })])
        expect(await ids(engine, suitePlan("products", { text: suiteText(["kettle"], ["name"]) }))).toEqual(["5"])
        const page = await engine.scan("a", { collection: "products", filter: undefined, limit: 2 })
        expect(page.ok ? page.value.ids : []).toEqual(["1", "2"])
        const rest = page.ok
          ? await engine.scan("a", { collection: "products", filter: undefined, limit: 10, after: page.value.next })
          : page
        expect(rest.ok ? [rest.value.ids, rest.value.next] : []).toEqual([["3", "4", "5"], undefined])
      })
    )
    it(
      "gets by id with a selection and misses as undefined",
      using(async (engine) => {
        await filled(engine)
        const found = await engine.get("a", "products", ["2", "nope"], { include: ["name"], exclude: [], joins: [] })
        expect(found.ok ? found.value : []).toEqual([{ name: "Copper Mug" }, undefined])
      })
    )
    it(
      "survives many small writes",
      using(async (engine) => {
        await filled(engine)
        for (let i = 0; i < 60; i++)
          await engine.write("a", "products", [putOf({ id: `n${i % 20}`, name: `Counter ${i}`, stock: i })])
        expect(
          (await answer(engine, suitePlan("products", { text: suiteText(["counter"], ["name"]), limit: 0 }))).found
        ).toBe(20)
        expect(
          await ids(
            engine,
            suitePlan("products", {
              filter: { kind: "number", field: "stock", type: "int32", ranges: [{ min: 59, max: 59 }] }
            })
          )
        ).toEqual(["n19"])
        expect(engine.describeCollection("a", "products")?.num_documents).toBe(25)
      })
    )
  })

  describe(`${name}: search`, () => {
    it(
      "finds words, prefixes and typos, best first",
      using(async (engine) => {
        await filled(engine)
        expect(await ids(engine, suitePlan("products", { text: suiteText(["copper", "kettle"], ["name"]) }))).toEqual([
          "1"
        ])
        expect(await ids(engine, suitePlan("products", { text: suiteText(["ket"], ["name"]) }))).toEqual(
          order("5", "1")
        )
        expect(await ids(engine, suitePlan("products", { text: suiteText(["kettel"], ["name"]) }))).toEqual(
          order("5", "1")
        )
        expect(await ids(engine, suitePlan("products", { text: suiteText(["oak", "table"], ["name"]) }))).toEqual(
          order("3", "4")
        )
        expect(await ids(engine, suitePlan("products", { text: suiteText(["nothing"], ["name"]) }))).toEqual([])
      })
    )
    it(
      "filters by strings, numbers and ids, and complements negations",
      using(async (engine) => {
        await filled(engine)
        expect(await ids(engine, suitePlan("products", { filter: contains("brand", "holm") }))).toEqual(order("4", "3"))
        const stock: Filter = { kind: "number", field: "stock", type: "int32", ranges: [{ min: 1, max: Infinity }] }
        expect(await ids(engine, suitePlan("products", { filter: stock }))).toEqual(order("5", "3", "1"))
        expect(await ids(engine, suitePlan("products", { filter: { kind: "not", filter: stock } }))).toEqual(
          order("4", "2")
        )
        expect(await ids(engine, suitePlan("products", { filter: { kind: "ids", ids: ["2", "x"] } }))).toEqual(["2"])
        expect(
          await ids(
            engine,
            suitePlan("products", {
              filter: {
                kind: "string",
                field: "tags",
                values: [{ tokens: ["oak", "table"], match: "equals", prefix: false }],
                prefixCandidates: 4
              }
            })
          )
        ).toEqual(["3"])
      })
    )
    it(
      "sorts by fields with missing values last and counts facets over all matches",
      using(async (engine) => {
        await filled(engine)
        const found = await answer(
          engine,
          suitePlan("products", {
            limit: 2,
            sort: [{ kind: "field", field: "stock", type: "int32", missing: "normal", order: "asc" }],
            facets: [
              {
                field: "tags",
                ranges: [],
                order: { kind: "count" },
                topK: false,
                strategy: "exhaustive",
                returnParent: false
              }
            ]
          })
        )
        expect(found.found).toBe(5)
        expect((found.hits ?? []).map(({ document }) => document.id)).toEqual(["2", "3"])
        expect(found.facet_counts[0].counts.map(({ value, count }) => [value, count])).toEqual([
          ["kitchen", 3],
          ["living", 2],
          ["red", 1],
          ["steel", 1],
          ["oak table", 1]
        ])
      })
    )
    it(
      "pins, hides and groups",
      using(async (engine) => {
        await filled(engine)
        expect(await ids(engine, suitePlan("products", { pinned: [{ id: "1", position: 1 }], hidden: ["5"] }))).toEqual(
          order("1", "4", "3", "2")
        )
        const grouped = await answer(
          engine,
          suitePlan("products", { group: { fields: ["brand"], limit: 1, missingValues: true } })
        )
        expect(grouped.found).toBe(4)
        expect(grouped.found_docs).toBe(5)
        expect(grouped.grouped_hits?.map(({ group_key, found }) => [group_key[0], found]).sort()).toEqual([
          ["Berg", 2],
          ["Holm", 1],
          ["Nord", 1],
          ["holm", 1]
        ])
      })
    )
    it(
      "answers one result per plan, failures among them",
      using(async (engine) => {
        await filled(engine)
        const results = await engine.search("a", [
          suitePlan("products"),
          suitePlan("nope"),
          suitePlan("products", { matchesNothing: true })
        ])
        expect(results.map((result) => (result.ok ? result.value.found : result.error.kind))).toEqual([
          5,
          "NotFound",
          0
        ])
      })
    )
    it(
      "takes a plan of thousands of values, and says of one without time that it is cut off",
      using(async (engine) => {
        await filled(engine)
        const many = Array.from({ length: 9_000 }, (_value, i) => i)
        expect(
          await ids(engine, suitePlan("products", { filter: { kind: "ids", ids: many.map((i) => String(i * 2)) } }))
        ).toEqual(order("4", "2"))
        expect(
          await ids(
            engine,
            suitePlan("products", {
              filter: {
                kind: "not",
                filter: {
                  kind: "number",
                  field: "stock",
                  type: "int32",
                  ranges: many.map((i) => ({ min: i + 1, max: i + 1 }))
                }
              }
            })
          )
        ).toEqual(order("4", "2"))
        const late = await answer(
          engine,
          suitePlan("products", { filter: { kind: "not", filter: { kind: "ids", ids: ["1"] } }, cutoff_ms: 0 })
        )
        // Either it was done in time, or a filter that was cut off let nothing through.
        expect(late.search_cutoff || late.found === 4).toBe(true)
        expect((late.hits ?? []).some(({ document }) => document.id === "1")).toBe(false)
      })
    )
    it(
      "counts the time of one request over its calls, and answers what is left of it cut off",
      using(async (engine) => {
        await filled(engine)
        const budget = { limit_ms: 1_000, used_ms: 0 }
        const results = await engine.search("a", [suitePlan("products"), suitePlan("products")], budget)
        expect(results.map((result) => result.ok && result.value.found)).toEqual([5, 5])
        expect(budget.used_ms >= 0).toBe(true)
        const late = await engine.search("a", [suitePlan("products", { filter: contains("brand", "berg") })], {
          limit_ms: 10,
          used_ms: 10
        })
        expect(late.map((result) => result.ok && (result.value.search_cutoff || result.value.found === 2))).toEqual([
          true
        ])
      })
    )
    if (grade === "exact")
      it(
        "scores and highlights as the contract says",
        using(async (engine) => {
          await filled(engine)
          const found = await answer(engine, suitePlan("products", { text: suiteText(["copper"], ["name"]) }))
          expect((found.hits ?? []).map(({ text_match }) => String(text_match))).toEqual([
            "578730123365189753",
            "578730123365189753"
          ])
          expect(found.hits?.[0].highlight).toEqual({
            name: { matched_tokens: ["Copper"], snippet: "<mark>Copper</mark> Mug" }
          })
        })
      )
  })
}
