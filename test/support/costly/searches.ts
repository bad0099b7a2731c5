/**
 * Searches built to be slow, by seed: each part of a search is made as costly as its grammar allows, and some parts are
 * combined.
 */
import type { Random } from "../../../fixtures/random.ts"
import { DIMENSIONS, wordOf } from "./catalogue.ts"

interface CostlyRequest {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: unknown
  readonly kind: string
}
type Parameters = Record<string, string | number | boolean>

const list = (count: number, make: (i: number) => string, separator = ","): string =>
  Array.from({ length: count }, (_item, i) => make(i)).join(separator)
const words = (random: Random, count: number): string => list(count, () => wordOf(random), " ")
const corners = (random: Random, count: number): string =>
  list(
    count,
    (i) =>
      `${(60 * Math.sin((i / count) * 6.283)).toFixed(5)}, ${(150 * Math.cos((i / count) * 6.283) + random.below(3)).toFixed(5)}`
  )

const queries: ReadonlyArray<(random: Random) => Parameters> = [
  (random) => ({
    q: words(random, 1 + random.below(4)),
    query_by: "title,body,tags",
    num_typos: 2,
    typo_tokens_threshold: 1_000_000,
    drop_tokens_threshold: 1_000_000
  }),
  (random) => ({ q: words(random, 350), query_by: "title,body,tags,unique", num_typos: 2, exhaustive_search: true }),
  (random) => ({
    q: wordOf(random).slice(0, 2),
    query_by: "title,body,tags",
    infix: "always,always,always",
    prefix: true
  }),
  (random) => ({
    q: words(random, 8),
    query_by: "p_*",
    infix: "fallback",
    num_typos: 2,
    exhaustive_search: true,
    typo_tokens_threshold: 100_000
  }),
  (random) => ({
    q: `${words(random, 3)} ${list(40, () => `-${wordOf(random)}`, " ")} ${list(10, () => `"${words(random, 2)}"`, " ")} -"${words(random, 3)}"`,
    query_by: "title,body"
  }),
  (random) => ({ q: words(random, 60), query_by: "title,body,tags", ranking: "relevance", drop_tokens_threshold: 100 }),
  (random) => ({
    q: words(random, 5).replaceAll(" ", ""),
    query_by: "title,body",
    split_join_tokens: "always",
    drop_tokens_mode: "both_sides:100"
  }),
  (random) => ({
    q: words(random, 20),
    query_by: "title,tags",
    enable_synonyms: true,
    synonym_prefix: true,
    synonym_num_typos: 2,
    synonym_sets: "chains"
  }),
  (random) => ({
    q: words(random, 60),
    query_by: "title",
    enable_curations: true,
    curation_tags: list(500, (i) => `t${i}`)
  }),
  (random) => ({
    q: words(random, 3),
    query_by: "title,body",
    max_candidates: 1_000_000,
    exhaustive_search: true,
    prefix: true,
    min_len_1typo: 1,
    min_len_2typo: 1
  }),
  (random) => ({
    q: "a",
    query_by: "title,body,tags,unique",
    prefix: true,
    max_candidates: 10_000 + random.below(100_000),
    exhaustive_search: true
  }),
  () => ({ q: "*", query_by: "title" }),
  () => ({ q: "x".repeat(3_900), query_by: "body", num_typos: 2 }),
  (random) => ({ q: "é".repeat(1_000 + random.below(900)), query_by: "body,title", num_typos: 2 }),
  (random) => ({
    q: "*",
    vector_query: `vec:([${list(DIMENSIONS, () => random.normal().toFixed(3))}], k: ${random.pick([10, 100_000, 1_000_000])}, ef: ${random.pick([10, 1_000_000])}, distance_threshold: 3, flat_search_cutoff: ${random.pick([0, 1_000_000])})`
  }),
  (random) => ({
    q: words(random, 4),
    query_by: "title,body",
    vector_query: `vec:([${list(DIMENSIONS, () => random.normal().toFixed(3))}], k: 1000000, alpha: 0.9)`,
    rerank_hybrid_matches: true
  })
]
const filters: ReadonlyArray<(random: Random) => Parameters> = [
  (random) => ({ filter_by: `tags:=[${list(1_000 + random.below(8_000), (i) => `tag ${i}`)}]` }),
  (random) => ({ filter_by: `n:[${list(1_000 + random.below(8_000), (i) => `${i}..${i + 3}`)}]` }),
  (random) => ({ filter_by: `id:[${list(9_000, (i) => `d${i * random.below(5)}`)}]` }),
  (random) => ({ filter_by: `place:(${corners(random, 1_000 + random.below(3_900))})` }),
  (random) => ({ filter_by: `places:(${corners(random, 2_000)})` }),
  (random) => ({ filter_by: `parts.{name:${wordOf(random)} && n:>${random.below(100)}}` }),
  (random) => ({
    filter_by: list(
      49,
      () => `parts.{name:${wordOf(random).slice(0, 2)}* || n:[${list(100, (i) => String(i))}]}`,
      " || "
    )
  }),
  (random) => ({
    filter_by: `tags:[${list(500, () => `${wordOf(random).slice(0, 1)}*`)}]`,
    max_filter_by_candidates: 1_000_000
  }),
  (random) => ({ filter_by: list(50, (i) => `!$makers(rank:>${i * random.below(9)})`, " || ").replaceAll("!$", "$") }),
  () => ({ filter_by: `$makers($goods($makers($goods(id:* && n:>0))))` }),
  (random) => ({ filter_by: `${"(".repeat(90)}n:>${random.below(100)}${")".repeat(90)}` }),
  (random) => ({ filter_by: list(50, () => `body:=\`${words(random, 30)}\``, " || ") }),
  () => ({ filter_by: "body:!=[x*,k*,l*,m*,r*]" })
]
const orders: ReadonlyArray<(random: Random) => Parameters> = [
  (random) => ({
    sort_by: `_eval([${list(60, (i) => `(tags:=\`tag ${i}\` || n:>${random.below(4_000)}):${i}`)}]):desc,title:asc`
  }),
  () => ({ sort_by: "$makers(name:desc),title:asc,price:desc" }),
  () => ({ sort_by: "place(1.5, 2.5, precision: 1 km):asc,_rand(7):desc" }),
  () => ({ sort_by: "_text_match(buckets: 1000000):desc,n:asc" }),
  (random) => ({ sort_by: `_vector_query(vec:([${list(DIMENSIONS, () => random.normal().toFixed(3))}])):asc` }),
  (random) => ({ offset: random.below(4_000), per_page: 250 }),
  () => ({ per_page: 250, page: 1_000_000 })
]
const facets: ReadonlyArray<(random: Random) => Parameters> = [
  () => ({ facet_by: "tags,unique,numbers,price,n,title,parts.name", max_facet_values: 1_000_000 }),
  () => ({ facet_by: "*", max_facet_values: 10_000, facet_strategy: "exhaustive" }),
  (random) => ({
    facet_by: `price(${list(1_000, (i) => `r${i}:[${i},${i + 1}]`)}),numbers(${list(500, (i) => `r${i}:[${i * 2_000},${(i + 1) * 2_000}]`)})`,
    max_facet_values: 1_000 + random.below(10)
  }),
  (random) => ({
    facet_by: "tags,unique,title",
    facet_query: `unique:${wordOf(random).slice(0, 6)}`,
    facet_query_num_typos: 2,
    max_facet_values: 100_000
  }),
  () => ({ facet_by: "tags,parts.name", facet_return_parent: "*", max_facet_values: 5_000 }),
  () => ({
    facet_by: "unique(sort_by: _alpha:desc),tags(sort_by: n:desc),parts.name(top_k: true)",
    max_facet_values: 100_000
  }),
  () => ({ facet_by: "$makers(name),$makers(rank)" }),
  () => ({ group_by: "unique", group_limit: 99, per_page: 250 }),
  () => ({
    group_by: "tags,parts.name",
    group_limit: 99,
    per_page: 250,
    group_missing_values: false,
    sort_by: "_group_found:desc"
  })
]
const shows: ReadonlyArray<(random: Random) => Parameters> = [
  () => ({ highlight_full_fields: "*", highlight_fields: "*", snippet_threshold: 1_000_000, per_page: 50 }),
  () => ({ highlight_full_fields: "body,title,tags", per_page: 100 }),
  () => ({ include_fields: `${list(99, (i) => `p_${i}*`)},$makers(*, strategy: nest_array, sort_by: name:desc)` }),
  () => ({ exclude_fields: `${list(900, (i) => `f${i}.a.b`)},body`, per_page: 250 }),
  () => ({ include_fields: "id,$makers($goods(id,title, limit: 100),name)", per_page: 100 }),
  (random) => ({ pinned_hits: list(1_000, (i) => `d${i * 3}:${1 + random.below(500)}`), per_page: 250 }),
  () => ({ hidden_hits: list(1_000, (i) => `d${i}`) }),
  () => ({ stopwords: list(900, () => "some") })
]
const cutoffOf = (random: Random): Parameters =>
  random.chance(0.02)
    ? { search_cutoff_ms: random.pick([2_000, 60_000]) }
    : { search_cutoff_ms: random.pick([20, 40, 80]) }
/** One costly query, or another costly part, or several together. */
const costlySearch = (random: Random): Parameters => {
  const parts: Parameters[] = [random.pick(queries)(random)]
  for (const [from, chance] of [
    [filters, 0.4],
    [orders, 0.35],
    [facets, 0.4],
    [shows, 0.35]
  ] as const)
    if (random.chance(chance)) parts.push(random.pick(from)(random))
  return Object.assign({}, ...parts, cutoffOf(random)) as Parameters
}
const entry = (random: Random): Parameters => ({
  collection: random.chance(0.93) ? "goods" : "makers",
  ...costlySearch(random)
})
const textOf = (parameters: Parameters): string =>
  new URLSearchParams(
    Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)])
  ).toString()

export const costlyRequest = (random: Random): CostlyRequest => {
  const roll = random.next()
  if (roll < 0.25) {
    // Parameters too long for a query string are sent as a body.
    const parameters = costlySearch(random),
      text = textOf(parameters)
    return text.length < 3_900
      ? { kind: "GET", method: "GET", path: `/v1/collections/goods/documents/search?${text}` }
      : {
          kind: "single",
          method: "POST",
          path: "/v1/multi_search",
          body: { searches: [{ collection: "goods", ...parameters }] }
        }
  }
  if (roll < 0.6)
    return {
      kind: "multi_search",
      method: "POST",
      path: "/v1/multi_search",
      body: { searches: [entry(random), entry(random)] }
    }
  if (roll < 0.7) {
    const one = entry(random)
    return {
      kind: "fifty",
      method: "POST",
      path: "/v1/multi_search",
      body: {
        searches: Array.from({ length: 50 }, (_search, i) =>
          random.chance(0.8)
            ? { ...one, offset: i }
            : { collection: "goods", ...random.pick(queries)(random), ...cutoffOf(random) }
        )
      }
    }
  }
  if (roll < 0.8)
    return {
      kind: "union",
      method: "POST",
      path: "/v1/multi_search",
      body: {
        union: true,
        remove_duplicates: random.chance(0.7),
        searches: Array.from({ length: 2 + random.below(10) }, () => ({
          collection: "goods",
          ...random.pick(queries)(random),
          ...(random.chance(0.5) ? random.pick(filters)(random) : {}),
          sort_by: "n:desc,title:asc",
          ...cutoffOf(random)
        }))
      }
    }
  if (roll < 0.87)
    return {
      kind: "gateway",
      method: "POST",
      path: "/api/v1/multi-search",
      body: {
        searches: Array.from({ length: 10 }, () => {
          const { collection: _collection, ...search } = entry(random)
          return { index: "goods", ...search }
        })
      }
    }
  if (roll < 0.94)
    return {
      kind: "preview",
      method: "POST",
      path: "/v1/collections/goods/search_rules/preview",
      body: { search: costlySearch(random) }
    }
  if (roll < 0.97)
    return {
      kind: "suggestions",
      method: "GET",
      path: `/v1/collections/goods/suggestions?q=${encodeURIComponent(words(random, 1 + random.below(40)))}&limit=20`
    }
  return { kind: "prompts", method: "GET", path: "/v1/collections/goods/prompts?limit=20" }
}
