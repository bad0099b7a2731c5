/**
 * Natural-language searches (`nl_query=true`, `docs/contract/models.md#nl-search`) without a model of the
 * organization's own: what a request says becomes a filter and a sort order that only narrow what its key may see, and
 * no text makes it fail.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

let program: Program
let tenant: Tenant, other: Tenant
const fields = [
  { name: "title", type: "string" },
  { name: "brand", type: "string", facet: true },
  { name: "color", type: "string", facet: true },
  { name: "maker", type: "string", facet: true },
  { name: "price", type: "float" },
  { name: "rating", type: "float" },
  { name: "in_stock", type: "bool" }
]
const goods = [
  ["1", "quiet fridge", "Norvik", "White", "Alpha", 450, 4.5, true],
  ["2", "quiet fridge", "Miele", "Black", "Beta", 800, 4.8, true],
  ["3", "tall fridge", "Norvik", "Black", "Beta", 550, 3.9, false],
  ["4", "desk lamp", "Kestrel Audio", "Black", "Secretive", 40, 4.1, true]
].map(([id, title, brand, color, maker, price, rating, in_stock]) => ({
  id,
  title,
  brand,
  color,
  maker,
  price,
  rating,
  in_stock
}))

const search = (query: Record<string, string>, key = tenant.full_key, headers: Record<string, string> = {}) =>
  program.request(
    "GET",
    `/v1/collections/goods/documents/search?${new URLSearchParams({ query_by: "title", nl_query: "true", ...query })}`,
    { key, headers }
  )
const idsOf = ({ body: { hits } }: { readonly body: any }): ReadonlyArray<string> =>
  (hits ?? []).map((hit: any) => hit.document.id)
const session = { "x-svc-session-id": "s1" }

beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Words")
  other = await program.tenant("Other words")
  for (const { full_key } of [tenant, other]) {
    const key = full_key
    await program.request("POST", "/v1/collections", { key, body: { name: "goods", fields } })
    const own = full_key === other.full_key ? goods.map((each) => ({ ...each, brand: "Elsewhere" })) : goods
    const body = own.map((one) => JSON.stringify(one)).join("\n")
    await program.request("POST", "/v1/collections/goods/documents/import", { key, body })
  }
})
afterAll(() => program.stop())

describe("a request in words", () => {
  it("becomes a query, a filter and an order, and the answer shows them beside the original", async () => {
    const found = await search({ q: "a quiet fridge under 600, not black, cheapest first" })
    expect(found.status).toBe(200)
    expect(idsOf(found)).toEqual(["1"])
    expect(found.body.parsed_nl_query).toEqual({
      parse_time_ms: expect.any(Number),
      generated_params: { q: "quiet fridge", filter_by: "price:<600 && color:!=`Black`", sort_by: "price:asc" },
      augmented_params: { q: "quiet fridge", filter_by: "price:<600 && color:!=`Black`", sort_by: "price:asc" }
    })
    expect(found.body.request_params).toMatchObject({
      q: "a quiet fridge under 600, not black, cheapest first",
      first_q: "a quiet fridge under 600, not black, cheapest first"
    })
    expect(found.body.query_understanding.original).toBe("a quiet fridge under 600, not black, cheapest first")
  })
  it("finds everything that passes the filter if no words are left", async () => {
    const found = await search({ q: "in stock black" })
    expect([found.body.parsed_nl_query.augmented_params.q, idsOf(found).toSorted()]).toEqual(["*", ["2", "4"]])
  })
  it("keeps the caller's filter, which it cannot get around", async () => {
    const found = await search({ q: "black or white fridge", filter_by: "price:<500 || price:>700" })
    expect(found.body.parsed_nl_query.augmented_params.filter_by).toBe(
      "(price:<500 || price:>700) && (color:=[`Black`, `White`])"
    )
    expect(idsOf(found).toSorted()).toEqual(["1", "2"])
  })
  it("is an ordinary search without the parameter, and with an empty text", async () => {
    for (const query of [{ nl_query: "false", q: "fridge under 600" }, { q: "*" }] as ReadonlyArray<
      Record<string, string>
    >)
      expect((await search(query)).body.parsed_nl_query).toBeUndefined()
  })
  it("omits the member if the request excludes it, and shows the model's answer if requested", async () => {
    expect(
      (await search({ q: "fridge under 600", exclude_fields: "parsed_nl_query" })).body.parsed_nl_query
    ).toBeUndefined()
    const debugged = await search({ q: "fridge under 600", nl_query_debug: "true" })
    expect(JSON.parse(debugged.body.parsed_nl_query.llm_response)).toEqual({
      q: "fridge",
      filter_by: "price:<600",
      sort_by: ""
    })
  })
  it("sees values of documents added later, at once if the request says so", async () => {
    const key = tenant.full_key
    const q = "mint lamp"
    expect((await search({ q })).body.parsed_nl_query.generated_params).toEqual({ q })
    const body = { ...goods[3], id: "5", color: "Mint" }
    await program.request("POST", "/v1/collections/goods/documents", { key, body })
    const fresh = await search({ q, nl_query_prompt_cache_ttl: "0" })
    expect(fresh.body.parsed_nl_query.generated_params).toEqual({ q: "lamp", filter_by: "color:=`Mint`" })
    await program.request("DELETE", "/v1/collections/goods/documents/5", { key })
  })
})

describe("failures", () => {
  it("of a missing model leave the search unchanged", async () => {
    const found = await search({ q: "fridge", nl_model_id: "nowhere" })
    expect(found.status).toBe(200)
    expect(idsOf(found).length).toBe(3)
    expect(found.body.parsed_nl_query).toMatchObject({
      generated_params: {},
      error: "Error getting natural language search model: Model not found"
    })
  })
  it("of the request itself are reported as usual", async () => {
    const wrong = await search({ q: "fridge under 600", filter_by: "nothing:=1" })
    expect([wrong.status, wrong.body.message]).toEqual([400, expect.stringContaining("nothing")])
    expect((await search({ q: "fridge", nl_query_prompt_cache_ttl: "soon" })).status).toBe(400)
  })
})

describe("several searches", () => {
  it("are each read separately, side by side and as a union", async () => {
    const searches = [
      { collection: "goods", q: "fridge under 600", query_by: "title", nl_query: true },
      { collection: "goods", q: "fridge under 600", query_by: "title" },
      { collection: "goods", q: "fridge by miele", query_by: "title", nl_query: "true" }
    ]
    const many = await program.request("POST", "/v1/multi_search", { key: tenant.full_key, body: { searches } })
    expect(many.body.results.map((body: any) => idsOf({ body }).toSorted())).toEqual([
      ["1", "3"],
      ["1", "2", "3"],
      ["2"]
    ])
    expect(many.body.results.map((each: any) => each.parsed_nl_query?.generated_params.filter_by)).toEqual([
      "price:<600",
      undefined,
      "brand:=`Miele`"
    ])
    const union = await program.request("POST", "/v1/multi_search", {
      key: tenant.full_key,
      body: { union: true, searches: [searches[0], searches[2]] }
    })
    expect(idsOf(union).toSorted()).toEqual(["1", "2", "3"])
    expect(union.body.union_request_params.map(({ q }: any) => q)).toEqual(["fridge under 600", "fridge by miele"])
  })
})

describe("keys", () => {
  it("of the search scope spend their session's allowance, and need one", async () => {
    expect((await search({ q: "fridge under 600" }, tenant.search_key)).status).toBe(400)
    const found = await search({ q: "fridge under 600" }, tenant.search_key, session)
    expect(idsOf(found).toSorted()).toEqual(["1", "3"])
  })
  it("that see a part are read with the values of that part, and learn of no other", async () => {
    const made = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: { description: "k", scope: "search", filter_by: { goods: "price:>100" } }
    })
    const q = "things by Secretive or Beta"
    const whole = await search({ q: "lamp by Secretive" })
    expect(whole.body.parsed_nl_query.generated_params.filter_by).toBe("maker:=`Secretive`")
    const own = await search({ q }, made.body.value, session)
    expect(own.body.parsed_nl_query.generated_params.filter_by).toBe("maker:=`Beta`")
  })
  it("that may not name a field get no filter on it", async () => {
    const made = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: { description: "k", scope: "search", fields: ["title", "price"] }
    })
    const found = await search({ q: "fridge by norvik under 600 in stock" }, made.body.value, session)
    expect(found.status).toBe(200)
    expect(found.body.parsed_nl_query.generated_params).toEqual({
      q: "fridge by norvik stock",
      filter_by: "price:<600"
    })
  })
  it("of another tenant know only their own values", async () => {
    const found = await search({ q: "fridge by miele" }, other.full_key)
    expect(found.body.parsed_nl_query.generated_params).toEqual({ q: "fridge by miele" })
    const own = await search({ q: "fridge by elsewhere" }, other.full_key)
    expect(own.body.parsed_nl_query.generated_params.filter_by).toBe("brand:=`Elsewhere`")
  })
})

it("a profile's fixed filter applies, and natural language filters by no field that it closes", async () => {
  const key = tenant.full_key
  const made = await program.request("POST", "/v1/collections/goods/search-profiles", {
    key,
    body: {
      name: "dear",
      label: "Dear",
      searchable_fields: ["title"],
      facet_fields: [{ field: "maker", label: "Maker" }],
      filterable_fields: ["maker"],
      fixed_filter_by: "price:>100"
    }
  })
  expect(made.status).toBe(201)
  const asked = (q: string) => search({ q, profile: "dear", query_by: "" })
  const found = await asked("fridge by beta under 600")
  expect(found.body.profile.name).toBe("dear")
  expect(found.body.parsed_nl_query.generated_params).toEqual({ q: "fridge under 600", filter_by: "maker:=`Beta`" })
  expect((await asked("fridge by beta, cheapest first")).body.parsed_nl_query.generated_params).toEqual({
    q: "fridge by beta, cheapest first".replace(" by beta,", ""),
    filter_by: "maker:=`Beta`"
  })
  expect([found.status, idsOf(found).toSorted()]).toEqual([200, ["2", "3"]])
  // A value that the profile does not show is unknown to it.
  expect((await asked("fridge by secretive")).body.parsed_nl_query.generated_params).toEqual({
    q: "fridge by secretive"
  })
})

it("a cached natural-language answer is answered again unchanged", async () => {
  const query = { q: "fridge under 600", use_cache: "true" }
  const first = await search(query)
  const again = await search(query)
  expect(again.body.parsed_nl_query).toEqual(first.body.parsed_nl_query)
  expect(idsOf(again)).toEqual(idsOf(first))
})
