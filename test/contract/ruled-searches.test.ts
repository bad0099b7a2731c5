/**
 * Active rules over HTTP: search, multi-search and union alike, from the next search on, whatever the caller names and
 * whatever parameters it sends; and what only the holder of a full key is shown.
 */
import { createHmac } from "node:crypto"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

let program: Program
let tenant: Tenant
const send = (
  method: string,
  address: string,
  body?: unknown,
  key = tenant.full_key,
  headers: Record<string, string> = {}
) => program.request(method, address, { key, body, headers })
const rule = async (rules: unknown, collection = "goods") => {
  const answer = await send("PUT", `/v1/collections/${collection}/search_rules`, rules)
  if (answer.status !== 200) throw new Error(answer.text)
}
interface Shown {
  readonly document: { readonly id: string }
  readonly pinned?: true
  readonly sponsored?: unknown
}
const idsOf = (body: { readonly hits: ReadonlyArray<Shown> }) => body.hits.map(({ document }) => document.id)
const find = async (
  query: string,
  key = tenant.search_key,
  collection = "goods",
  headers: Record<string, string> = {}
) => (await send("GET", `/v1/collections/${collection}/documents/search?${query}`, undefined, key, headers)).body
const ids = async (query: string, key?: string, collection?: string, headers?: Record<string, string>) =>
  idsOf(await find(query, key, collection, headers))
/** The same search in every form; each returns its body. */
const everyWay = async (parameters: Record<string, unknown>, key = tenant.search_key) => {
  const text = new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)]))
  const { limit: _limit, page: _page, ...entry } = parameters
  const many = (body: unknown) => send("POST", "/v1/multi_search", body, key)
  return {
    search: await find(String(text), key),
    alias: await find(String(text), key, "shop"),
    multi: (await many({ searches: [{ collection: "goods", ...parameters }] })).body.results[0],
    multiAlias: (await many({ searches: [{ collection: "shop", ...parameters }] })).body.results[0],
    union: (await many({ union: true, searches: [{ collection: "goods", ...entry }] })).body
  }
}
const signed = (parameters: Record<string, unknown>) => {
  const text = JSON.stringify(parameters)
  return Buffer.from(
    createHmac("sha256", tenant.search_key).update(text).digest("base64") + tenant.search_key.slice(0, 4) + text
  ).toString("base64")
}

const documents = [
  { id: "1", title: "oak lamp", brand: "acme", price: 10, rank: 1 },
  { id: "2", title: "oak lamp", brand: "acme", price: 20, rank: 2 },
  { id: "3", title: "oak desk", brand: "berg", price: 30, rank: 3 },
  { id: "4", title: "oak desk", brand: "berg", price: 40, rank: 4 },
  { id: "5", title: "pine lamp", brand: "holm", price: 50, rank: 5 },
  { id: "6", title: "pine desk", brand: "holm", price: 60, rank: 6 }
]
beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Ruled")
  const fields = [
    { name: "title", type: "string" },
    { name: "brand", type: "string", facet: true },
    { name: "price", type: "int32" },
    { name: "rank", type: "int32" }
  ]
  await send("POST", "/v1/collections", { name: "goods", fields, default_sorting_field: "rank" })
  await send(
    "POST",
    "/v1/collections/goods/documents/import",
    documents.map((document) => JSON.stringify(document)).join("\n")
  )
  await send("PUT", "/v1/aliases/shop", { collection_name: "goods" })
  await send("PUT", "/v1/presets/plain", { value: { query_by: "title", enable_curations: false } })
})
afterAll(() => program.stop())
beforeEach(async () => {
  await send("DELETE", "/v1/collections/goods/search_rules")
})

describe("rules", () => {
  it("apply to search, multi-search and union, through a name or an alias, from the next search on", async () => {
    const before = await everyWay({ q: "oak", query_by: "title" })
    for (const [way, body] of Object.entries(before)) expect([way, idsOf(body)]).toEqual([way, ["4", "3", "2", "1"]])
    await rule({
      exclusion_filter_by: "price:=40",
      boosts: [{ filter_by: "brand:=acme", weight: 1 }],
      pins: [{ query: "oak", doc_id: "6", position: 1 }],
      sponsored: [{ id: "5", query: "oak", label: "Ad", campaign_id: "c1", position: 2 }],
      banners: [{ id: "b", query: "oak", content: { text: "Oak week" } }],
      suggestions: [{ query: "oak", match: "partial", suggestions: ["oak table"] }],
      facet_suggestions: { fields: ["brand"], limit: 2 }
    })
    for (const [way, body] of Object.entries(await everyWay({ q: "oak", query_by: "title" }))) {
      expect([way, idsOf(body)]).toEqual([way, ["6", "5", "2", "1", "3"]])
      expect(body).toMatchObject({
        found: 5,
        banners: [{ id: "b", content: { text: "Oak week" } }],
        suggestions: ["oak table"],
        query_id: expect.stringMatching(/^qry_/)
      })
      expect(body.hits[0]).toMatchObject({ pinned: true })
      expect(body.hits[1]).toMatchObject({ sponsored: { label: "Ad", campaign_id: "c1" } })
      expect(body.hits.slice(2).some((hit: Shown) => hit.pinned !== undefined || hit.sponsored !== undefined)).toBe(
        false
      )
      if (way !== "union")
        expect(body).toMatchObject({
          facet_counts: [],
          facet_suggestions: [
            {
              field: "brand",
              values: [
                { value: "holm", count: 2 },
                { value: "acme", count: 2 }
              ]
            }
          ]
        })
    }
    // Of each page an injected document is on one.
    expect([
      ...(await ids("q=oak&query_by=title&per_page=2")),
      ...(await ids("q=oak&query_by=title&per_page=2&page=2")),
      ...(await ids("q=oak&query_by=title&per_page=2&page=3"))
    ]).toEqual(["6", "5", "2", "1", "3"])
    await send("DELETE", "/v1/collections/goods/search_rules")
    for (const [way, body] of Object.entries(await everyWay({ q: "oak", query_by: "title" }))) {
      expect([way, idsOf(body)]).toEqual([way, ["4", "3", "2", "1"]])
      expect(Object.keys(body).sort()).toEqual(Object.keys(before[way as keyof typeof before]).sort())
    }
  })
  it("of one search leave those beside it unchanged, which still cost one engine call", async () => {
    await send("POST", "/v1/collections", { name: "others", fields: [{ name: "title", type: "string" }] })
    await send("POST", "/v1/collections/others/documents", { id: "o", title: "oak" })
    await rule({ pins: [{ query: "oak", doc_id: "6", position: 1 }] })
    const { results } = (
      await send("POST", "/v1/multi_search", {
        searches: [
          { collection: "others", q: "oak", query_by: "title" },
          { collection: "goods", q: "oak", query_by: "title" },
          { collection: "none", q: "*" }
        ]
      })
    ).body
    expect([idsOf(results[0]), idsOf(results[1]), results[2].code]).toEqual([["o"], ["6", "4", "3", "2", "1"], 404])
    expect(results[0].hits[0].pinned).toBeUndefined()
  })
  it("cannot be circumvented by a parameter, a preset or a signed key", async () => {
    await rule({
      exclusion_filter_by: "id:=4",
      pins: [{ match: "any", doc_id: "6", position: 1 }],
      boosts: [{ filter_by: "id:=1", weight: 1 }],
      rerank: { enabled: true, model: "none" }
    })
    const ruled = ["6", "1", "3", "2"]
    const attempts: ReadonlyArray<Record<string, unknown>> = [
      {},
      { enable_curations: false },
      { enable_curations: true },
      { rerank: false },
      { rerank: true, rerank_model: "linear", rerank_top_k: 1 },
      { debug: true },
      { use_cache: true },
      { preset: "plain" },
      { search_rules: false },
      { rules: "none" },
      { filter_curated_hits: true },
      { enable_analytics: false },
      { x_surface: "other" },
      { x_device: "none" },
      { exhaustive_search: true },
      { curation_tags: "none" }
    ]
    for (const attempt of attempts) {
      for (const [way, body] of Object.entries(await everyWay({ q: "oak", query_by: "title", ...attempt })))
        expect([attempt, way, idsOf(body)]).toEqual([attempt, way, ruled])
    }
    expect(await ids("q=oak&query_by=title", signed({ enable_curations: false, rerank: false }))).toEqual(ruled)
    // An excluded document is not restored by pinning it, and a request's own sort does not move the pin.
    expect(await ids("q=oak&query_by=title&pinned_hits=4:1")).not.toContain("4")
    expect(await ids("q=oak&query_by=title&sort_by=price:asc")).toEqual(["6", "1", "2", "3"])
    expect((await find("q=oak&query_by=title&group_by=brand")).grouped_hits.flatMap(idsOf)).not.toContain("4")
  })
  it("inject only what the key's forced filter and the caller's filter let through", async () => {
    await rule({
      pins: [{ match: "any", doc_id: "6", position: 1 }],
      sponsored: [{ match: "any", id: "5", position: 2 }],
      zero_hits_fallback: "popular"
    })
    expect(await ids("q=oak&query_by=title")).toEqual(["6", "5", "4", "3", "2", "1"])
    const forced = (
      await send("POST", "/v1/keys", { description: "acme only", scope: "search", filter_by: { goods: "brand:=acme" } })
    ).body.value as string
    for (const key of [forced, signed({ filter_by: "brand:=acme" })]) {
      expect(await ids("q=oak&query_by=title", key)).toEqual(["2", "1"])
      expect(await ids("q=oak&query_by=title&filter_curated_hits=false", key)).toEqual(["2", "1"])
      expect(await ids("q=nothing&query_by=title&filter_curated_hits=false", key)).toEqual(["2", "1"])
      for (const [way, body] of Object.entries(await everyWay({ q: "*", filter_by: "id:*" }, key)))
        expect([way, idsOf(body).filter((id) => id !== "1" && id !== "2")]).toEqual([way, []])
    }
    expect(await ids("q=oak&query_by=title&filter_by=brand:=berg")).toEqual(["4", "3"])
    expect(await ids("q=oak&query_by=title&filter_by=brand:=berg&filter_curated_hits=false")).toEqual([
      "6",
      "5",
      "4",
      "3"
    ])
  })
  it("of two organizations do not mix", async () => {
    const other = await program.tenant("Other")
    await send(
      "POST",
      "/v1/collections",
      { name: "goods", fields: [{ name: "title", type: "string" }] },
      other.full_key
    )
    await send("POST", "/v1/collections/goods/documents", { id: "6", title: "oak" }, other.full_key)
    await rule({ exclusion_filter_by: "id:=6" })
    expect(await ids("q=oak&query_by=title", other.search_key)).toEqual(["6"])
    expect((await send("GET", "/v1/collections/goods/search_rules", undefined, other.full_key)).status).toBe(404)
    expect((await send("DELETE", "/v1/collections/goods/search_rules", undefined, other.full_key)).status).toBe(404)
    expect((await send("GET", "/v1/collections/goods/search_rules")).status).toBe(200)
  })
  it("are skipped and reported if the schema no longer has their filter's field; the others apply", async () => {
    await send("PATCH", "/v1/collections/goods", { fields: [{ name: "season", type: "string", optional: true }] })
    await rule({
      exclusion_filter_by: "season:=old",
      boosts: [{ filter_by: "season:=new", weight: 3 }],
      pins: [{ query: "oak", doc_id: "5", position: 1 }]
    })
    await send("PATCH", "/v1/collections/goods", { fields: [{ name: "season", drop: true }] })
    const body = await find("q=oak&query_by=title&debug=true", tenant.full_key)
    expect(idsOf(body)).toEqual(["5", "4", "3", "2", "1"])
    expect(body.explain.inert).toEqual([
      expect.objectContaining({ kind: "exclusion", why: expect.stringContaining("season") }),
      expect.objectContaining({ kind: "boost", why: expect.stringContaining("season") })
    ])
    // They apply again once the field is back.
    await send("PATCH", "/v1/collections/goods", { fields: [{ name: "season", type: "string", optional: true }] })
    await send("PATCH", "/v1/collections/goods/documents/3", { season: "old" })
    expect(await ids("q=oak&query_by=title")).toEqual(["5", "4", "2", "1"])
    await send("PATCH", "/v1/collections/goods", { fields: [{ name: "season", drop: true }] })
    await send("PUT", "/v1/collections/goods/documents/3", documents[2])
  })
  it("with a filter into another collection follow that collection's schema", async () => {
    await send("POST", "/v1/collections", {
      name: "labels",
      fields: [
        { name: "good_id", type: "string", reference: "goods.id" },
        { name: "kind", type: "string" }
      ]
    })
    await send("POST", "/v1/collections/labels/documents", { id: "l", good_id: "4", kind: "bad" })
    await rule({ exclusion_filter_by: "$labels(kind:=bad)" })
    expect(await ids("q=oak&query_by=title")).toEqual(["3", "2", "1"])
    await send("DELETE", "/v1/collections/labels")
    expect(await ids("q=oak&query_by=title")).toEqual(["4", "3", "2", "1"])
  })
})

describe("a redirect", () => {
  it("is answered without the engine, and is a search in the figures, but not one without results", async () => {
    await rule({ redirects: [{ query: "returns", match: "partial", url: "/returns" }] })
    for (const [way, body] of Object.entries(await everyWay({ q: "my returns please", query_by: "title" })))
      expect([way, body]).toEqual([
        way,
        expect.objectContaining({
          redirect: { url: "/returns" },
          found: 0,
          hits: [],
          query_id: expect.stringMatching(/^qry_/)
        })
      ])
    const today = new Date().toISOString().slice(0, 10)
    const row = async () =>
      (
        (await send("GET", `/v1/analytics/metrics/zero-results?from=${today}&to=${today}&limit=200`)).body
          .data as ReadonlyArray<{ q: string; searches: number; zero_results: number }>
      ).find(({ q }) => q === "my returns please")
    for (let waited = 0; waited < 60_000 && (await row())?.searches !== 5; waited += 100)
      await new Promise((settle) => setTimeout(settle, 100))
    expect(await row()).toMatchObject({ searches: 5, zero_results: 0 })
  })
})

describe("a gate", () => {
  it("reads parameters first, then browser headers; an unidentified caller gets only what is not gated", async () => {
    const agent = {
      phone: "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Mobile/15E148",
      desk: "Mozilla/5.0 (X11; Linux x86_64)",
      nobody: "curl/8"
    }
    const isRuled = async (query: string, headers: Record<string, string>) =>
      (await ids(`q=oak&query_by=title${query}`, undefined, undefined, headers))[0] === "6"
    await rule({ device: "mobile", pins: [{ match: "any", doc_id: "6", position: 1 }] })
    expect(await isRuled("", { "user-agent": agent.phone })).toBe(true)
    expect(await isRuled("", { "user-agent": agent.desk })).toBe(false)
    expect(await isRuled("", { "user-agent": agent.nobody })).toBe(false)
    expect(await isRuled("", { "user-agent": agent.desk, "sec-ch-ua-mobile": "?1" })).toBe(true)
    expect(await isRuled("&x_device=desktop", { "user-agent": agent.phone })).toBe(false)
    expect(await isRuled("&x_device=Mobile", { "user-agent": agent.desk })).toBe(true)
    await rule({ language: "de", pins: [{ match: "any", doc_id: "6", position: 1 }] })
    expect(await isRuled("", { "accept-language": "en;q=0.5, de-CH, de;q=0.9" })).toBe(true)
    expect(await isRuled("", { "accept-language": "en, de;q=0.9" })).toBe(false)
    expect(await isRuled("", { "accept-language": "*" })).toBe(false)
    expect(await isRuled("&x_language=de_AT", { "accept-language": "en" })).toBe(true)
    await rule({ country: "CH", pins: [{ match: "any", doc_id: "6", position: 1 }] })
    expect(await isRuled("&x_country=ch", {})).toBe(true)
    // Without a configured proxy such a header is never trusted.
    expect(await isRuled("", { "cf-ipcountry": "CH" })).toBe(false)
  })
  it("of time opens and closes at its instants", async () => {
    const soon = new Date(Date.now() + 700).toISOString(),
      later = new Date(Date.now() + 1_400).toISOString()
    await rule({ starts_at: soon, ends_at: later, pins: [{ match: "any", doc_id: "6", position: 1 }] })
    const query = "q=oak&query_by=title&use_cache=true&cache_ttl=60"
    const seen = [(await ids(query))[0]]
    await new Promise((settle) => setTimeout(settle, 800))
    seen.push((await ids(query))[0])
    await new Promise((settle) => setTimeout(settle, 800))
    seen.push((await ids(query))[0])
    expect(seen).toEqual(["4", "6", "4"])
  })
})

describe("use_cache", () => {
  it("gives no answer from before a write of rules, nor one for another device", async () => {
    const query = "q=oak&query_by=title&use_cache=true"
    expect((await ids(query))[0]).toBe("4")
    await rule({ pins: [{ match: "any", doc_id: "6", position: 1 }] })
    expect((await ids(query))[0]).toBe("6")
    await send("DELETE", "/v1/collections/goods/search_rules")
    expect((await ids(query))[0]).toBe("4")
    await rule({ device: "mobile", language: "de", pins: [{ match: "any", doc_id: "6", position: 1 }] })
    const first = async (mobile: "?0" | "?1", language: string) =>
      (await ids(query, undefined, undefined, { "sec-ch-ua-mobile": mobile, "accept-language": language }))[0]
    expect([
      await first("?1", "de"),
      await first("?0", "de"),
      await first("?1", "en"),
      await first("?1", "de")
    ]).toEqual(["6", "4", "4", "6"])
    const many = async (mobile: "?0" | "?1") =>
      idsOf(
        (
          await send(
            "POST",
            "/v1/multi_search?use_cache=1",
            { searches: [{ collection: "goods", q: "oak", query_by: "title" }] },
            tenant.search_key,
            { "sec-ch-ua-mobile": mobile, "accept-language": "de" }
          )
        ).body.results[0]
      )[0]
    expect([await many("?1"), await many("?0")]).toEqual(["6", "4"])
  })
})

describe("zero hits", () => {
  it("drop the caller's filter if the rules say so, and nothing else", async () => {
    await rule({ zero_hits_fallback: "drop_filters", exclusion_filter_by: "id:=4" })
    for (const [way, body] of Object.entries(await everyWay({ q: "oak", query_by: "title", filter_by: "price:>100" })))
      expect([way, idsOf(body), body.found]).toEqual([way, ["3", "2", "1"], 3])
    await rule({ exclusion_filter_by: "id:=4" })
    expect(await ids("q=oak&query_by=title&filter_by=price:>100")).toEqual([])
  })
  it("show what visitors want most, from memory, and the collection's own order until anything is known", async () => {
    await rule({ zero_hits_fallback: "popular" })
    expect(await ids("q=nothing&query_by=title")).toEqual(["6", "5", "4", "3", "2", "1"])
    const event = (type: string, document_id: string, collection: string, n: number) => ({
      type,
      collection,
      document_id,
      event_id: `${type}-${document_id}-${n}`,
      session_id: `s${n}`,
      ...(type === "purchase" ? { items: [{ document_id, quantity: 1, price: 5 }] } : {})
    })
    await send("POST", "/v1/events", {
      events: [
        event("view", "1", "goods", 1),
        event("click", "1", "shop", 2),
        event("purchase", "3", "goods", 3),
        event("click", "2", "goods", 4)
      ]
    })
    // The rollups are available within two seconds; a write of rules reads them at once, instead of within a minute.
    for (let waited = 0; waited < 6_000 && (await ids("q=nothing&query_by=title")).length !== 3; waited += 200) {
      await new Promise((settle) => setTimeout(settle, 200))
      await rule({ zero_hits_fallback: "popular" })
    }
    expect(await ids("q=nothing&query_by=title")).toEqual(["3", "1", "2"])
    expect(await ids("q=nothing&query_by=title&filter_by=price:<25")).toEqual(["1", "2"])
  })
})

describe("rerank", () => {
  it("of a search reorders if no rules do; a missing model leaves the engine's order and is reported", async () => {
    const whole = await find(
      "q=lamp oak&query_by=title&drop_tokens_threshold=10&rerank=true&rerank_top_k=3&debug=true",
      tenant.full_key
    )
    expect(whole.explain.stages.find(({ name }: { name: string }) => name === "rerank")).toMatchObject({
      outcome: "applied"
    })
    expect(
      whole.explain.hits.filter(({ scores }: { scores: Record<string, unknown> }) => scores.rerank !== undefined)
    ).toHaveLength(3)
    const unknown = await find("q=oak&query_by=title&rerank=true&rerank_model=__proto__&debug=true", tenant.full_key)
    expect(idsOf(unknown)).toEqual(["4", "3", "2", "1"])
    expect(unknown.explain.stages.find(({ name }: { name: string }) => name === "rerank")).toMatchObject({
      outcome: "failed",
      note: expect.stringContaining("__proto__")
    })
    expect((await send("GET", "/v1/collections/goods/documents/search?q=*&rerank_top_k=0")).status).toBe(400)
  })
  it("with the fallback `error` fails the search if its model does not exist", async () => {
    await rule({ rerank: { enabled: true, model: "missing", fallback: "error" } })
    expect((await send("GET", "/v1/collections/goods/documents/search?q=oak&query_by=title")).status).toBe(502)
  })
})

describe("explain", () => {
  it("explains what happened, and only to a full key", async () => {
    await rule({
      pins: [{ query: "oak", doc_id: "6", position: 1 }],
      boosts: [{ filter_by: "brand:=acme", weight: 2, name: "house" }],
      diversity: [{ field: "brand", max: 1 }],
      rerank: { enabled: true, fields: ["title"] }
    })
    const { explain } = await find("q=oak&query_by=title&debug=true", tenant.full_key)
    expect(explain.ignored).toEqual([])
    const partial = await find(
      "q=oak&query_by=title&debug=true&include_fields=title&preset=nowhere&sort=cheapest",
      tenant.full_key
    )
    expect(partial.explain.ignored).toMatchObject([
      { parameter: "preset", value: "nowhere" },
      { parameter: "sort", value: "cheapest" }
    ])
    expect(partial.explain.hits.map(({ id }: { readonly id: string }) => id)).toEqual(
      explain.hits.map(({ id }: { readonly id: string }) => id)
    )
    expect(explain).toMatchObject({
      active: true,
      fired: expect.arrayContaining([
        expect.objectContaining({ kind: "pin", id: "6" }),
        expect.objectContaining({ kind: "boost", id: "house" }),
        expect.objectContaining({ kind: "rerank" }),
        expect.objectContaining({ kind: "diversity" })
      ]),
      plan: { collection: "goods", q: "oak", injected: [{ kind: "pin", id: "6", position: 1 }] },
      total_us: expect.any(Number)
    })
    expect(explain.stages.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(["rules", "engine", "rerank", "place"])
    )
    for (const { us } of explain.stages as ReadonlyArray<{ readonly us: number }>)
      expect(Number.isInteger(us)).toBe(true)
    expect(explain.hits[0]).toMatchObject({ id: "6", position: 1, injected: "pin" })
    const many = (
      await send("POST", "/v1/multi_search", {
        searches: [
          { collection: "goods", q: "oak", query_by: "title", debug: true },
          { collection: "goods", q: "oak", query_by: "title" }
        ]
      })
    ).body.results
    expect(many.map((result: { explain?: unknown }) => result.explain !== undefined)).toEqual([true, false])
    expect((await find("q=oak&query_by=title", tenant.full_key)).explain).toBeUndefined()
    expect((await find("q=oak&query_by=title&debug=true")).explain).toBeUndefined()
    expect((await find("q=oak&query_by=title", signed({ debug: true }))).explain).toBeUndefined()
    await send("DELETE", "/v1/collections/goods/search_rules")
    expect((await find("q=oak&query_by=title&debug=true", tenant.full_key)).explain).toMatchObject({
      active: false,
      fired: [],
      plan: { q: "oak" }
    })
  })
})

describe("preview", () => {
  const preview = async (body: unknown) => (await send("POST", "/v1/collections/shop/search_rules/preview", body)).body
  const search = { q: "oak", query_by: "title" }
  it("shows before and after for any instant and any visitor, of given rules or the stored ones", async () => {
    const rules = {
      starts_at: "2026-05-01T00:00:00Z",
      ends_at: "2026-06-01T00:00:00Z",
      device: "mobile",
      language: "de",
      country: "CH",
      pins: [{ query: "oak", doc_id: "6", position: 1 }],
      banners: [{ id: "may", content: { text: "May" } }]
    }
    const visitor = { device: "mobile", language: "de-CH", country: "CH" }
    const cases: ReadonlyArray<readonly [Record<string, unknown>, boolean]> = [
      [{ at: "2026-04-30T23:59:59.999Z", ...visitor }, false],
      [{ at: "2026-05-01T00:00:00Z", ...visitor }, true],
      [{ at: "2026-05-15T12:00:00+02:00", ...visitor }, true],
      [{ at: "2026-06-01T00:00:00Z", ...visitor }, false],
      [{ at: "2026-05-15T12:00:00Z", ...visitor, device: "desktop" }, false],
      [{ at: "2026-05-15T12:00:00Z", ...visitor, language: "fr" }, false],
      [{ at: "2026-05-15T12:00:00Z", ...visitor, country: "DE" }, false],
      [{ at: "2026-05-15T12:00:00Z" }, false],
      [visitor, false]
    ]
    for (const stored of [false, true]) {
      if (stored) await rule(rules)
      for (const [given, acts] of cases) {
        const answer = await preview({ search, ...given, ...(stored ? {} : { rules }) })
        expect([given, idsOf(answer.before), idsOf(answer.after), answer.explain.active]).toEqual([
          given,
          ["4", "3", "2", "1"],
          acts ? ["6", "4", "3", "2", "1"] : ["4", "3", "2", "1"],
          acts
        ])
        expect(answer.after.banners).toEqual(acts ? [{ id: "may", content: { text: "May" } }] : undefined)
        expect(
          [answer.before, answer.after].map((envelope) => [
            envelope.query_id,
            envelope.explain,
            envelope.request_params.collection_name
          ])
        ).toEqual([
          [undefined, undefined, "goods"],
          [undefined, undefined, "goods"]
        ])
      }
    }
    // Given rules replace the stored ones, and live searches do not use them.
    expect(idsOf((await preview({ search, rules: {}, at: "2026-05-15T00:00:00Z", ...visitor })).after)).toEqual([
      "4",
      "3",
      "2",
      "1"
    ])
    expect((await send("GET", "/v1/collections/goods/search_rules")).body.country).toBe("CH")
  })
  it("leaves nothing in the figures", async () => {
    const word = `preview${Date.now()}`
    await preview({ search: { q: word, query_by: "title" }, rules: { redirects: [{ query: word, url: "/x" }] } })
    await find(`q=${word}after&query_by=title`)
    const today = new Date().toISOString().slice(0, 10)
    const queries = async () =>
      (
        (await send("GET", `/v1/analytics/metrics/queries?from=${today}&to=${today}&limit=200`)).body
          .data as ReadonlyArray<{ q: string }>
      )
        .map(({ q }) => q)
        .filter((q) => q.startsWith(word))
    for (let waited = 0; waited < 60_000 && (await queries()).length === 0; waited += 100)
      await new Promise((settle) => setTimeout(settle, 100))
    expect(await queries()).toEqual([`${word}after`])
  })
})
