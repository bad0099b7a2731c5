/**
 * Reads a server's answer to a search into the port's form. The text is untrusted: every part is checked, only known
 * parts are used, and anything else is treated as an unavailable engine.
 */
import { isObject } from "../documents/json.ts"
import { fail, ok, type Result } from "../errors.ts"
import type { FacetCount, Hit, SearchAnswer, SearchPlan, TextMatchInfo, UnionAnswer, UnionPlan } from "../plan.ts"
import { errorOf } from "./client.ts"

type Json = { readonly [key: string]: unknown }
/** Translates a message or name of the server to what the tenant knows. */
type Translate = (sentence: string) => string

/** Thrown for anything with an unexpected shape; caught where reading begins. */
class Nonsense extends Error {}
const nonsense = (what: string): never => {
  throw new Nonsense(what)
}
const object = (value: unknown, what: string): Json => (isObject(value) ? value : nonsense(what))
const list = (value: unknown, what: string): ReadonlyArray<unknown> => (Array.isArray(value) ? value : nonsense(what))
const text = (value: unknown, what: string): string => (typeof value === "string" ? value : nonsense(what))
/** An integer that a double cannot hold is rounded to the nearest one. */
const number = (value: unknown, what: string): number =>
  typeof value === "bigint"
    ? Number(value)
    : typeof value === "number" && Number.isFinite(value)
      ? value
      : nonsense(what)
const count = (value: unknown, what: string): number => {
  const read = number(value, what)
  return Number.isInteger(read) && read >= 0 ? read : nonsense(what)
}

/** Unavailable if the text is not an answer of such a server; otherwise the failure that it reports. */
export const readResult = <A>(raw: unknown, translate: Translate, read: (body: Json) => A): Result<A> => {
  try {
    const body = object(raw, "an answer")
    if (body.code !== undefined || body.error !== undefined)
      return fail(errorOf(number(body.code, "a code"), translate(text(body.error, "an error"))))
    return ok(read(body))
  } catch (error) {
    if (!(error instanceof Nonsense)) throw error
    return fail({
      kind: "Unavailable",
      message: `The search engine's server answers nonsense: ${error.message} is missing or has another form.`
    })
  }
}

export const readSearch = (body: Json, plan: SearchPlan, translate: Translate): SearchAnswer => {
  const { echo } = plan
  const groups = body.grouped_hits
  return {
    facet_counts: list(body.facet_counts ?? [], "facet_counts").map((facet) => facetOf(facet, translate)),
    found: count(body.found, "found"),
    ...(body.found_docs === undefined ? {} : { found_docs: count(body.found_docs, "found_docs") }),
    ...(plan.group === undefined
      ? { hits: hitsOf(body.hits, translate) }
      : { grouped_hits: list(groups, "grouped_hits").map((group) => groupOf(group, translate)) }),
    ...(plan.metadata === undefined ? {} : { metadata: plan.metadata }),
    ...(echo.offset === undefined ? {} : { offset: echo.offset }),
    ...(echo.excludeOutOf ? {} : { out_of: count(body.out_of, "out_of") }),
    ...(echo.page === undefined ? {} : { page: echo.page }),
    request_params: { collection_name: plan.collection, first_q: echo.q, per_page: echo.per_page, q: echo.q },
    search_cutoff: body.search_cutoff === true,
    ...(echo.excludeSearchTime ? {} : { search_time_ms: number(body.search_time_ms ?? 0, "search_time_ms") })
  }
}
/** Ids of the hits of an answer, which must contain all hits. */
export const readIds = (body: Json): ReadonlySet<string> => {
  if (body.search_cutoff === true) nonsense("a part of the hits")
  return new Set(
    list(body.hits, "hits").map((hit) => text(object(object(hit, "a hit").document, "a document").id, "id"))
  )
}
export const readUnion = (body: Json, { echoOffset, page, plans }: UnionPlan, translate: Translate): UnionAnswer => {
  const asked = list(body.union_request_params, "union_request_params")
  if (asked.length !== plans.length) nonsense("union_request_params")
  const counts = asked.map((one) => count(object(one, "union_request_params").found ?? body.found, "found"))
  return {
    found: count(body.found, "found"),
    ...(plans[0]?.group === undefined
      ? { hits: hitsOf(body.hits, translate) }
      : { grouped_hits: list(body.grouped_hits, "grouped_hits").map((group) => groupOf(group, translate)) }),
    ...(echoOffset === undefined ? {} : { offset: echoOffset }),
    out_of: count(body.out_of, "out_of"),
    ...(page === undefined ? {} : { page }),
    search_cutoff: body.search_cutoff === true,
    search_time_ms: number(body.search_time_ms ?? 0, "search_time_ms"),
    union_request_params: plans.map(({ collection, echo }, i) => ({
      collection_name: collection,
      first_q: echo.q,
      found: counts[i]!,
      per_page: echo.per_page,
      q: echo.q
    })),
    // Here rules add no hits, because such plans are refused.
    ...(plans.some(({ injected }) => injected !== undefined) ? { organic: counts } : {})
  }
}

const groupOf = (raw: unknown, translate: Translate): NonNullable<SearchAnswer["grouped_hits"]>[number] => {
  const group = object(raw, "a group")
  return {
    group_key: [...list(group.group_key, "group_key")],
    // Some servers report no count per group.
    found: count(group.found ?? list(group.hits, "hits").length, "found"),
    hits: hitsOf(group.hits, translate)
  }
}
const hitsOf = (raw: unknown, translate: Translate): Array<Hit> =>
  list(raw, "hits").map((hit) => hitOf(object(hit, "a hit"), translate))

const hitOf = (raw: Json, translate: Translate): Hit => {
  const hit: Hit = {
    document: object(raw.document, "a document"),
    highlight: object(raw.highlight ?? {}, "highlight")
  }
  if (raw.highlights !== undefined)
    hit.highlights = list(raw.highlights, "highlights").map((one) => object(one, "a highlight"))
  if (raw.curated === true) hit.curated = true
  if (raw.geo_distance_meters !== undefined)
    hit.geo_distance_meters = numbersOf(raw.geo_distance_meters, "geo_distance_meters")
  if (raw.vector_distance !== undefined) hit.vector_distance = number(raw.vector_distance, "vector_distance")
  const score = raw.text_match
  if (score !== undefined)
    hit.text_match = typeof score === "bigint" ? score : BigInt(Math.trunc(number(score, "text_match")))
  if (raw.text_match_info !== undefined) hit.text_match_info = infoOf(object(raw.text_match_info, "text_match_info"))
  if (raw.hybrid_search_info !== undefined) {
    const { rank_fusion_score } = object(raw.hybrid_search_info, "hybrid_search_info")
    hit.hybrid_search_info = { rank_fusion_score: number(rank_fusion_score, "rank_fusion_score") }
  }
  if (raw.collection !== undefined) hit.collection = translate(text(raw.collection, "collection"))
  if (raw.search_index !== undefined) hit.search_index = count(raw.search_index, "search_index")
  return hit
}
const numbersOf = (raw: unknown, what: string): Record<string, number> =>
  Object.fromEntries(Object.entries(object(raw, what)).map(([name, value]) => [name, number(value, what)]))
const infoOf = (raw: Json): TextMatchInfo => ({
  best_field_score: String(raw.best_field_score),
  best_field_weight: number(raw.best_field_weight, "best_field_weight"),
  fields_matched: number(raw.fields_matched, "fields_matched"),
  num_tokens_dropped: number(raw.num_tokens_dropped, "num_tokens_dropped"),
  score: String(raw.score),
  tokens_matched: number(raw.tokens_matched, "tokens_matched"),
  typo_prefix_score: number(raw.typo_prefix_score, "typo_prefix_score")
})

const STATS = ["min", "max", "sum", "avg"] as const
const facetOf = (raw: unknown, translate: Translate): FacetCount => {
  const facet = object(raw, "a facet")
  const stats = object(facet.stats ?? {}, "stats")
  const values = list(facet.counts, "counts").map((one): FacetCount["counts"][number] => {
    const counted = object(one, "a count")
    const { facet_filter, parent, value } = counted
    return {
      value: text(value, "value"),
      highlighted: text(counted.highlighted ?? value, "highlighted"),
      count: count(counted.count, "count"),
      ...(parent === undefined ? {} : { parent }),
      ...(facet_filter === undefined ? {} : { facet_filter: translate(text(facet_filter, "facet_filter")) })
    }
  })
  const known: Partial<FacetCount["stats"]> = {}
  for (const name of STATS) if (stats[name] !== undefined) known[name] = number(stats[name], name)
  return {
    field_name: translate(text(facet.field_name, "field_name")),
    sampled: facet.sampled === true,
    counts: values,
    stats: { ...known, total_values: count(stats.total_values ?? values.length, "total_values") }
  }
}
