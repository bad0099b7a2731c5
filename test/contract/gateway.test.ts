/**
 * The search gateway over a real program: two tenants whose indexes have the same names, every operation, every error
 * body.
 */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Access } from "../../src/access/access.ts"
import { type Answer, type Program, startProgram, type Tenant } from "../support/program.ts"
import { Draws } from "../support/simulation/random.ts"

let program: Program
let tenant: Tenant, other: Tenant
let search: string, connector: string, otherSearch: string, otherConnector: string
let searchId: string

const makeKey = async (
  owner: Tenant,
  body: Record<string, unknown>
): Promise<{ readonly id: string; readonly value: string }> => {
  const made = await program.request("POST", "/v1/keys", {
    key: owner.full_key,
    body: { description: "g", rate_limit_per_minute: 0, ...body }
  })
  if (made.status !== 201) throw new Error(made.text)
  return made.body
}
const send = async (
  method: string,
  path: string,
  key: string | undefined,
  body?: unknown,
  headers: Record<string, string> = {}
): Promise<Answer> => {
  const answer = await program.request(method, `/api/v1${path}`, {
    ...(body === undefined ? {} : { body }),
    headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers }
  })
  expect(answer.headers.get("x-request-id")).toMatch(/./)
  return answer
}
const ask = (
  path: string,
  key: string | undefined,
  body: unknown = { q: "*", query_by: "name" },
  headers: Record<string, string> = {}
) => send("POST", path, key, body, headers)
const idsOf = ({ body }: Answer): ReadonlyArray<string> => body.hits.map(({ document }: any) => document.id)
const operator = () => ({ authorization: `Bearer ${program.operatorToken}` })

/** Thirty things in a row eastward along the equator, some ten kilometres apart. */
const things = Array.from({ length: 30 }, (_, i) => ({
  id: `t${i}`,
  name: i % 2 === 0 ? `red kettle ${i}` : `blue mug ${i}`,
  color: i % 2 === 0 ? "red" : "blue",
  shop: `s${i % 3}`,
  price: i,
  place: [0, 0.1 * i]
}))
const schema = {
  name: "things",
  fields: [
    { name: "name", type: "string" },
    { name: "color", type: "string", facet: true },
    { name: "shop", type: "string", facet: true },
    { name: "price", type: "int32" },
    { name: "big", type: "int64", optional: true },
    { name: "place", type: "geopoint", optional: true }
  ]
}

beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Mine")
  other = await program.tenant("Theirs")
  for (const owner of [tenant, other]) {
    await program.request("POST", "/v1/collections", { key: owner.full_key, body: schema })
    connector = (await makeKey(owner, { scope: "connector_write" })).value
    const made = await makeKey(owner, { scope: "search", gateway: true })
    if (owner === other) [otherConnector, otherSearch] = [connector, made.value]
    else {
      search = made.value
      searchId = made.id
    }
  }
  connector = (await makeKey(tenant, { scope: "connector_write" })).value
  await program.request("POST", "/v1/collections", { key: tenant.full_key, body: { ...schema, name: "private" } })
  await program.request("POST", "/v1/collections", { key: other.full_key, body: { ...schema, name: "theirs" } })
  expect((await ask("/indexes/things/documents", connector, { documents: things })).body.succeeded).toBe(30)
  expect(
    (await ask("/indexes/things/documents", otherConnector, { documents: [{ ...things[0], name: "their kettle" }] }))
      .body.succeeded
  ).toBe(1)
})
afterAll(() => program.stop())

describe("searching", () => {
  it("answers what the tenant API answers, for values of every scalar kind", async () => {
    const direct = await program.request(
      "GET",
      "/v1/collections/things/documents/search?q=kettle&query_by=name&filter_by=price:%3E4&facet_by=color&per_page=5&sort_by=price:desc",
      { key: tenant.full_key }
    )
    const gateway = await ask("/indexes/things/search", search, {
      q: "kettle",
      query_by: "name",
      filter_by: "price:>4",
      facet_by: "color",
      per_page: 5,
      sort_by: "price:desc",
      enable_typos_for_numerical_tokens: false,
      preset: null
    })
    expect(gateway.status).toBe(200)
    for (const part of ["found", "hits", "facet_counts", "page"]) expect(gateway.body[part]).toEqual(direct.body[part])
    expect(gateway.body.query_id).toMatch(/^qry_/)
    expect(search).toMatch(/^ss_search_/)
    expect(connector).toMatch(/^ss_connector_/)
  })
  it("names what is wrong in a body", async () => {
    for (const [body, word] of [
      ["not json", "JSON"],
      [[], "object"],
      [{ q: "*", query_by: ["name"] }, "query_by"],
      [{ q: "*", query_by: "name", per_page: "many" }, "per_page"],
      [{ q: "x", query_by: "nothing" }, "nothing"],
      [{ query_by: "name" }, "`q`"],
      [{ q: "*", filter_by: "(" }, ""]
    ] as const) {
      const { body: answer, status } = await ask("/indexes/things/search", search, body)
      expect([word, status, answer.error]).toEqual([word, 400, "invalid_request"])
      expect(answer.message).toContain(word)
    }
  })
  it("suggests", async () => {
    const { body, status } = await send("GET", "/indexes/things/suggest?q=re&limit=5", search)
    expect([status, body.data[0]]).toEqual([200, { q: "red", type: "facet", filter_by: "color:=`red`", count: 15 }])
    expect((await send("GET", "/indexes/things/suggest?limit=0", search)).body.issues[0].path).toBe("limit")
  })
  it("runs several side by side, and several as one list", async () => {
    const searches = [
      { index: "things", q: "kettle", query_by: "name", filter_by: "price:<4" },
      { index: "private", q: "*", query_by: "name" },
      { index: "things", q: "x", query_by: "nothing" }
    ]
    const { body } = await ask("/multi-search", search, { searches })
    expect([body.results[0].found, body.results[1].found, body.results[2].code]).toEqual([2, 0, 404])
    const merged = await ask("/federated-search", search, {
      searches: [
        { ...searches[0], sort_by: "price:desc" },
        { index: "things", q: "mug", query_by: "name", filter_by: "price:<4", sort_by: "price:desc" }
      ],
      per_page: 3
    })
    expect([merged.body.found, idsOf(merged)]).toEqual([4, ["t3", "t2", "t1"]])
    expect(merged.body.hits[0].collection).toBe("things")
    const twice = { searches: [searches[0], searches[0]] }
    expect([
      (await ask("/federated-search", search, twice)).body.found,
      (await ask("/federated-search", search, { ...twice, remove_duplicates: false })).body.found
    ]).toEqual([2, 4])
    const unlike = await ask("/federated-search", search, {
      searches: [
        { ...searches[0], sort_by: "price:desc" },
        { ...searches[0], sort_by: "price:asc,_text_match:desc" }
      ]
    })
    expect([unlike.status, unlike.body.error]).toEqual([400, "invalid_request"])
    for (const [path, bad, field] of [
      ["/multi-search", {}, "searches"],
      ["/multi-search", { searches: [] }, "searches"],
      ["/multi-search", { searches: [{ q: "*" }] }, "searches[0].index"],
      ["/multi-search", { searches: [1] }, "searches[0]"],
      ["/multi-search", { searches, union: true }, "union"],
      ["/federated-search", { searches, pages: 1 }, "pages"],
      ["/federated-search", { searches, remove_duplicates: "yes" }, "remove_duplicates"],
      [
        "/multi-search",
        { searches: [{ ...searches[0], "X-TYPESENSE-API-KEY": other.search_key }] },
        "searches[0].X-TYPESENSE-API-KEY"
      ],
      ["/multi-search", { searches: Array.from({ length: 51 }, () => searches[0]) }, "searches"]
    ] as const) {
      const refused = await ask(path, search, bad)
      expect([refused.status, refused.body.issues?.[0].path]).toEqual([400, field])
    }
  })
  it("finds around a point, nearest first, with the distance, and never beyond the radius", async () => {
    const near = await ask("/indexes/things/geo-search", search, {
      field: "place",
      lat: 0,
      lng: 1,
      radius_km: 23,
      filter_by: "color:=red || color:=blue",
      per_page: 10
    })
    expect(idsOf(near)).toHaveLength(5)
    expect(idsOf(near)[0]).toBe("t10")
    const distances = near.body.hits.map(({ distance_m }: any) => distance_m as number)
    expect(distances).toEqual([...distances].sort((a: number, b: number) => a - b))
    expect(Math.abs(distances[1] - 11_119)).toBeLessThan(30)
    expect(near.body.hits[1].geo_distance_meters.place).toBe(distances[1])
    expect(new Set(idsOf(near))).toEqual(new Set(["t8", "t9", "t10", "t11", "t12"]))
    expect(
      new Set(
        idsOf(
          await ask("/indexes/things/geo-search", search, {
            field: "place",
            lat: 0,
            lng: 1,
            radius_km: 23,
            q: "kettle",
            query_by: "name",
            pinned_hits: "t29:1"
          })
        )
      )
    ).toEqual(new Set(["t10", "t12", "t8"]))
    const good = { field: "place", lat: 0, lng: 1, radius_km: 5 }
    for (const [more, field] of [
      [{ field: "price" }, "field"],
      [{ field: "other" }, "field"],
      [{ lat: 91 }, "lat"],
      [{ lng: "1" }, "lng"],
      [{ radius_km: 0 }, "radius_km"],
      [{ radius_km: undefined }, "radius_km"],
      [{ filter_by: "price:>0) || (price:>0" }, "filter_by"],
      [{ q: {} }, "q"]
    ] as const) {
      const { body, status } = await ask("/indexes/things/geo-search", search, { ...good, ...more })
      expect([field, status, body.issues?.[0].path]).toEqual([field, 400, field])
    }
    expect((await ask("/indexes/things/search", search, { q: "*" })).body.hits[0].distance_m).toBeUndefined()
  })
  it("applies merchandising as the tenant API does", async () => {
    const pin = await program.request("PUT", "/v1/collections/private/search_rules", {
      key: tenant.full_key,
      body: { redirects: [{ query: "sale", url: "/sale" }] }
    })
    expect(pin.status).toBe(200)
    expect((await ask("/indexes/private/search", search, { q: "sale", query_by: "name" })).body.redirect).toEqual({
      url: "/sale"
    })
  })
})

describe("documents of a connector", () => {
  it("are stored whole by their ids, each with its own verdict, and found at once", async () => {
    const { body, status } = await send(
      "POST",
      "/indexes/private/documents",
      connector,
      `{"documents":[{"id":"a","name":"one","color":"c","shop":"s","price":1,"big":9007199254740993},{"id":"b","name":"two"},{"name":"three","color":"c","shop":"s","price":3}]}`
    )
    expect([status, body.succeeded, body.failed]).toEqual([200, 2, 1])
    expect(body.results[0]).toEqual({ id: "a", ok: true })
    expect(body.results[1]).toMatchObject({ id: "b", ok: false, status: 400 })
    expect(body.results[1].error).toContain("color")
    expect(body.results[2].id).toMatch(/./)
    expect(
      (await program.request("GET", "/v1/collections/private/documents/a", { key: tenant.full_key })).text
    ).toContain("9007199254740993")
    await ask("/indexes/private/documents", connector, {
      documents: [{ id: "a", name: "again", color: "c", shop: "s", price: 2 }]
    })
    const { body: stored } = await program.request("GET", "/v1/collections/private/documents/a", {
      key: tenant.full_key
    })
    expect(stored).toEqual({ id: "a", name: "again", color: "c", shop: "s", price: 2 })
    expect((await ask("/indexes/private/search", search, { q: "again", query_by: "name" })).body.found).toBe(1)
    const deleted = await send("DELETE", "/indexes/private/documents", connector, { ids: ["a", "nobody"] })
    expect([
      deleted.body.succeeded,
      deleted.body.results[0],
      deleted.body.results[1].ok,
      deleted.body.results[1].status
    ]).toEqual([1, { id: "a", ok: true }, false, 404])
    expect((await ask("/indexes/private/search", search, { q: "again", query_by: "name" })).body.found).toBe(0)
  })
  it("are refused as a whole if the body is invalid, by field", async () => {
    for (const [method, body, field] of [
      ["POST", "{", "body"],
      ["POST", {}, "documents"],
      ["POST", { documents: [] }, "documents"],
      ["POST", { documents: [1] }, "documents[0]"],
      ["POST", { documents: [{}], more: 1 }, "more"],
      ["POST", { documents: Array.from({ length: 1_001 }, () => ({})) }, "documents"],
      ["POST", `{"documents":[${'{"a":'.repeat(200)}1${"}".repeat(200)}]}`, "body"],
      ["DELETE", { ids: [1] }, "ids[0]"],
      ["DELETE", { ids: [""] }, "ids[0]"],
      ["DELETE", { documents: [{}] }, "documents"]
    ] as const) {
      const { body: answer, status } = await send(method, "/indexes/private/documents", connector, body)
      expect([status, answer.issues?.[0].path]).toEqual([400, field])
    }
    const deleted = await send("DELETE", "/indexes/private/documents", connector)
    expect([deleted.status, deleted.body.error]).toEqual([400, "invalid_request"])
  })
  it("of another organization are inaccessible", async () => {
    await ask("/indexes/things/documents", otherConnector, { documents: [{ ...things[1], name: "their mug" }] })
    await send("DELETE", "/indexes/things/documents", otherConnector, { ids: ["t5"] })
    expect((await ask("/indexes/things/search", search)).body.found).toBe(30)
    expect(idsOf(await ask("/indexes/things/search", otherSearch))).toEqual(["t1", "t0"])
    expect(
      (
        await ask("/indexes/things/search", search, {
          q: "their",
          query_by: "name",
          drop_tokens_threshold: 0,
          num_typos: 0
        })
      ).body.found
    ).toBe(0)
    const bounded = await makeKey(tenant, { scope: "connector_write", collections: ["private"] })
    expect((await ask("/indexes/things/documents", bounded.value, { documents: [things[0]] })).body).toEqual({
      error: "tenant_mismatch"
    })
  })
})

describe("scoped tokens", () => {
  const mint = async (body: Record<string, unknown>, key = search) =>
    await ask("/scoped-tokens", key, { index: "things", scopedFilter: "shop:=s0", expiresInSeconds: 60, ...body })
  it("show one index through their filter, whatever the search says", async () => {
    const before = Date.now()
    const made = await mint({})
    expect([made.status, made.body.index]).toEqual([201, "things"])
    expect(new Date(made.body.expiresAt).getTime()).toBeGreaterThan(before + 58_000)
    expect(new Date(made.body.expiresAt).getTime()).toBeLessThanOrEqual(Date.now() + 60_000)
    const token = made.body.token as string
    const payload = JSON.parse(Buffer.from(token.slice("ss_scoped_".length).split(".")[0], "base64url").toString())
    expect(payload).toMatchObject({
      organization_id: tenant.organization_id,
      index: "things",
      scopedFilter: "shop:=s0"
    })
    const own = things
      .filter(({ shop }) => shop === "s0")
      .map(({ id }) => id)
      .sort()
    const all = { q: "*", query_by: "name", per_page: 100 }
    expect([...idsOf(await ask("/indexes/things/search", token, all))].sort()).toEqual(own)
    expect(
      [...idsOf(await ask("/indexes/things/search", token, { ...all, filter_by: "shop:=s0 || shop:=s1" }))].sort()
    ).toEqual(own)
    expect((await ask("/indexes/things/search", token, { ...all, filter_by: "shop:=s1" })).body.found).toBe(0)
    for (const filter_by of ["a) || (shop:=s1", ") || (", "shop:=s1)"])
      expect((await ask("/indexes/things/search", token, { ...all, filter_by })).status).toBe(400)
    expect([...idsOf(await ask("/indexes/things/search", token, { ...all, pinned_hits: "t1:1" }))].sort()).toEqual(own)
    expect((await ask("/multi-search", token, { searches: [{ index: "things", ...all }] })).body.results[0].found).toBe(
      10
    )
    expect((await ask("/federated-search", token, { searches: [{ index: "things", ...all }] })).body.found).toBe(10)
    expect(
      idsOf(await ask("/indexes/things/geo-search", token, { field: "place", lat: 0, lng: 0, radius_km: 40 }))
    ).toEqual(["t0", "t3"])
    expect((await send("GET", "/indexes/things/suggest?q=re", token)).body.data).toEqual([
      { q: "red", type: "facet", filter_by: "color:=`red`", count: 5 }
    ])
    for (const answer of [
      await ask("/indexes/private/search", token),
      await send("GET", "/indexes/private/suggest", token),
      await ask("/multi-search", token, {
        searches: [
          { index: "things", ...all },
          { index: "private", ...all }
        ]
      }),
      await ask("/federated-search", token, { searches: [{ index: "private", ...all }] })
    ]) {
      expect([answer.status, answer.body]).toEqual([403, { error: "tenant_mismatch" }])
    }
    // The key works neither elsewhere nor for anything else.
    expect((await program.request("GET", "/v1/collections/things/documents/search?q=*", { key: token })).status).toBe(
      401
    )
    expect((await ask("/indexes/things/documents", token, { documents: [things[0]] })).body).toEqual({
      error: "scope_denied"
    })
  })
  it("never widen access: a document is found exactly if key, token and search all allow it", async () => {
    const draws = new Draws(7)
    const pick = <A>(list: ReadonlyArray<A>): A => list[Math.floor(draws.next() * list.length)]
    type Thing = (typeof things)[number]
    const conditions: ReadonlyArray<readonly [string, (thing: Thing) => boolean]> = [
      ["color:=red", ({ color }) => color === "red"],
      ["shop:=[s0,s1]", ({ shop }) => shop !== "s2"],
      ["price:>9", ({ price }) => price > 9],
      ["price:<20 || color:=blue", ({ color, price }) => price < 20 || color === "blue"],
      ["(shop:=s2 || price:=0) && price:<25", ({ price, shop }) => (shop === "s2" || price === 0) && price < 25],
      ["color:!=red || shop:=s1", ({ color, shop }) => color !== "red" || shop === "s1"]
    ]
    for (let round = 0; round < 12; round++) {
      const [ofKey, ofToken, ofSearch] = [pick(conditions), pick(conditions), pick(conditions)]
      const { value } = await makeKey(tenant, { scope: "search", gateway: true, filter_by: { things: ofKey[0] } })
      const made = await mint({ scopedFilter: ofToken[0] }, value)
      const answer = await ask("/indexes/things/search", made.body.token, {
        q: "*",
        filter_by: ofSearch[0],
        per_page: 100
      })
      const expected = things
        .filter((thing) => [ofKey, ofToken, ofSearch].every(([, holds]) => holds(thing)))
        .map(({ id }) => id)
      expect([...idsOf(answer)].sort(), [ofKey[0], ofToken[0], ofSearch[0]].join(" & ")).toEqual(expected.sort())
    }
  })
  it("are created by search keys only, for what the key reaches, and with filters that restrict", async () => {
    const { token } = (await mint({})).body
    for (const key of [token, connector, tenant.full_key])
      expect([(await mint({}, key)).status, (await mint({}, key)).body]).toEqual([403, { error: "scope_denied" }])
    for (const index of ["nothing", "theirs"])
      expect((await mint({ index })).body).toEqual({ error: "tenant_mismatch" })
    for (const [more, field] of [
      [{ scopedFilter: " " }, "scopedFilter"],
      [{ scopedFilter: "nothing:=1" }, "scopedFilter"],
      [{ scopedFilter: "color:=red) || (price:>0" }, "scopedFilter"],
      [{ expiresInSeconds: 0 }, "expiresInSeconds"],
      [{ expiresInSeconds: 86_401 }, "expiresInSeconds"],
      [{ expiresInSeconds: 1.5 }, "expiresInSeconds"],
      [{ index: 1 }, "index"],
      [{ more: 1 }, "more"]
    ] as const) {
      const { body, status } = await mint(more)
      expect([status, body.issues?.[0].path]).toEqual([400, field])
    }
    const narrow = await makeKey(tenant, { scope: "search", gateway: true, fields: ["name"] })
    expect((await mint({ scopedFilter: "color:=red" }, narrow.value)).body.issues?.[0].path).toBe("scopedFilter")
    const soon = Math.floor(Date.now() / 1_000) + 30
    const short = await makeKey(tenant, { scope: "search", gateway: true, expires_at: soon })
    expect(new Date((await mint({ expiresInSeconds: 3_600 }, short.value)).body.expiresAt).getTime()).toBe(soon * 1_000)
  })
  it("are invalid if forged, expired, signed by another organization, or of a revoked key", async () => {
    const made = await makeKey(tenant, { scope: "search", gateway: true })
    const { token } = (await mint({}, made.value)).body
    const token2 = (await mint({ index: "things" }, otherSearch)).body.token as string
    const [payload] = token.slice("ss_scoped_".length).split(".")
    const [, theirSignature] = token2.split(".")
    const widened = Buffer.from(Buffer.from(payload, "base64url").toString().replace("shop:=s0", "shop:!=x")).toString(
      "base64url"
    )
    const late = await program.run(
      Effect.flatMap(Access, (access) =>
        access.mintScopedToken({
          organization_id: tenant.organization_id,
          key_id: searchId,
          index: "things",
          scopedFilter: "price:>0",
          expires_at: 1
        })
      )
    )
    const crossed = await program.run(
      Effect.flatMap(Access, (access) =>
        access.mintScopedToken({
          organization_id: other.organization_id,
          key_id: searchId,
          index: "things",
          scopedFilter: "price:>0",
          expires_at: 9_999_999_999
        })
      )
    )
    for (const bad of [
      `ss_scoped_${payload}.${theirSignature}`,
      `ss_scoped_${widened}.${token.split(".")[1]}`,
      late,
      crossed,
      "ss_scoped_x",
      `${token}A`
    ]) {
      const { body, status } = await ask("/indexes/things/search", bad)
      expect([status, body]).toEqual([401, { error: "invalid_or_expired_scoped_token" }])
    }
    expect((await ask("/indexes/things/search", token)).status).toBe(200)
    await program.request("DELETE", `/v1/keys/${made.id}`, { key: tenant.full_key })
    expect((await ask("/indexes/things/search", token)).body).toEqual({ error: "invalid_or_expired_scoped_token" })
  })
})

describe("refusals", () => {
  it("have the documented codes", async () => {
    const origin = await makeKey(tenant, { scope: "search", gateway: true, origins: ["https://shop.example"] })
    const path = "/indexes/things/search"
    expect([(await ask(path, undefined)).status, (await ask(path, undefined)).body]).toEqual([
      401,
      { error: "missing_bearer_token" }
    ])
    expect([(await ask(path, "ss_search_nobody")).status, (await ask(path, "ss_search_nobody")).body]).toEqual([
      401,
      { error: "invalid_or_revoked_key" }
    ])
    for (const headers of [{}, { origin: "https://elsewhere.example" }] as ReadonlyArray<Record<string, string>>)
      expect((await ask(path, origin.value, {}, headers)).body).toEqual({ error: "origin_not_allowed" })
    const shop = await ask(path, origin.value, { q: "*" }, { origin: "https://shop.example" })
    expect([shop.status, shop.headers.get("access-control-allow-origin")]).toEqual([200, "https://shop.example"])
    expect([(await ask(path, connector)).status, (await ask(path, connector)).body]).toEqual([
      403,
      { error: "scope_denied" }
    ])
    expect((await send("GET", "/nowhere", search)).body).toEqual({ error: "not_found" })
  })
  it("are the same for another tenant's index and for none", async () => {
    for (const index of ["theirs", "nowhere"]) {
      for (const answer of [
        await ask(`/indexes/${index}/search`, search),
        await ask(`/indexes/${index}/geo-search`, search),
        await send("GET", `/indexes/${index}/suggest`, search),
        await ask("/multi-search", search, { searches: [{ index, q: "*" }] }),
        await ask("/federated-search", search, { searches: [{ index, q: "*" }] }),
        await ask(`/indexes/${index}/documents`, connector, "{"),
        await send("DELETE", `/indexes/${index}/documents`, connector, { ids: ["t0"] })
      ]) {
        expect([answer.status, answer.body]).toEqual([403, { error: "tenant_mismatch" }])
      }
    }
  })
  it("count a minute's rate, but not for health or capabilities", async () => {
    const { value } = await makeKey(tenant, { scope: "search", gateway: true, rate_limit_per_minute: 2 })
    let refused: Answer | undefined
    for (let i = 0; i < 6 && refused?.status !== 429; i++) refused = await ask("/indexes/things/search", value)
    expect([
      refused!.status,
      refused!.body,
      refused!.headers.get("x-ratelimit-limit"),
      refused!.headers.get("x-ratelimit-remaining")
    ]).toEqual([429, { error: "rate_limited", limit: 2 }, "2", "0"])
    expect(Number(refused!.headers.get("retry-after"))).toBeGreaterThan(0)
    expect(new Date(refused!.headers.get("x-ratelimit-reset")!).getTime()).toBeGreaterThan(Date.now() - 61_000)
    for (const path of ["/health", "/capabilities"]) {
      const free = await send("GET", path, value)
      expect([free.status, free.headers.get("x-ratelimit-limit")]).toEqual([200, null])
    }
  })
  it("report when and why for a quota and a pause; one request is one unit, a refused one none", async () => {
    const poor = await program.tenant("Poor")
    await program.request("POST", "/v1/collections", { key: poor.full_key, body: schema })
    await program.request("POST", `/console/v1/organizations/${poor.organization_id}/plan`, {
      body: { plan: "standard", quota: 4 },
      headers: operator()
    })
    const { value } = await makeKey(poor, { scope: "search", gateway: true })
    const many = {
      searches: [
        { index: "things", q: "*" },
        { index: "things", q: "*" },
        { index: "things", q: "*" }
      ]
    }
    for (let i = 0; i < 6; i++) {
      await ask("/indexes/things/search", value, { q: "*", filter_by: "(" })
      await ask("/indexes/nowhere/search", value)
      await ask("/scoped-tokens", value, { index: "things", scopedFilter: "price:>0", expiresInSeconds: 5 })
    }
    for (const answer of [
      await ask("/multi-search", value, many),
      await ask("/federated-search", value, many),
      await ask("/indexes/things/geo-search", value, { field: "place", lat: 0, lng: 0, radius_km: 1 }),
      await send("GET", "/indexes/things/suggest", value)
    ])
      expect(answer.status).toBe(200)
    for (const refused of [
      await ask("/indexes/things/search", value, { q: "*" }),
      await ask("/multi-search", value, many),
      await send("GET", "/indexes/things/suggest", value)
    ]) {
      expect([refused.status, Object.keys(refused.body).sort(), refused.body.error, refused.body.topUpUrl]).toEqual([
        402,
        ["error", "resetAt", "topUpUrl"],
        "quota_exhausted",
        "/console"
      ])
      expect(new Date(refused.body.resetAt).toISOString()).toBe(refused.body.resetAt)
    }
    await program.request("POST", `/console/v1/organizations/${poor.organization_id}/pause`, {
      body: { reason: "payment" },
      headers: operator()
    })
    const paused = await ask("/indexes/things/search", value)
    expect([paused.status, paused.body]).toEqual([402, { error: "organization_paused", reason: "payment" }])
  })
})

it("reports its capabilities and describes itself", async () => {
  const { body } = await send("GET", "/capabilities", undefined)
  expect([body.operations.length, body.operations[0], body.limits.search_time_ms, body.engine.facet_counts]).toEqual([
    8,
    "POST /indexes/{index}/search".replace("/indexes", "/api/v1/indexes"),
    10_000,
    "exact"
  ])
  expect(body).toMatchObject({
    text_embedder: { name: "dowser/minilm-l6-v2", embedded: true, dimensions: 384, languages: ["en"] },
    image_embedder: { name: "dowser/look-alike", embedded: true, dimensions: 384 },
    reranker: { name: "linear", embedded: true }
  })
  const document = (await send("GET", "/openapi.json", undefined)).body
  expect(Object.keys(document.paths).sort()).toEqual(
    [
      "capabilities",
      "federated-search",
      "health",
      "indexes/{collectionName}/documents",
      "indexes/{collectionName}/geo-search",
      "indexes/{collectionName}/search",
      "indexes/{collectionName}/suggest",
      "multi-search",
      "openapi.json",
      "scoped-tokens"
    ].map((path) => `/api/v1/${path}`)
  )
  expect(document.paths["/api/v1/indexes/{collectionName}/documents"].delete.security).toEqual([{ bearer: [] }])
})
