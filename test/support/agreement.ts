/**
 * The same catalogue in two engines and the same searches of both: how often status, `found`, the first ten ids and
 * facets are alike. Searches are generated queries, each with other parameters laid over.
 */
import { generateCatalog, productSchema } from "../../fixtures/catalog/generate.ts"
import { generateQueries } from "../../fixtures/queries/generate.ts"
import type { Lab } from "./engine-lab.ts"

type Parameters = Record<string, string | number | boolean>
interface Figures {
  searches: number
  status: number
  found: number
  ids: number
  facets: number
}
interface Agreement extends Figures {
  /** By what was laid over the query. */ readonly byGroup: ReadonlyMap<string, Figures>
  readonly differences: ReadonlyArray<string>
}

/** What each query is asked with, in turn. */
const variants: ReadonlyArray<readonly [string, (q: string) => Parameters]> = [
  ["words", (q) => ({ q })],
  ["facets", (q) => ({ q, facet_by: "brand,category,color,attributes,in_stock", max_facet_values: 20 })],
  ["filter", (q) => ({ q, filter_by: "price:<200 && in_stock:true", facet_by: "brand" })],
  [
    "everything",
    () => ({ q: "*", filter_by: "rating:>=4 || color:[red,black]", sort_by: "price:asc", facet_by: "brand,rating" })
  ],
  ["sort", (q) => ({ q, sort_by: "price:desc" })],
  ["text sort", (q) => ({ q, sort_by: "title:asc" })],
  ["second page", (q) => ({ q, page: 2 })],
  [
    "eval",
    (q) => ({ q, sort_by: "_eval([(brand:=Northwind || price:>300):3,(in_stock:true):2]):desc,popularity:desc" })
  ],
  ["groups", (q) => ({ q, group_by: "model_id", group_limit: 2 })],
  ["pins", (q) => ({ q, pinned_hits: "p7:1,p9:3", hidden_hits: "p1,p2" })],
  ["exclusion", (q) => ({ q: `${q} -black` })],
  ["facet query", (q) => ({ q, facet_by: "brand,category", facet_query: "category:s" })],
  ["ranges", (q) => ({ q, facet_by: "price(low:[0,100],high:[100,10000])" })],
  ["negation", (q) => ({ q, filter_by: "color:!=black && category:!=[Shoes]" })]
]
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
const idsOf = (body: any): unknown =>
  (body.hits ?? body.grouped_hits?.flatMap((group: any) => group.hits) ?? []).map((hit: any) => hit.document.id)
const facetsOf = (body: any): unknown =>
  (body.facet_counts ?? []).map((facet: any) => facet.counts.map(({ value, count }: any) => [value, count]))

export const measureAgreement = async (
  labs: readonly [Lab, Lab],
  options: { readonly products: number; readonly searches: number; readonly seed: number }
): Promise<Agreement> => {
  const products = [...generateCatalog({ seed: options.seed, products: options.products })]
  const { fields, name: _name, ...more } = productSchema("products")
  for (const lab of labs) await lab.collection("products", fields, products, more)
  const queries = [...generateQueries(products, { seed: options.seed, queries: options.searches })]
  const total: Figures = { searches: 0, status: 0, found: 0, ids: 0, facets: 0 }
  const byGroup = new Map<string, Figures>()
  const differences: string[] = []
  for (const [i, query] of queries.entries()) {
    const [group, laid] = variants[i % variants.length]
    const parameters = { query_by: "title,brand,category,description", per_page: 10, ...laid(query.q) }
    const [a, b] = await Promise.all(labs.map((lab) => lab.search("products", parameters)))
    const alike = {
      status: a.status === b.status,
      found: a.body.found === b.body.found,
      ids: same(idsOf(a.body), idsOf(b.body)),
      facets: same(facetsOf(a.body), facetsOf(b.body))
    }
    const own = byGroup.get(group) ?? { searches: 0, status: 0, found: 0, ids: 0, facets: 0 }
    byGroup.set(group, own)
    for (const figures of [total, own]) {
      figures.searches++
      for (const part of ["status", "found", "ids", "facets"] as const) if (alike[part]) figures[part]++
    }
    const wrong = Object.entries(alike).filter(([, isAlike]) => !isAlike)
    if (wrong.length > 0)
      differences.push(
        `${group} ${JSON.stringify(parameters)}: ${wrong.map(([part]) => part).join(", ")}; ${JSON.stringify([a.status, a.body.found, idsOf(a.body)])} ${JSON.stringify([b.status, b.body.found ?? b.body, idsOf(b.body)])}`
      )
  }
  return { ...total, byGroup, differences }
}
