/**
 * The same catalogue in two engines, and the same searches on both: how often status, `found`, the first ten ids and
 * facets agree. Searches are generated queries, each with different additional parameters.
 */
import { generateCatalog, productSchema } from "../../fixtures/catalog/generate.ts"
import { generateQueries } from "../../fixtures/queries/generate.ts"
import { seeded, type Lab } from "./engine-lab.ts"

type Parameters = Record<string, string | number | boolean>
interface Figures {
  searches: number
  status: number
  found: number
  ids: number
  facets: number
}
interface Agreement extends Figures {
  /** By the parameters that were added to the query. */ readonly byGroup: ReadonlyMap<string, Figures>
  readonly differences: ReadonlyArray<string>
}

/** The parameters added to the queries, in turn. */
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
  return compare(
    labs,
    queries.map(({ q }, i) => {
      const [group, laid] = variants[i % variants.length]!
      return [group, { query_by: "title,brand,category,description", per_page: 10, ...laid(q) }]
    })
  )
}

/** Vectors have this many dimensions and are scattered around those of a few dozen kinds of things. */
const DIMENSIONS = 24,
  KINDS = 30
/** The parameters added to each vector, in turn; `q` are words, `id` is a document's. */
const vectorVariants: ReadonlyArray<readonly [string, (vector: string, q: string, id: string) => Parameters]> = [
  ["nearest", (vector) => ({ q: "*", vector_query: `embedding:(${vector})` })],
  ["k", (vector) => ({ q: "*", vector_query: `embedding:(${vector}, k: 60, ef: 80)`, page: 2, facet_by: "brand" })],
  ["filter", (vector) => ({ q: "*", vector_query: `embedding:(${vector}, k: 25)`, filter_by: "price:<120" })],
  [
    "small filter",
    (vector) => ({
      q: "*",
      vector_query: `embedding:(${vector}, k: 5, flat_search_cutoff: 400)`,
      filter_by: "price:<60 && in_stock:true"
    })
  ],
  ["radius", (vector) => ({ q: "*", vector_query: `embedding:(${vector}, k: 200, distance_threshold: 0.25)` })],
  [
    "document",
    (_vector, _q, id) => ({ q: "*", vector_query: `embedding:([], id: ${id}, k: 30)`, facet_by: "category" })
  ],
  ["hybrid", (vector, q) => ({ q, vector_query: `embedding:(${vector}, alpha: 0.6)` })],
  ["hybrid filter", (vector, q) => ({ q, vector_query: `embedding:(${vector}, k: 50)`, filter_by: "in_stock:true" })],
  ["hybrid reranked", (vector, q) => ({ q, vector_query: `embedding:(${vector})`, rerank_hybrid_matches: true })],
  ["sort", (vector) => ({ q: "*", vector_query: `embedding:(${vector}, k: 80)`, sort_by: "price:asc" })],
  ["groups", (vector) => ({ q: "*", vector_query: `embedding:(${vector}, k: 80)`, group_by: "brand", group_limit: 2 })],
  [
    "pins",
    (vector) => ({ q: "*", vector_query: `embedding:(${vector})`, pinned_hits: "p7:1,p9:3", hidden_hits: "p1" })
  ],
  ["sorted by a vector", (vector) => ({ q: "*", sort_by: `_vector_query(embedding:(${vector})):asc` })],
  ["inner product", (vector) => ({ q: "*", vector_query: `strength:(${vector}, k: 20, distance_threshold: -10)` })]
]
/** The same for vectors: documents with one for their direction and one whose length grows with their popularity. */
export const measureVectorAgreement = async (
  labs: readonly [Lab, Lab],
  options: { readonly products: number; readonly searches: number; readonly seed: number }
): Promise<Agreement> => {
  const random = seeded(options.seed)
  const part = () => random() * 2 - 1
  const kinds = Array.from({ length: KINDS }, () => Array.from({ length: DIMENSIONS }, part))
  const near = () => kinds[Math.floor(random() * KINDS)]!.map((own) => Math.round((own + part() * 0.7) * 1e4) / 1e4)
  const products = [...generateCatalog({ seed: options.seed, products: options.products })].map((product) => {
    const embedding = near()
    // One in twelve has none.
    return random() < 1 / 12
      ? product
      : { ...product, embedding, strength: embedding.map((own) => own * (1 + product.rating / 5)) }
  })
  const { fields, name: _name, ...more } = productSchema("products")
  const vector = { type: "float[]", num_dim: DIMENSIONS, optional: true }
  const own = [...fields, { name: "embedding", ...vector }, { name: "strength", ...vector, vec_dist: "ip" }]
  for (const lab of labs) await lab.collection("products", own, products, more)
  const withVector = products.filter((product) => "embedding" in product)
  const queries = [...generateQueries(products, { seed: options.seed, queries: options.searches })]
  return compare(
    labs,
    queries.map(({ q }, i) => {
      const [group, laid] = vectorVariants[i % vectorVariants.length]!
      const parameters = laid(`[${near().join()}]`, q, withVector[(i * 37) % withVector.length]!.id)
      return [group, { query_by: "title,category", per_page: 10, exclude_fields: "embedding,strength", ...parameters }]
    })
  )
}
const compare = async (
  labs: readonly [Lab, Lab],
  searches: ReadonlyArray<readonly [group: string, parameters: Parameters]>
): Promise<Agreement> => {
  const total: Figures = { searches: 0, status: 0, found: 0, ids: 0, facets: 0 }
  const byGroup = new Map<string, Figures>()
  const differences: string[] = []
  for (const [group, parameters] of searches) {
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
        `${JSON.stringify([alike.facets, alike.facets ? 0 : [facetsOf(a.body), facetsOf(b.body)]])}${group} ${JSON.stringify(parameters)}: ${wrong.map(([part]) => part).join(", ")}; ${JSON.stringify([a.status, a.body.found, idsOf(a.body)])} ${JSON.stringify([b.status, b.body.found ?? b.body, idsOf(b.body)])}`
      )
  }
  return { ...total, byGroup, differences }
}
