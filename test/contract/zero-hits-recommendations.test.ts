/**
 * `zero_hits_fallback: "recommendations"` over HTTP: what a visitor sees if a search finds nothing, what keeps
 * documents out of it, and the model that rules name.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

let program: Program, shop: Tenant, other: Tenant
let model = ""

const full = (method: string, path: string, body?: unknown, tenant = shop) =>
  program.request(method, path, { key: tenant.full_key, body })
const rule = async (rules: object, tenant = shop) => {
  const answer = await full("PUT", "/v1/collections/goods/search_rules", rules, tenant)
  expect([answer.status, answer.text.slice(0, 300)]).toEqual([200, expect.any(String)])
}
const fallingBack = (more: object = {}) =>
  rule({ zero_hits_fallback: "recommendations", fallback_model_id: model, ...more })
const find = async (query: string, { key = shop.search_key, session = "me" } = {}) => {
  const path = `/v1/collections/goods/documents/search?q=nothing&query_by=title&${query}`
  const { body } = await program.request("GET", path, { key, headers: { "x-svc-session-id": session } })
  return body as {
    readonly found: number
    readonly hits: ReadonlyArray<{ readonly document: { readonly id: string } }>
  }
}
const ids = async (query = "", options: { key?: string; session?: string } = {}) =>
  (await find(query, options)).hits.map(({ document }) => document.id)
const until = async (look: () => Promise<boolean>, within_ms = 60_000) => {
  const last = performance.now() + within_ms
  while (!(await look())) {
    if (performance.now() > last) throw new Error(`not within ${within_ms} ms`)
    await new Promise((settle) => setTimeout(settle, 20))
  }
}

const schema = {
  name: "goods",
  fields: [
    { name: "title", type: "string" },
    { name: "brand", type: "string", facet: true },
    { name: "stock", type: "int32" }
  ]
}
const documents = ["lamp", "bulb", "shade", "rug", "sofa"].map((id, i) => ({
  id,
  title: `Product ${id}`,
  brand: i < 3 ? "lux" : "home",
  stock: i
}))
const view = (session_id: string, document_id: string) => ({
  type: "view",
  collection: "goods",
  session_id,
  document_id
})
const furnish = async (tenant: Tenant) => {
  await full("POST", "/v1/collections", schema, tenant)
  const lines = documents.map((each) => JSON.stringify(each)).join("\n")
  await full("POST", "/v1/collections/goods/documents/import", lines, tenant)
}
const modelOf = async (tenant: Tenant, collection = "goods") =>
  (await full("POST", "/v1/recommendations/models", { name: "a", collection, type: "also_viewed" }, tenant)).body
    .id as string

beforeAll(async () => {
  program = await sharedProgram()
  shop = await program.tenant("Shop")
  other = await program.tenant("Other")
  await furnish(shop)
  await furnish(other)
  model = await modelOf(shop)
  // Bulb goes with lamp, shade too but less; the other shop's visitors see rugs.
  const events = [
    ...["v1", "v2", "v3"].flatMap((session) => [view(session, "lamp"), view(session, "bulb")]),
    view("v4", "lamp"),
    view("v4", "shade"),
    view("me", "lamp")
  ]
  expect((await full("POST", "/v1/events", { events })).body.rejected).toEqual([])
  const theirs = ["w1", "w2", "me"].flatMap((session) => [view(session, "sofa"), view(session, "rug")])
  expect((await full("POST", "/v1/events", { events: theirs }, other)).body.rejected).toEqual([])
})
afterAll(() => program.stop())

describe("a search that finds nothing", () => {
  it("shows what the model recommends to its visitor, and reports it to a full key", async () => {
    await fallingBack()
    await until(async () => (await ids())[0] === "bulb")
    // First what goes with the lamp, then, down the chain, what is popular.
    expect((await ids()).slice(0, 2)).toEqual(["bulb", "shade"])
    expect((await ids("", { session: "stranger" }))[0]).toBe("lamp")
    const explained = await program.request(
      "GET",
      "/v1/collections/goods/documents/search?q=nothing&query_by=title&debug=true",
      { key: shop.full_key }
    )
    expect(explained.body.explain.fallback).toBe("recommendations")
    expect(explained.body.explain.hits.length).toBe(explained.body.found)
    expect((await find("per_page=1")).found).toBe((await find("per_page=10")).found)
  })
  it("shows it in a multi-search and a union, too, and in a preview", async () => {
    const entry = { collection: "goods", q: "nothing", query_by: "title", x_user_id: "somebody" }
    const many = async (body: object) =>
      (
        await program.request("POST", "/v1/multi_search", {
          key: shop.search_key,
          body,
          headers: { "x-svc-session-id": "me" }
        })
      ).body
    expect((await many({ searches: [entry] })).results[0].hits[0].document.id).toBe("bulb")
    expect((await many({ union: true, searches: [entry] })).hits[0].document.id).toBe("bulb")
    const preview = await full("POST", "/v1/collections/goods/search_rules/preview", {
      search: { q: "nothing", query_by: "title" },
      rules: { zero_hits_fallback: "recommendations", fallback_model_id: model }
    })
    expect([preview.body.before.found, preview.body.explain.fallback]).toEqual([0, "recommendations"])
    expect(preview.body.after.hits[0].document.id).toBe("lamp")
  })
  it("obeys the caller's filter, the key's, the profile's and the exclusion", async () => {
    await fallingBack()
    expect(await ids("filter_by=brand:=home")).toEqual([])
    expect(await ids("filter_by=stock:>1")).toEqual(["shade"])
    expect((await ids("filter_by=stock:>1&filter_curated_hits=false")).slice(0, 2)).toEqual(["bulb", "shade"])
    const forced = (
      await full("POST", "/v1/keys", { description: "f", scope: "search", filter_by: { goods: "id:!=bulb" } })
    ).body.value as string
    for (const query of ["", "filter_curated_hits=false"])
      expect(await ids(query, { key: forced })).toEqual(["shade", "lamp"])
    await fallingBack({ exclusion_filter_by: "id:=bulb" })
    for (const query of ["", "filter_curated_hits=false"]) expect(await ids(query)).toEqual(["shade", "lamp"])
    await fallingBack()
    const made = await full("POST", "/v1/collections/goods/search-profiles", {
      name: "shown",
      label: "Shown",
      searchable_fields: ["title"],
      fixed_filter_by: "id:!=bulb"
    })
    expect(made.status).toBe(201)
    for (const query of ["", "filter_curated_hits=false"])
      expect(await ids(`${query}&profile=shown`)).toEqual(["shade", "lamp"])
  })
  it("leaves a search that finds something unchanged", async () => {
    const { body } = await program.request("GET", "/v1/collections/goods/documents/search?q=rug&query_by=title", {
      key: shop.search_key,
      headers: { "x-svc-session-id": "me" }
    })
    expect(body.found).toBe(1)
  })
  it("shows no visitor what is cached for another, and nothing personal to a key that opts out", async () => {
    await fallingBack()
    const cached = "use_cache=true&cache_ttl=60"
    expect((await ids(cached))[0]).toBe("bulb")
    expect((await ids(cached, { session: "stranger" }))[0]).toBe("lamp")
    const impersonal = (await full("POST", "/v1/keys", { description: "i", scope: "search", personalization: false }))
      .body.value as string
    expect((await ids("", { key: impersonal }))[0]).toBe("lamp")
  })
  it("of another organization knows only its own visitors", async () => {
    const theirs = await modelOf(other)
    await rule({ zero_hits_fallback: "recommendations", fallback_model_id: theirs }, other)
    const shown = () => ids("", { key: other.search_key, session: "w9" })
    await until(async () => (await shown()).length === 2)
    expect((await shown()).sort()).toEqual(["rug", "sofa"])
    const foreign = { zero_hits_fallback: "recommendations", fallback_model_id: model }
    const refused = await full("PUT", "/v1/collections/goods/search_rules", foreign, other)
    expect([refused.status, refused.body.data.issues[0].path]).toEqual([400, "fallback_model_id"])
  })
})

describe("the model that rules name", () => {
  it("must exist, and belong to the same collection, under whatever name", async () => {
    await full("POST", "/v1/collections", { ...schema, name: "spare" })
    await full("PUT", "/v1/aliases/shown", { collection_name: "goods" })
    const put = async (fallback_model_id: string) => {
      const body = { zero_hits_fallback: "recommendations", fallback_model_id }
      const answer = await full("PUT", "/v1/collections/goods/search_rules", body)
      return [answer.status, answer.body.data?.issues]
    }
    const refused = (message: string) => [400, [{ path: "fallback_model_id", message }]]
    expect(await put("rec_none")).toEqual(refused("there is no such recommendation model"))
    expect(await put("")).toEqual(refused("is required with `recommendations`"))
    expect(await put(await modelOf(shop, "spare"))).toEqual(refused("the model is of the collection `spare`"))
    const byAlias = await modelOf(shop, "shown")
    expect((await put(byAlias))[0]).toBe(200)
    await fallingBack()
    expect((await full("DELETE", `/v1/recommendations/models/${byAlias}`)).status).toBe(200)
  })
  it("is neither deleted nor moved to another collection while they do", async () => {
    await fallingBack()
    const path = `/v1/recommendations/models/${model}`
    const refused = { code: "CONFLICT", data: { collections: ["goods"] } }
    expect(await full("DELETE", path)).toMatchObject({ status: 409, body: refused })
    const body = { name: "a", collection: "spare", type: "also_viewed" }
    expect(await full("PUT", path, body)).toMatchObject({ status: 409, body: refused })
    expect((await full("PUT", path, { ...body, collection: "goods" })).status).toBe(200)
    await rule({ zero_hits_fallback: "popular" })
    expect((await full("DELETE", path)).status).toBe(200)
  })
  it("also stays for rules that an experiment shows, and for those that it would restore", async () => {
    const mine = await modelOf(shop)
    const path = `/v1/recommendations/models/${mine}`
    const rules = { zero_hits_fallback: "recommendations", fallback_model_id: mine }
    const experiment = (rulesOf: object) => ({
      name: "which fallback",
      collection: "goods",
      metric: "ctr",
      minimum_days: 0,
      variants: [{ id: "as_is" }, { id: "other", rules: rulesOf }]
    })
    const created = await full("POST", "/v1/experiments", experiment(rules))
    const { id } = created.body as { readonly id: string }
    const refused = { status: 409, body: { data: { collections: [], experiments: [id] } } }
    expect(await full("DELETE", path)).toMatchObject(refused)
    // Nothing is said about another organization's experiments, and nothing stored.
    const theirs = await modelOf(other)
    expect((await full("DELETE", `/v1/recommendations/models/${theirs}`, undefined, other)).status).toBe(200)
    await rule(rules)
    await full("PUT", `/v1/experiments/${id}`, experiment({ zero_hits_fallback: "none" }))
    await full("POST", `/v1/experiments/${id}/start`)
    expect((await full("POST", `/v1/experiments/${id}/promote`, { variant_id: "other" })).status).toBe(200)
    expect(await full("DELETE", path)).toMatchObject(refused)
    expect((await full("POST", `/v1/experiments/${id}/rollback`)).status).toBe(200)
    expect(await full("DELETE", path)).toMatchObject({ body: { data: { collections: ["goods"], experiments: [] } } })
    await rule({ zero_hits_fallback: "popular" })
    expect((await full("DELETE", path)).status).toBe(200)
    const gone = await full("POST", "/v1/experiments", experiment(rules))
    expect([gone.status, gone.body.data.issues[0].path]).toEqual([400, "variants[1].rules.fallback_model_id"])
  })
  it("is deleted with its collection and its rules", async () => {
    model = await modelOf(shop)
    await fallingBack()
    expect((await full("DELETE", "/v1/collections/goods")).status).toBe(200)
    expect((await full("GET", `/v1/recommendations/models/${model}`)).status).toBe(404)
  })
})
