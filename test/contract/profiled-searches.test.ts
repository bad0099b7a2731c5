/**
 * Searches by a profile: every way to name one takes the same step, what a client sends with it is limited to what the
 * profile allows, and a key's own restrictions apply as well.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { securedKey } from "../support/secured.ts"

let program: Program
let tenant: Tenant, other: Tenant
const send = (method: string, path: string, body?: unknown, key = tenant.full_key, headers = {}) =>
  program.request(method, path, { ...(key === "" ? {} : { key }), body, headers })
const base = "/v1/collections/goods/search-profiles"
const fields = [
  { name: "title", type: "string" },
  { name: "brand", type: "string", facet: true },
  { name: "price", type: "int32" },
  { name: "status", type: "string", facet: true },
  { name: "place", type: "geopoint", optional: true }
]
const goods = Array.from({ length: 12 }, (_, i) => ({
  id: String(i + 1),
  title: `lamp number ${i + 1}`,
  brand: i % 2 === 0 ? "acme" : "zoom",
  price: i + 1,
  status: i % 3 === 0 ? "secret" : "public",
  place: [50 + i / 100, 8]
}))
const allowed = goods.filter(({ status }) => status === "public").map(({ id }) => id)
const body = {
  label: "Goods",
  searchable_fields: ["title"],
  facet_fields: [{ field: "brand", label: "Brand" }],
  filterable_fields: ["brand", "place"],
  sorts: [
    { id: "cheap", label: "Cheapest", sort_by: "price:asc" },
    { id: "dear", label: "Dearest", sort_by: "price:desc" }
  ],
  default_sort_id: "cheap",
  fixed_filter_by: "status:=public",
  per_page_max: 5
}
const search = (query: Record<string, string>, key = tenant.search_key) =>
  program.request("GET", `/v1/collections/goods/documents/search?${new URLSearchParams({ q: "lamp", ...query })}`, {
    key
  })
const idsOf = ({ body: { hits } }: { readonly body: any }): ReadonlyArray<string> =>
  hits.map((hit: any) => hit.document.id)
const newKey = async (more: object) =>
  (await send("POST", "/v1/keys", { description: "k", scope: "search", rate_limit_per_minute: 0, ...more })).body
    .value as string

beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Profiled")
  other = await program.tenant("Others")
  for (const { full_key } of [tenant, other]) {
    await send("POST", "/v1/collections", { name: "goods", fields }, full_key)
    await send(
      "POST",
      "/v1/collections/goods/documents/import",
      goods.map((one) => JSON.stringify(one)).join("\n"),
      full_key
    )
  }
  // The other tenant's profile of the same name shows everything.
  await send("POST", base, { name: "listing", searchable_fields: ["title"] }, other.full_key)
  expect((await send("POST", base, { name: "listing", ...body })).status).toBe(201)
  expect((await send("POST", base, { name: "wide", searchable_fields: ["title"] })).status).toBe(201)
})
afterAll(() => program.stop())

const cheapest = allowed.slice(0, 5)

describe("every way to name a profile", () => {
  it("leads to the same search: parameter, multi-search entry, union, secured key, browser key, gateway, default", async () => {
    const answers: Record<string, any> = { parameter: (await search({ profile: "listing" })).body }
    const many = await send("POST", "/v1/multi_search", {
      searches: [
        { collection: "goods", q: "lamp", profile: "listing" },
        { collection: "goods", q: "lamp", query_by: "title" },
        { collection: "goods", q: "lamp", profile: "none" }
      ]
    })
    answers.entry = many.body.results[0]
    expect(many.body.results[1]).toMatchObject({ found: 12 })
    expect(many.body.results[1].profile).toBeUndefined()
    expect(many.body.results[2]).toMatchObject({ code: 404 })
    answers.query = (
      await send("POST", "/v1/multi_search?profile=listing", { searches: [{ collection: "goods", q: "lamp" }] })
    ).body.results[0]
    answers["secured key"] = (await search({}, securedKey(tenant.search_key, { profile: "listing" }))).body
    answers["secured key over the request"] = (
      await search({ profile: "wide" }, securedKey(tenant.search_key, { profile: "listing" }))
    ).body
    const browser = (await send("POST", "/v1/browser_keys", { profile: "listing" })).body.key as string
    answers["browser key"] = (await search({}, browser)).body
    answers["browser key, named"] = (await search({ profile: "listing", query_by: "title" }, browser)).body
    const gateway = await newKey({ gateway: true })
    const bearer = { authorization: `Bearer ${gateway}` }
    answers.gateway = (
      await send("POST", "/api/v1/indexes/goods/search", { q: "lamp", profile: "listing" }, "", bearer)
    ).body
    await send("PUT", `${base}/listing`, { ...body, is_default: true })
    answers.default = (await search({})).body
    await send("PUT", `${base}/listing`, body)
    for (const [way, answer] of Object.entries(answers)) {
      expect([way, answer.profile]).toEqual([way, { name: "listing", release_id: null, version: null }])
      expect([way, answer.hits.map((hit: any) => hit.document.id)]).toEqual([way, cheapest])
      expect([way, answer.found]).toEqual([way, allowed.length])
      expect([way, answer.facet_counts.map((facet: any) => facet.field_name)]).toEqual([way, ["brand"]])
    }
    const union = await send("POST", "/v1/multi_search?per_page=250", {
      union: true,
      searches: [
        { collection: "goods", q: "lamp", profile: "listing" },
        { collection: "goods", q: "lamp", profile: "listing", filter_by: "brand:=zoom" }
      ]
    })
    expect(union.body.hits.map((hit: any) => hit.document.id)).toEqual(cheapest)
    expect(union.body.hits).toHaveLength(5)
    const preview = await send("POST", "/v1/collections/goods/search_rules/preview", {
      search: { q: "lamp", profile: "listing" }
    })
    expect(preview.body.before.hits.map((hit: any) => hit.document.id)).toEqual(cheapest)
  })

  it("in a browser key excludes all others: another is 403, and the key becomes invalid with its profile", async () => {
    await send("POST", base, { name: "brief", ...body })
    const mint = (more: object) => send("POST", "/v1/browser_keys", { profile: "brief", ...more })
    expect((await mint({ profile: "none" })).status).toBe(404)
    expect((await mint({ collections: ["elsewhere"] })).status).toBe(404)
    const key = (await mint({ collections: ["goods"] })).body.key as string
    expect(idsOf(await search({}, key))).toEqual(cheapest)
    const refused = await search({ profile: "wide" }, key)
    expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining("cannot be applied") } })
    expect((await send("GET", `${base}/wide/storefront`, undefined, key)).status).toBe(403)
    expect((await send("GET", `${base}/brief/storefront`, undefined, key)).status).toBe(200)
    const entries = (profile: string) =>
      send("POST", "/v1/multi_search", { searches: [{ collection: "goods", q: "lamp", profile }] }, key)
    expect((await entries("wide")).status).toBe(403)
    expect((await entries("brief")).body.results[0].profile.name).toBe("brief")
    // It gives no access to another collection.
    await send("POST", "/v1/collections", { name: "more", fields: [{ name: "title", type: "string" }] })
    const wider = (await mint({})).body.key as string
    expect(
      (await send("GET", "/v1/collections/more/documents/search?q=a&query_by=title", undefined, wider)).status
    ).toBe(403)
    // Several collections have a profile of that name: the key decides which.
    await send("POST", "/v1/collections/more/search-profiles", { name: "brief", searchable_fields: ["title"] })
    expect(await mint({})).toMatchObject({ status: 400, body: { data: { issues: [{ path: "collections" }] } } })
    // Suggestions show only values that the profile shows, of documents that it lets through.
    const suggested = async (asking: string) =>
      (await send("GET", "/v1/collections/goods/prompts", undefined, asking)).body.data.map((each: any) => [
        each.q,
        each.count
      ])
    expect(await suggested(tenant.search_key)).toContainEqual(["secret", 4])
    const shown = [
      ["acme", 4],
      ["zoom", 4]
    ]
    expect((await suggested(key)).sort()).toEqual(shown)
    expect((await suggested(securedKey(tenant.search_key, { profile: "brief" }))).sort()).toEqual(shown)
    expect((await send("DELETE", `${base}/brief`)).status).toBe(200)
    expect((await search({ profile: "brief" })).status).toBe(404)
    expect((await search({}, key)).status).toBe(401)
    expect((await send("POST", base, { name: "brief", ...body })).status).toBe(201)
    expect((await search({}, key)).status).toBe(401)
    expect((await search({}, (await mint({ collections: ["goods"] })).body.key)).status).toBe(200)
  })

  it("separates cached answers, and drops them with the next write", async () => {
    const cached = { profile: "wide", use_cache: "true", cache_ttl: "60" }
    const first = await search(cached)
    expect(first.body.found).toBe(12)
    await send("PUT", `${base}/wide`, { searchable_fields: ["title"], fixed_filter_by: "status:=secret" })
    expect((await search(cached)).body.found).toBe(4)
    await send("PUT", `${base}/wide`, { searchable_fields: ["title"] })
    expect((await search(cached)).body.found).toBe(12)
  })
})

describe("beside a profile a client", () => {
  it("picks a sort, a page, filters and groups as the profile lists them, and nothing else", async () => {
    const by = (query: Record<string, string>, key?: string) => search({ profile: "listing", ...query }, key)
    expect(idsOf(await by({ sort: "dear", per_page: "2", page: "2" }))).toEqual([...allowed].reverse().slice(2, 4))
    expect((await by({ sort: "none" })).status).toBe(400)
    const sizes: ReadonlyArray<Record<string, string>> = [
      { per_page: "250" },
      { limit: "250" },
      { per_page: "5", offset: "0" }
    ]
    for (const size of sizes) expect((await by(size)).body.hits).toHaveLength(5)
    expect(idsOf(await by({ filter_by: "brand:=zoom" }))).toEqual(["2", "6", "8", "12"])
    for (const filter_by of [
      "status:=secret",
      "price:>3",
      "id:=1",
      "none:=1",
      "brand:=acme || status:=secret",
      "brand:=acme) || (status:=secret",
      "!status:=public",
      "status:=[]",
      "$goods(status:=secret)",
      "brand:=`a` && place:(1"
    ])
      expect([filter_by, (await by({ filter_by })).status]).toEqual([filter_by, 400])
    expect((await by({ group_by: "brand" })).body.grouped_hits).toHaveLength(2)
    expect((await by({ group_by: "status" })).status).toBe(400)
    expect((await by({ facet_query: "brand:ac" })).body.facet_counts[0].counts).toHaveLength(1)
    expect((await by({ facet_query: "status:se" })).status).toBe(400)

    const meddling = {
      query_by: "brand",
      sort_by: "price:desc",
      facet_by: "status",
      query_by_weights: "3",
      include_fields: "id",
      pinned_hits: "1:1",
      hidden_hits: "2",
      filter_curated_hits: "false",
      vector_query: "x:([])",
      search_policy: "none",
      nl_query: "true",
      limit_hits: "1",
      validate_field_names: "false"
    }
    const meddled = await by({ ...meddling, debug: "true" }, tenant.full_key)
    expect(idsOf(meddled)).toEqual(cheapest)
    expect(meddled.body.facet_counts.map((facet: any) => facet.field_name)).toEqual(["brand"])
    expect(meddled.body.explain.ignored.map((each: any) => each.parameter).sort()).toEqual(Object.keys(meddling).sort())
    expect(meddled.body.explain.profile).toEqual({ name: "listing", broken: false, changes: [] })
    await send("PUT", "/v1/presets/meddling", { value: { ...meddling, filter_by: "brand:=acme" } })
    expect(idsOf(await by({ preset: "meddling" }))).toEqual(["3", "5", "9", "11"])
    await send("PUT", "/v1/presets/meddling", { value: { filter_by: "status:=secret" } })
    expect((await by({ preset: "meddling" })).status).toBe(400)
  })

  it("finds nothing that the fixed filter hides among the documents that rules inject", async () => {
    await send("PUT", "/v1/collections/goods/search_rules", {
      pins: [
        { match: "any", doc_id: "1", position: 1 },
        { match: "any", doc_id: "12", position: 2 }
      ],
      zero_hits_fallback: "drop_filters"
    })
    const pinned = await search({ profile: "listing" })
    expect(idsOf(pinned).includes("1")).toBe(false)
    expect(idsOf(pinned)[1]).toBe("12")
    expect(idsOf(await search({ q: "none", profile: "listing" })).every((id) => allowed.includes(id))).toBe(true)
    await send("DELETE", "/v1/collections/goods/search_rules")
  })

  it("searches around a point with a profile that allows filtering by it", async () => {
    const bearer = { authorization: `Bearer ${await newKey({ gateway: true })}` }
    const near = (more: object) =>
      send(
        "POST",
        "/api/v1/indexes/goods/geo-search",
        { q: "lamp", field: "place", lat: 50.11, lng: 8, radius_km: 2.5, ...more },
        "",
        bearer
      )
    const found = await near({ profile: "listing", sort_by: "price:asc" })
    expect(found.body.hits.map((hit: any) => [hit.document.id, Math.round(hit.distance_m / 1000)])).toEqual([
      ["12", 0],
      ["11", 1]
    ])
    expect((await near({ profile: "wide" })).status).toBe(400)
  })
})

describe("a key's list of fields", () => {
  it("is never exceeded: what the profile needs is refused, what it shows is left out", async () => {
    const limited = await newKey({ fields: ["title", "price", "id"] })
    const shown = await search({ profile: "listing" }, limited)
    expect(shown.status).toBe(200)
    expect(idsOf(shown)).toEqual(cheapest)
    expect(shown.body.facet_counts).toEqual([])
    expect((await search({ profile: "listing", filter_by: "brand:=acme" }, limited)).status).toBe(400)
    expect((await send("GET", `${base}/listing/storefront`, undefined, limited)).body.facets).toEqual([])
    for (const names of [
      ["price", "id"],
      ["title", "id"]
    ]) {
      const refused = await search({ profile: "listing" }, await newKey({ fields: names }))
      expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining("cannot be applied") } })
    }
    const signed = securedKey(tenant.search_key, { profile: "listing", include_fields: "id,brand,price" })
    expect((await search({}, signed)).status).toBe(403)
    const hidden = securedKey(tenant.search_key, { profile: "listing", exclude_fields: "status" })
    const answer = await search({}, hidden)
    expect(idsOf(answer)).toEqual(cheapest)
    expect(answer.text).not.toContain('"public"')
  })

  it("and its forced filter apply beside the profile's", async () => {
    const key = await newKey({ filter_by: { goods: "brand:=zoom" } })
    expect(idsOf(await search({ profile: "listing" }, key))).toEqual(["2", "6", "8", "12"])
  })
})
