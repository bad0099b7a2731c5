/** A plan built from a template equals the compiled plan. */
import { describe, expect, it } from "vitest"
import { compileSearch } from "../src/query/mod.ts"
import { TemplateCache, templateKey } from "../src/query/plan-templates.ts"
import { suiteField, suiteSchema } from "../src/testing/engine-suite.ts"
import { forcedBrand, searchContextOf } from "./search-context.ts"

const schema = suiteSchema(
  "c",
  [
    suiteField("title", "string"),
    suiteField("brand", "string", { facet: true }),
    suiteField("tags", "string[]", { facet: true }),
    suiteField("price", "float", { facet: true }),
    suiteField("rank", "int32")
  ],
  { default_sorting_field: "rank" }
)
const randomOf = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}
describe("templates of plans", () => {
  it("give what compiling gives, whatever the words", () => {
    for (let seed = 1; seed <= 800; seed++) {
      const random = randomOf(seed)
      const pick = <A>(list: ReadonlyArray<A>): A => list[Math.floor(random() * list.length)]
      const maybe = (name: string, values: ReadonlyArray<string>): Record<string, string> =>
        random() < 0.3 ? { [name]: pick(values) } : {}
      const parameters = {
        query_by: pick(["title", "title,brand", "title,brand,tags", "*"]),
        ...maybe("filter_by", ["price:<10", "brand:=Acme && rank:>3", "tags:[a,b]", "nowhere:1"]),
        ...maybe("facet_by", ["brand", "brand,tags", "price(low:[0,5])"]),
        ...maybe("sort_by", ["price:asc", "_text_match:desc,rank:asc", "_eval(brand:=Acme):desc", "_rand():asc"]),
        ...maybe("page", ["1", "3", "x"]),
        ...maybe("per_page", ["0", "5"]),
        ...maybe("group_by", ["brand"]),
        ...maybe("ranking", ["relevance"]),
        ...maybe("include_fields", ["title"]),
        ...maybe("highlight_fields", ["brand"]),
        ...maybe("num_typos", ["0", "1"]),
        ...maybe("prefix", ["false"]),
        ...maybe("hidden_hits", ["a,b"]),
        ...maybe("pinned_hits", ["a:1,c:3"])
      }
      for (const q of ["shoe", 'red "dark shoe" -blue', "*", "", "-only", "Ünï code", "shoe"]) {
        const more = random() < 0.3 ? { forcedFilter: forcedBrand } : {}
        // A different object is a different schema, for which nothing is cached.
        expect(
          compileSearch({ ...parameters, q }, searchContextOf(schema, more)),
          JSON.stringify({ ...parameters, q })
        ).toEqual(compileSearch({ ...parameters, q }, searchContextOf({ ...schema }, more)))
      }
    }
  })
  it("cannot be confused by the content of a value", () => {
    const context = searchContextOf({ ...schema })
    // A line break and a parameter name inside one value, where the other request has two parameters.
    const odd = { q: "shoe", query_by: "title", highlight_start_tag: "<b>\nsort_by\tprice:asc" }
    expect(compileSearch(odd, context).ok).toBe(true)
    const plain = { q: "shoe", query_by: "title", highlight_start_tag: "<b>", sort_by: "price:asc" }
    expect(compileSearch(plain, context)).toEqual(compileSearch(plain, searchContextOf({ ...schema })))
  })
  it("do not apply another caller's limits", () => {
    const parameters = { q: "shoe", query_by: "title", per_page: "200" }
    expect(compileSearch(parameters, searchContextOf(schema)).ok).toBe(true)
    expect(compileSearch(parameters, searchContextOf(schema, { limits: { per_page_max: 100 } }))).toMatchObject({
      ok: false,
      error: { parameter: "per_page" }
    })
  })
  it("take at most 16,000,000 bytes, and store nothing that does not compile", () => {
    const cache = new TemplateCache<number>()
    for (let i = 0; i < 10_000; i++) cache.put(`${i}${"k".repeat(2_000)}`, i)
    expect([
      cache.bytes > 8_000_000,
      cache.bytes <= 16_000_000,
      cache.get("0"),
      cache.get(`9999${"k".repeat(2_000)}`)
    ]).toEqual([true, true, undefined, 9_999])
    const limits = {}
    const plain = templateKey(schema, { q: "shoe", query_by: "title" }, limits)
    expect([
      templateKey(schema, { q: "shoe", query_by: "title", nobody_knows: "x".repeat(100_000) }, limits),
      templateKey(schema, { q: "shoe", query_by: "title", filter_by: "x".repeat(2_000) }, limits)
    ]).toEqual([plain, undefined])
  })
})
