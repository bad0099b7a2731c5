/** Plans printed back to parameters are read as the same plans: random requests from a grammar, and hard cases. */
import { describe, expect, it } from "vitest"
import type { SearchPlan } from "../../engine-sdk/src/plan.ts"
import type { Filter } from "../../engine-sdk/src/filter.ts"
import { compileSearch } from "../../engine-sdk/src/query/mod.ts"
import type { CollectionInfo } from "../../engine-sdk/src/schema.ts"
import { placePlan } from "../../engine-sdk/src/typesense/place-plan.ts"
import { printPlan } from "../../engine-sdk/src/typesense/print-plan.ts"
import { suitePlan, suiteText } from "../../engine-sdk/src/testing/engine-suite.ts"
import { schemaOf, seeded } from "../support/engine-lab.ts"

const infoOf = (fields: ReadonlyArray<object>, more: object): CollectionInfo => ({
  schema: schemaOf(fields, { enable_nested_fields: true, ...more }),
  num_documents: 0,
  created_at: 0
})
const shops = infoOf(
  [
    { name: "city", type: "string", facet: true, stem: true },
    { name: "size", type: "int32" },
    { name: "name", type: "string", sort: true }
  ],
  { name: "shops" }
)
const goods = infoOf(
  [
    { name: "title", type: "string", infix: true },
    { name: "text", type: "string", stem: true },
    { name: "brand", type: "string", facet: true, sort: true },
    { name: "tags", type: "string[]", facet: true },
    { name: "code", type: "string", symbols_to_index: ["+", "#", "-", ",", "(", "&"] },
    { name: "price", type: "float", facet: true },
    { name: "stock", type: "int32", facet: true },
    { name: "serial", type: "int64" },
    { name: "isNew", type: "bool", facet: true },
    { name: "at", type: "geopoint" },
    { name: "parts", type: "object[]" },
    { name: "parts.kind", type: "string[]", facet: true },
    { name: "parts.n", type: "int32[]" },
    { name: "info", type: "object" },
    { name: "info.note", type: "string" },
    { name: "info.hint", type: "string" },
    { name: "near", type: "float[]", num_dim: 3 },
    { name: "shop", type: "string", reference: "shops.id", optional: true }
  ],
  { name: "goods", default_sorting_field: "stock" }
)
const known = new Map([goods, shops].map((info) => [info.schema.name, info]))
const plan = (request: Readonly<Record<string, unknown>>, forcedFilter?: Filter) =>
  compileSearch(request, {
    collection: goods,
    collectionOf: (name) => known.get(name),
    resources: {
      preset: () => undefined,
      stopwords: (name) => (name === "small" ? { id: name, stopwords: ["the", "of"] } : undefined),
      synonymSet: () => undefined,
      curationSet: () => undefined,
      stemmingDictionary: () => undefined
    },
    now_s: 1_000,
    matchesAny: () => false,
    ...(forcedFilter === undefined ? {} : { forcedFilter })
  })
const context = {
  schema: goods.schema,
  schemaOf: (name: string) => known.get(name)?.schema,
  dictionaries: () => undefined
}
const print = (one: SearchPlan) => {
  const printed = printPlan(one, context)
  if (!printed.ok) throw new Error(printed.error.message)
  return printed.value
}
/**
 * Removes what an answer echoes, the list of requested sort keys, and the bound on facet values if there are no facets.
 */
const essence = ({ echo: _echo, givenSortKeys: _given, facetValuesMax, ...rest }: SearchPlan) => ({
  ...rest,
  facetValuesMax: rest.facets.length === 0 ? 0 : facetValuesMax
})
const isFixed = (request: Readonly<Record<string, unknown>>): void => {
  const first = plan(request)
  if (!first.ok) throw new Error(`${JSON.stringify(request)}: ${first.error.message}`)
  const again = plan(print(first.value))
  expect(again.ok ? essence(again.value) : again, JSON.stringify([request, print(first.value)])).toEqual(
    essence(first.value)
  )
}

const random = seeded(20_261_124)
const pick = <A>(of: ReadonlyArray<A>): A => of[Math.floor(random() * of.length)]!
const some = <A>(of: ReadonlyArray<A>): ReadonlyArray<A> => of.filter(() => random() < 0.4)
const words = "running shoes generously studies the of happily 42 x1 Zürich naïve relational universities café".split(
  " "
)
const phrase = () => Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(words)).join(" ")
const query = (): string => {
  const parts = [phrase()]
  if (random() < 0.3) parts.push(`"${phrase()}"`)
  if (random() < 0.3) parts.push(`-${pick(words)}`)
  if (random() < 0.2) parts.push(`-"${phrase()}"`)
  if (random() < 0.1) return pick(['"running shoes"', "-shoes", "-", "!!", "*", "", '"open'])
  return parts.join(" ")
}
const leaf = (): string =>
  pick([
    () => `title:${phrase()}`,
    () => `text:=[${phrase()},\`${phrase()}, ${pick(words)}\`]`,
    () => `text:!=${phrase()}`,
    () => `brand:!${pick(words)}`,
    () => `brand:=${pick(words)}*`,
    () => `tags:["${phrase()}", ${pick(words)}]`,
    () => "code:=[`c++`, `a,b`, `x(y`, `r&&d`]",
    () => `code:c#*`,
    () => `price:${pick(["<", "<=", ">", ">=", "=", "!="])}${(random() * 100 - 20).toFixed(3)}`,
    () => `price:[1e-7..${random() * 1e9}, -3.5]`,
    () => "stock:>-2147483648",
    () => `serial:[9007199254740993..9223372036854775807, <5]`,
    () => "isNew:=[true,false]",
    () => `isNew:!=true`,
    () => "id:[a, `b,c`, d e]",
    () => "id:!=x",
    () => "id:*",
    () => "stock:[]",
    () => `at:(48.${Math.floor(random() * 1e6)}, 2.3, ${(random() * 30).toFixed(4)} ${pick(["km", "mi"])})`,
    () => "at:[([1.5, 2], radius: 3 mi, exact_filter_radius: 0.1 km), (0,0, 0,1, 1,1)]",
    () => `parts.{kind:=${pick(words)} && n:>${Math.floor(random() * 9)}}`,
    () => `$shops(city:${pick(words)} && size:>2)`,
    () => `!$shops(name:x || city:=${pick(words)})`
  ])()
const filter = (depth: number): string =>
  depth === 0 || random() < 0.3
    ? leaf()
    : `${random() < 0.5 ? `(${filter(depth - 1)})` : filter(depth - 1)} ${pick(["&&", "||"])} ${random() < 0.5 ? `(${filter(depth - 1)})` : leaf()}`
const sortKeys = [
  "_text_match:desc",
  "_text_match(buckets: 5):desc",
  "_text_match(bucket_size: 3):desc",
  "price:asc",
  "brand(missing_values: first):desc",
  "at(1.5, -2.25):asc",
  "at(1.5, 2, precision: 2 km):desc",
  "at(1.5, 2, exclude_radius: 1 mi):asc",
  "_eval([(brand:=x && price:<3):5, (isNew:true):2]):desc",
  "_eval(stock:>3):asc",
  "_rand(77):asc",
  "_seq_id:desc",
  "stock(func: gauss, origin: 10, scale: 3, offset: 1, decay: 0.25):desc",
  "_vector_query(near:([0.5, 1, -2], ef: 20)):asc",
  "$shops(size:desc)"
]
const lists = ["title", "text", "brand", "tags", "info", "info.note"]
const facets = [
  "brand",
  "tags(sort_by: _alpha:desc)",
  "price(low:[, 10], high:[10, 100.5], rest:[100.5, ])",
  "stock(sort_by: stock:asc)",
  "parts.kind(top_k: true)",
  "isNew",
  "$shops(city)"
]
const others: ReadonlyArray<readonly [string, () => unknown]> = [
  ["filter_by", () => filter(3)],
  ["filter_by", () => filter(2)],
  [
    "sort_by",
    () =>
      some(sortKeys)
        .slice(0, 3)
        .filter((key, i, all) => all.findIndex((one) => one.startsWith("_eval")) === i || !key.startsWith("_eval"))
        .join(",")
  ],
  [
    "include_fields",
    () =>
      some([
        "title",
        "price",
        "info*",
        "$shops(city, strategy: nest_array, sort_by: size:desc, limit: 2) as there"
      ]).join(",")
  ],
  ["exclude_fields", () => some(["text", "out_of", "info.note", "$shops(name)", "$shops"]).join(",")],
  ["group_by", () => pick(["brand", "tags,isNew"])],
  ["group_limit", () => pick([1, 5])],
  ["group_missing_values", () => false],
  ["pinned_hits", () => "a:1,b:3"],
  ["hidden_hits", () => "c,a"],
  ["filter_curated_hits", () => true],
  ["page", () => pick([1, 3])],
  ["per_page", () => pick([0, 7, 250])],
  ["offset", () => 11],
  ["limit_hits", () => 50],
  ["max_facet_values", () => 3],
  ["max_filter_by_candidates", () => 9],
  ["text_match_type", () => pick(["max_weight", "sum_score"])],
  ["drop_tokens_mode", () => pick(["left_to_right", "both_sides", "both_sides:4"])],
  ["split_join_tokens", () => pick(["off", "always"])],
  ["prioritize_exact_match", () => false],
  ["prioritize_token_position", () => true],
  ["prioritize_num_matching_fields", () => false],
  ["min_len_1typo", () => 2],
  ["typo_tokens_threshold", () => 0],
  ["drop_tokens_threshold", () => 5],
  ["max_candidates", () => 40],
  ["exhaustive_search", () => true],
  ["enable_typos_for_numerical_tokens", () => false],
  ["stopwords", () => "small"],
  ["pre_segmented_query", () => true],
  ["highlight_fields", () => pick(["title,info.note", "none"])],
  ["highlight_full_fields", () => "title"],
  ["highlight_affix_num_tokens", () => 9],
  ["snippet_threshold", () => 3],
  ["highlight_start_tag", () => "<b>"],
  ["enable_highlight_v1", () => false],
  ["search_cutoff_ms", () => 77],
  [
    "vector_query",
    () =>
      pick([
        "near:([0.1, -2e-7, 3], k: 7)",
        "near:([], id: a1, alpha: 0.9)",
        "near:([1,2,3], distance_threshold: 0.3, flat_search_cutoff: 9, ef: 30)"
      ])
  ],
  ["rerank_hybrid_matches", () => true]
]
const request = (): Record<string, unknown> => {
  const names = some(lists)
  const out: Record<string, unknown> = {
    q: query(),
    query_by: (names.length === 0 ? ["title"] : names)
      .filter((name) => name !== "info.note" || !names.includes("info"))
      .join(",")
  }
  const count = String(out.query_by).split(",").length
  const each = (of: ReadonlyArray<unknown>) => Array.from({ length: count }, () => pick(of)).join(",")
  if (random() < 0.3) out.query_by_weights = each([1, 4, 9, 200])
  if (random() < 0.3) out.num_typos = each([0, 1, 2])
  if (random() < 0.3) out.prefix = each([true, false])
  if (random() < 0.1) out.infix = each(["off", "fallback"])
  if (random() < 0.4) {
    const asked = some(facets)
    out.facet_by = asked.join(",")
    if (asked.includes("brand") && random() < 0.5) {
      out.facet_query = `brand:${phrase()}`
      out.facet_query_num_typos = pick([0, 1, 2])
    }
    if (random() < 0.3) out.facet_strategy = "exhaustive"
    if (random() < 0.3) out.facet_return_parent = "parts.kind"
  }
  for (const [name, value] of others) if (random() < 0.12) out[name] = value()
  return out
}

describe("a plan printed back to parameters", () => {
  it("is read as the same plan, for two thousand requests of every parameter", () => {
    let compared = 0
    const refused = new Map<string, number>()
    for (let i = 0; i < 2_000; i++) {
      const drawn = request()
      const first = plan(drawn)
      if (first.ok && !first.value.matchesNothing) {
        compared++
        isFixed(drawn)
      } else if (!first.ok) refused.set(first.error.message, (refused.get(first.error.message) ?? 0) + 1)
    }
    // Requests that no plan can express are skipped: a few combinations of parameters that exclude each other.
    expect(compared, JSON.stringify([...refused])).toBeGreaterThan(1_500)
  })
  it("keeps joins of a request and of a restriction separate: each requires its own related document", () => {
    const forced = plan({ q: "*", filter_by: "$shops(size:>2)" })
    const both = plan({ q: "*", filter_by: "$shops(city:x) && stock:>1" }, forced.ok ? forced.value.filter : undefined)
    const printed = print(both.ok ? both.value : suitePlan("goods"))
    const again = plan({ ...printed })
    expect(again.ok && again.value.filter).toMatchObject({
      kind: "and",
      left: { kind: "and", left: { kind: "join", filter: { field: "city" } } },
      right: { kind: "and", left: { kind: "all" }, right: { kind: "join", filter: { field: "size" } } }
    })
  })
  it("finds a word for a stem that would be stemmed again, and refuses if there is none", () => {
    for (const word of ["generously", "relational", "happily", "universities"])
      isFixed({ q: `-${word} shoes`, query_by: "text", filter_by: `text:=${word}` })
    const filter: Filter = {
      kind: "string",
      field: "text",
      values: [{ tokens: ["two words"], match: "contains", prefix: false }],
      prefixCandidates: 4
    }
    expect(printPlan(suitePlan("goods", { filter }), context)).toMatchObject({ error: { parameter: "filter_by" } })
  })
  it("is refused, with the name of what no parameter expresses", () => {
    const text = suiteText(["cup"], ["title"])
    const boosts = (count: number) => {
      const one = { filter: { kind: "all" }, score: 1 } as const
      return { kind: "boosts", cases: Array.from({ length: count }, () => one), order: "desc" } as const
    }
    const cases: ReadonlyArray<readonly [string, Partial<SearchPlan>]> = [
      ["synonym_sets", { text: { ...text, synonyms: [{ tokens: ["mug"] }] } }],
      ["sort_by", { sort: Array.from({ length: 4 }, () => ({ kind: "seq", order: "asc" }) as const) }],
      ["rules", { sort: [{ kind: "listed", ids: ["1"], order: "asc" }] }],
      ["rules", { sort: [boosts(6)] }],
      ["rules", { sort: [boosts(1), { kind: "eval", cases: boosts(1).cases, order: "asc" }] }],
      ["filter_by", { filter: { kind: "ids", ids: ["a`b"] } }],
      ["pinned_hits", { pinned: [{ id: "a,b", position: 1 }] }],
      ["hidden_hits", { hidden: ["a,b"] }],
      ["filter_by", { filter: { kind: "join", collection: "nowhere", filter: { kind: "all" } } }],
      ["curation_tags", { diversity: { lambda: 1, metrics: [] } }]
    ]
    for (const [parameter, more] of cases)
      expect(printPlan(suitePlan("goods", more), context)).toMatchObject({
        ok: false,
        error: { kind: "CapabilityMissing", parameter }
      })
    const ranked = plan({ q: "cup", query_by: "title", ranking: "relevance" })
    expect(ranked.ok && printPlan(ranked.value, context)).toMatchObject({ error: { parameter: "ranking" } })
  })
})

it("translates every filter of a plan to the server's names", () => {
  const joined: Filter = { kind: "join", collection: "orders", filter: { kind: "none" } }
  const plan = suitePlan("goods", { filter: joined, pinnedFilter: joined, injectedFilter: joined })
  const placed = placePlan(plan, (name) => `here-org-${name}`)
  for (const filter of [placed.filter, placed.pinnedFilter, placed.injectedFilter])
    expect(filter).toEqual({ ...joined, collection: "here-org-orders" })
})
