/**
 * Nothing in a request can undo what a key forces on a search: filters are AND-ed as trees, and other embedded
 * parameters overwrite the request's.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import {
  importDocuments,
  memoryResources,
  multiSearch,
  search,
  upsertPreset,
  type OperationContext,
  type Restrictions
} from "../../engine-sdk/src/operations/mod.ts"
import { isClosedFilterText, PARAMETER_OWNERS } from "../../engine-sdk/src/query/mod.ts"
import { routerOver } from "../support/operation-router.ts"

const context: OperationContext = { engine: createEngine(), resources: memoryResources(), namespace: "n", now_s: 1 }
const answer = async (run: Promise<any>): Promise<any> => {
  const result = await run
  return result.ok
    ? JSON.parse(result.value.text ?? JSON.stringify(result.value.body))
    : { message: result.error.message }
}
beforeAll(async () => {
  const call = routerOver(context)
  await call(
    "POST",
    "/collections",
    JSON.stringify({
      name: "c",
      fields: [
        { name: "title", type: "string" },
        { name: "shop", type: "string", facet: true },
        { name: "owner", type: "string", reference: "people.pid", optional: true, async_reference: true }
      ]
    })
  )
  await call("POST", "/collections", JSON.stringify({ name: "people", fields: [{ name: "pid", type: "string" }] }))
  const started = importDocuments(
    context,
    "c",
    (async function* () {
      yield new TextEncoder().encode(
        ["a", "b", "a", "b"].map((shop, i) => JSON.stringify({ id: String(i), title: `oak ${i}`, shop })).join("\n")
      )
    })(),
    {}
  )
  if (!started.ok) throw new Error(started.error.message)
  for await (const _ of started.value.lines) {
    /* the lines do not matter */
  }
})
afterAll(() => context.engine.close())

const scoped: Restrictions = { embedded: { filter_by: "shop:=a" } }
describe("an embedded filter", () => {
  // The documents found, newest first, or the refusal: a filter that let nothing through would pass the other checks.
  it.each([
    ["", "2,0"],
    ["shop:=b", ""],
    ["shop:=b || shop:=a", "2,0"],
    ["id:* || title:oak", "2,0"],
    ["(id:*) || title:=`x", "2,0"],
    ["!$people(id:*) || id:*", "2,0"],
    ["id:* || title:x\\", "2,0"],
    ["*", "Could not parse the filter query."],
    ["shop:=b) || (id:*", "Could not parse the filter query: unbalanced parentheses."],
    ["id:*) || title:`", "Could not parse the filter query: unbalanced parentheses."],
    ["id:*)", "Could not parse the filter query: unbalanced parentheses."],
    ["id:* || title:=[`", "Error with filter field `title`: Filter value cannot be empty."]
  ])("cannot be bypassed by filter_by %j", async (filter_by, found) => {
    const body = await answer(search(context, "c", { q: "*", filter_by, facet_by: "shop" }, scoped))
    expect(body.message ?? body.hits.map((hit: any) => hit.document.id).join()).toBe(found)
    for (const count of body.facet_counts?.[0].counts ?? []) expect(count.value).toBe("a")
  })
  it("holds for pins, union and multi-search", async () => {
    expect(
      (await answer(search(context, "c", { q: "*", pinned_hits: "1:1,0:2" }, scoped))).hits.map(
        (hit: any) => hit.document.id
      )
    ).not.toContain("1")
    for (const union of [false, true]) {
      const body = await answer(
        multiSearch(
          context,
          JSON.stringify({
            union,
            searches: [
              { collection: "c", q: "*" },
              { collection: "c", q: "oak", query_by: "title", filter_by: "shop:=b) || (id:*" }
            ]
          }),
          {},
          scoped
        )
      )
      // The second search is refused, and a union is refused with it.
      if (union) expect(body).toMatchObject({ code: 400 })
      else
        expect(
          body.results.map((result: any) => result.error ?? result.hits.map((hit: any) => hit.document.id))
        ).toEqual([["2", "0"], "Could not parse the filter query: unbalanced parentheses."])
      expect(JSON.stringify(body)).not.toContain('"shop":"b"')
    }
  })
  it("is joined with the forced filter of the caller", async () => {
    const caller: Restrictions = { ...scoped, filters: { c: "id:[2,3]" } }
    expect((await answer(search(context, "c", { q: "*" }, caller))).hits.map((hit: any) => hit.document.id)).toEqual([
      "2"
    ])
  })
})
it("the text of a request cannot get around a preset's filter", async () => {
  await upsertPreset(context, "p", JSON.stringify({ value: { filter_by: "shop:=a", per_page: 1 } }))
  expect((await answer(search(context, "c", { q: "*", preset: "p" }))).hits.length).toBe(1)
  for (const filter_by of ["shop:=b) || (id:*", "id:* || title:`"])
    expect(await answer(search(context, "c", { q: "*", preset: "p", filter_by }))).toEqual({
      message: "Could not parse the filter query: unbalanced parentheses."
    })
})
it("embedded parameters overwrite the request's", async () => {
  const body = await answer(
    search(
      context,
      "c",
      { q: "*", per_page: 4, exclude_fields: "title" },
      { embedded: { per_page: 1, exclude_fields: "shop", expires_at: 99 } }
    )
  )
  expect(body.hits).toHaveLength(1)
  expect(body.hits[0].document).not.toHaveProperty("shop")
})
it("closed collections refuse searches that join them, and do not affect others", async () => {
  const closed: Restrictions = { collections: ["c"] }
  const refused = await search(context, "c", { q: "*", filter_by: "$people(id:*)" }, closed)
  expect(refused).toEqual({
    ok: false,
    error: { kind: "Closed", message: "The caller does not reach the collection." }
  })
  expect((await answer(search(context, "c", { q: "*" }, closed))).hits).toHaveLength(4)
  const searches = [
    { collection: "c", q: "*" },
    { collection: "people", q: "*" }
  ]
  for (const union of [false, true])
    expect(await multiSearch(context, JSON.stringify({ union, searches }), {}, closed)).toMatchObject({
      ok: false,
      error: { kind: "Closed" }
    })
})
it("filters that do not fit a collection close it, after what the request itself has wrong", async () => {
  const misfit: Restrictions = { filters: { c: "nothing:=a", people: "pid:=a" } }
  expect(await search(context, "c", { q: "*" }, misfit)).toMatchObject({
    error: { kind: "RestrictionNotApplicable" }
  })
  expect(await search(context, "c", { q: "*", per_page: "many" }, misfit)).toMatchObject({ error: { kind: "Invalid" } })
})
it("distinguishes closed filter texts from open ones", () => {
  expect(["a:1 && (b:2)", "a:=`)`", "a.{b:1}", "loc:(1, 2, 3 km)"].map(isClosedFilterText)).toEqual([
    true,
    true,
    true,
    true
  ])
  expect(["a:1) || (b:2", "a:`", "a:=[1", "$c(x:1", "a:(]"].map(isClosedFilterText)).toEqual([
    false,
    false,
    false,
    false,
    false
  ])
})
it("every search parameter has an owner", () => {
  const named =
    `q query_rewrite refinements search_policy x_user_id x_anonymous_id x_surface rerank_model query_by nl_model_id query_by_weights text_match_type prefix infix filter_by sort_by facet_by facet_query num_typos
    group_by include_fields exclude_fields highlight_full_fields highlight_start_tag highlight_end_tag highlight_fields synonym_sets drop_tokens_mode pinned_hits hidden_hits curation_tags split_join_tokens preset profile sort
    vector_query facet_strategy stopwords facet_return_parent voice_query conversation_model_id conversation_id x_personalization_strength rerank_top_k nl_query_prompt_cache_ttl max_extra_prefix max_extra_suffix
    max_filter_by_candidates max_facet_values facet_query_num_typos page per_page limit offset group_limit highlight_affix_num_tokens snippet_threshold drop_tokens_threshold typo_tokens_threshold synonym_num_typos
    max_candidates search_cutoff_ms cache_ttl min_len_1typo min_len_2typo remote_embedding_timeout_ms remote_embedding_num_tries debug rerank validate_field_names nl_query nl_query_debug group_missing_values enable_highlight_v1
    enable_analytics enable_typos_for_alpha_numerical_tokens enable_typos_for_numerical_tokens filter_curated_hits enable_synonyms synonym_prefix pre_segmented_query enable_curations prioritize_exact_match
    prioritize_token_position prioritize_num_matching_fields exhaustive_search use_cache conversation conversation_stream`.split(
      /\s+/
    )
  expect(named.filter((name) => PARAMETER_OWNERS[name] === undefined)).toEqual([])
})
