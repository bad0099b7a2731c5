/**
 * Search rules as a resource: what is stored and answered, every refusal of a body, and what happens with the
 * collection.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

let program: Program
let tenant: Tenant
const path = "/v1/collections/goods/search_rules"
const send = (method: string, address: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, address, { key, body })
const schemaOf = (name: string) => ({
  name,
  fields: [
    { name: "title", type: "string" },
    { name: "brand", type: "string", facet: true },
    { name: "price", type: "int32" },
    { name: "colour", type: "string", optional: true },
    { name: "looks", type: "float[]", num_dim: 2, optional: true }
  ]
})
beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Rules")
  await send("POST", "/v1/collections", schemaOf("goods"))
})
afterAll(() => program.stop())

/** Every field of a rule set. */
const complete = {
  exclusion_filter_by: "brand:=banned",
  zero_hits_fallback: "drop_filters",
  fallback_model_id: "",
  boosts: [{ filter_by: "brand:=acme", weight: 2.5, name: "house brand", priority: 1 }],
  boosts_override_sort: true,
  pins: [{ query: "lamp", match: "exact", filter_contains: "price:<10", doc_id: "1", position: 2, priority: 3 }],
  diversity: [
    {
      field: "brand",
      max: 2,
      min: 1,
      from: 1,
      near_duplicate: { fields: ["title"], threshold: 0.9 },
      mmr: { lambda: 0.5, vector_field: "looks", text_fields: ["title"], k: 10 }
    }
  ],
  redirects: [{ query: "help", match: "partial", url: "https://shop.example/help", priority: 0 }],
  suggestions: [{ query: "lam", match: "prefix", suggestions: ["lamp", "lamb"] }],
  facet_suggestions: { fields: ["brand"], limit: 5 },
  starts_at: "2026-01-01T00:00:00Z",
  ends_at: "2026-12-31T23:59:59+01:00",
  device: "desktop",
  language: "de",
  country: "CH",
  banners: [
    {
      id: "sale",
      query: "lamp",
      match: "any",
      filter_contains: "",
      content: { text: "Sale \u0000 \ud83d", nested: { deep: [1, 2] } },
      priority: 1
    }
  ],
  sponsored: [
    {
      id: "2",
      query: "lamp",
      match: "partial",
      filter_by: "",
      label: "Ad",
      campaign_id: "c1",
      position: 1,
      priority: 0
    }
  ],
  rerank: {
    enabled: true,
    model: "linear",
    top_k: 20,
    fields: ["title"],
    timeout_ms: 30,
    min_hits: 3,
    fallback: "error"
  }
}

describe("rule set", () => {
  it("is answered as it was written, with its collection and the moment, and replaced as a whole", async () => {
    expect(await send("GET", path)).toMatchObject({
      status: 404,
      body: { defined: true, code: "NOT_FOUND", status: 404, message: expect.stringContaining("goods") }
    })
    const before = Date.now()
    const put = await send("PUT", path, complete)
    expect(put).toMatchObject({ status: 200, body: { ...complete, collection: "goods" } })
    expect(
      Number.isInteger(put.body.updated_at) && put.body.updated_at >= before && put.body.updated_at <= Date.now()
    ).toBe(true)
    expect((await send("GET", path)).body).toEqual(put.body)
    const reset = await send("PUT", path, { country: "AT" })
    expect(reset.body).toEqual({
      exclusion_filter_by: "",
      zero_hits_fallback: "none",
      fallback_model_id: "",
      boosts: [],
      boosts_override_sort: false,
      pins: [],
      diversity: [],
      redirects: [],
      suggestions: [],
      facet_suggestions: { fields: [], limit: 10 },
      device: "any",
      language: "",
      country: "AT",
      banners: [],
      sponsored: [],
      rerank: {
        enabled: false,
        model: "linear",
        top_k: 50,
        fields: [],
        timeout_ms: 50,
        min_hits: 2,
        fallback: "engine_order"
      },
      collection: "goods",
      updated_at: expect.any(Number)
    })
  })
  it("can be read, changed and sent back", async () => {
    const { body } = await send("PUT", path, complete)
    expect(await send("PUT", path, { ...body, language: "fr" })).toMatchObject({
      status: 200,
      body: { ...complete, language: "fr" }
    })
  })
  it("is deleted by its collection's name", async () => {
    await send("PUT", path, {})
    expect(await send("DELETE", path)).toMatchObject({ status: 200, body: { collection: "goods" } })
    expect((await send("GET", path)).status).toBe(404)
    expect((await send("DELETE", path)).status).toBe(404)
  })
  it("belongs to the collection: an alias leads to it, and to another one's after the alias moves", async () => {
    await send("POST", "/v1/collections", schemaOf("goods_2"))
    await send("PUT", "/v1/aliases/shop", { collection_name: "goods" })
    expect((await send("PUT", "/v1/collections/shop/search_rules", { language: "fr" })).body).toMatchObject({
      collection: "goods",
      language: "fr"
    })
    expect((await send("GET", path)).body.language).toBe("fr")
    await send("PUT", "/v1/aliases/shop", { collection_name: "goods_2" })
    expect((await send("GET", "/v1/collections/shop/search_rules")).status).toBe(404)
    expect((await send("DELETE", path)).body).toEqual({ collection: "goods" })
  })
  it("is deleted with its collection, and does not return with the next one of that name", async () => {
    await send("POST", "/v1/collections", schemaOf("short"))
    await send("PUT", "/v1/collections/short/search_rules", { exclusion_filter_by: "brand:=x" })
    await send("DELETE", "/v1/collections/short")
    expect((await send("GET", "/v1/collections/short/search_rules")).status).toBe(404)
    await send("POST", "/v1/collections", schemaOf("short"))
    expect((await send("GET", "/v1/collections/short/search_rules")).status).toBe(404)
    await send("POST", "/v1/collections/short/documents", { id: "1", title: "a", brand: "x", price: 1 })
    expect((await send("GET", "/v1/collections/short/documents/search?q=*")).body.found).toBe(1)
  })
})

describe("refusals", () => {
  it("keep the contract's order: key, scope, collection, resource, body", async () => {
    for (const [method, address] of [
      ["GET", path],
      ["PUT", path],
      ["DELETE", path],
      ["POST", `${path}/preview`]
    ] as const) {
      const body = method === "GET" || method === "DELETE" ? undefined : "not json"
      expect((await program.request(method, address, { body })).status, `${method} no key`).toBe(401)
      expect(await send(method, address, body, tenant.search_key), `${method} search key`).toMatchObject({
        status: 403,
        body: { code: "FORBIDDEN", message: expect.stringContaining("scope") }
      })
      const narrow = (await send("POST", "/v1/keys", { description: "n", scope: "full", collections: ["others"] })).body
        .value as string
      expect(await send(method, address, body, narrow), `${method} other collection`).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining("collection") }
      })
      expect(await send(method, address.replace("goods", "nowhere"), body), `${method} no collection`).toMatchObject({
        status: 404,
        body: { code: "NOT_FOUND", message: "Collection not found" }
      })
      if (body !== undefined)
        expect(await send(method, address, body), `${method} no JSON`).toMatchObject({
          status: 400,
          body: { code: "BAD_REQUEST", data: { issues: [{ path: "body" }] } }
        })
    }
  })

  const pin = complete.pins[0],
    boost = complete.boosts[0],
    banner = complete.banners[0],
    slot = complete.sponsored[0],
    redirect = complete.redirects[0]
  const wrong: ReadonlyArray<readonly [path: string, body: unknown]> = [
    ["", []],
    ["unheard_of", { unheard_of: 1 }],
    ["exclusion_filter_by", { exclusion_filter_by: "nofield:=x" }],
    ["exclusion_filter_by", { exclusion_filter_by: "brand:=x &&" }],
    ["exclusion_filter_by", { exclusion_filter_by: 3 }],
    ["zero_hits_fallback", { zero_hits_fallback: "sometimes" }],
    ["fallback_model_id", { zero_hits_fallback: "recommendations", fallback_model_id: "rec_1" }],
    ["fallback_model_id", { zero_hits_fallback: "recommendations" }],
    ["fallback_model_id", { fallback_model_id: {} }],
    ["boosts", { boosts: {} }],
    ["boosts[0]", { boosts: ["x"] }],
    ["boosts[0].filter_by", { boosts: [{ ...boost, filter_by: "" }] }],
    ["boosts[0].filter_by", { boosts: [{ ...boost, filter_by: "price:<abc" }] }],
    ["boosts[0].weight", { boosts: [{ filter_by: "brand:=a" }] }],
    ["boosts[0].weight", { boosts: [{ ...boost, weight: "2" }] }],
    ["boosts[0].extra", { boosts: [{ ...boost, extra: 1 }] }],
    ["boosts_override_sort", { boosts_override_sort: "true" }],
    ["pins[0].doc_id", { pins: [{ ...pin, doc_id: "" }] }],
    ["pins[0].position", { pins: [{ ...pin, position: 0 }] }],
    ["pins[0].position", { pins: [{ ...pin, position: 1.5 }] }],
    ["pins[1].match", { pins: [pin, { ...pin, match: "fuzzy" }] }],
    ["pins[0].query", { pins: [{ ...pin, query: " " }] }],
    ["pins[0].priority", { pins: [{ ...pin, priority: "first" }] }],
    ["pins[0].filter_contains", { pins: [{ ...pin, filter_contains: 1 }] }],
    ["diversity[0].field", { diversity: [{ field: "nofield", max: 1 }] }],
    ["diversity[0].field", { diversity: [{ max: 1 }] }],
    ["diversity[0].max", { diversity: [{ field: "brand", max: 0 }] }],
    ["diversity[0].min", { diversity: [{ field: "brand", min: "2" }] }],
    ["diversity[0].from", { diversity: [{ field: "brand", max: 1, from: 0 }] }],
    [
      "diversity[0].near_duplicate.threshold",
      { diversity: [{ near_duplicate: { fields: ["title"], threshold: 1.1 } }] }
    ],
    ["diversity[0].near_duplicate.fields", { diversity: [{ near_duplicate: { fields: [] } }] }],
    ["diversity[0].near_duplicate.fields[0]", { diversity: [{ near_duplicate: { fields: ["nofield"] } }] }],
    ["diversity[0].mmr.lambda", { diversity: [{ mmr: { lambda: 2, text_fields: ["title"] } }] }],
    ["diversity[0].mmr.vector_field", { diversity: [{ mmr: { lambda: 0.5, vector_field: "title" } }] }],
    ["diversity[0].mmr.k", { diversity: [{ mmr: { lambda: 0.5, text_fields: ["title"], k: 0 } }] }],
    ["redirects[0].url", { redirects: [{ ...redirect, url: "javascript:alert(1)" }] }],
    ["redirects[0].url", { redirects: [{ query: "x", match: "exact" }] }],
    ["suggestions[0].suggestions[1]", { suggestions: [{ query: "x", suggestions: ["ok", ""] }] }],
    ["facet_suggestions.fields[0]", { facet_suggestions: { fields: ["title"] } }],
    ["facet_suggestions.limit", { facet_suggestions: { fields: ["brand"], limit: 0 } }],
    ["starts_at", { starts_at: "next week" }],
    ["starts_at", { starts_at: "2026-02-30T00:00:00Z" }],
    ["ends_at", { ends_at: 1_700_000_000 }],
    ["ends_at", { starts_at: "2026-05-02T00:00:00Z", ends_at: "2026-05-01T00:00:00Z" }],
    ["device", { device: "watch" }],
    ["language", { language: "?" }],
    ["country", { country: 41 }],
    ["banners[0].id", { banners: [{ ...banner, id: "" }] }],
    ["banners[0].content", { banners: [{ ...banner, content: "text" }] }],
    ["sponsored[0].id", { sponsored: [{ ...slot, id: "" }] }],
    ["sponsored[0].filter_by", { sponsored: [{ ...slot, filter_by: "nofield:1" }] }],
    ["sponsored[0].position", { sponsored: [{ ...slot, position: -1 }] }],
    ["rerank.enabled", { rerank: { enabled: 1 } }],
    ["rerank.top_k", { rerank: { top_k: 0 } }],
    ["rerank.fields[0]", { rerank: { fields: ["nofield"] } }],
    ["rerank.timeout_ms", { rerank: { timeout_ms: 0 } }],
    ["rerank.min_hits", { rerank: { min_hits: -1 } }],
    ["rerank.fallback", { rerank: { fallback: "retry" } }]
  ]
  it("name the invalid field, and change nothing", async () => {
    const kept = (await send("PUT", path, { language: "it" })).body
    for (const [issue, body] of wrong) {
      const answer = await send("PUT", path, body)
      expect(answer, JSON.stringify(body)).toMatchObject({
        status: 400,
        body: { defined: true, code: "BAD_REQUEST", status: 400, message: "Input validation failed" }
      })
      expect(
        answer.body.data.issues.map(({ path: at }: { path: string }) => at),
        JSON.stringify(body)
      ).toEqual([issue])
      expect(answer.body.data.issues[0].message).not.toBe("")
    }
    expect((await send("GET", path)).body).toEqual(kept)
  })
  it("report every error of a body at once, in a preview too", async () => {
    const body = {
      device: "watch",
      pins: [
        { ...pin, position: 0 },
        { ...pin, colour: "red" }
      ],
      exclusion_filter_by: "nofield:1",
      boosts: [boost, { ...boost, weight: null }]
    }
    const paths = ["exclusion_filter_by", "boosts[1].weight", "pins[0].position", "pins[1].colour", "device"]
    const issuesOf = async (method: string, address: string, sent: unknown) =>
      (await send(method, address, sent)).body.data.issues.map(({ path: at }: { path: string }) => at).sort()
    expect(await issuesOf("PUT", path, body)).toEqual([...paths].sort())
    expect(await issuesOf("POST", `${path}/preview`, { rules: body, search: { q: "*" } })).toEqual(
      paths.map((at) => `rules.${at}`).sort()
    )
  })
  it("of a preview name its own fields and those of its search", async () => {
    const refused: ReadonlyArray<readonly [string, unknown]> = [
      ["search", {}],
      ["search.q", { search: {} }],
      ["search.filter_by", { search: { q: "*", filter_by: { a: 1 } } }],
      ["search.query_by", { search: { q: "lamp" } }],
      ["search.per_page", { search: { q: "*", per_page: "many" } }],
      ["search.rerank_top_k", { search: { q: "*", rerank: true, rerank_top_k: 0 } }],
      ["at", { search: { q: "*" }, at: "tomorrow" }],
      ["device", { search: { q: "*" }, device: "watch" }],
      ["rules", { search: { q: "*" }, rules: [] }],
      ["when", { search: { q: "*" }, when: 1 }]
    ]
    for (const [issue, body] of refused) {
      const answer = await send("POST", `${path}/preview`, body)
      expect(answer.status, JSON.stringify(body)).toBe(400)
      expect(
        answer.body.data.issues.map(({ path: at }: { path: string }) => at),
        JSON.stringify(body)
      ).toEqual([issue])
    }
  })
})
