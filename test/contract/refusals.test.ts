/**
 * The order of refusals: a request with several causes gets the first. Each step repairs the first cause and meets the
 * next.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
let tenant: Tenant
const operator = () => ({ authorization: `Bearer ${program.operatorToken}` })
const makeKey = async (body: Record<string, unknown>) =>
  (await program.request("POST", "/v1/keys", { key: tenant.full_key, body: { description: "r", ...body } })).body
    .value as string
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Refusals")
  await program.request("POST", "/v1/collections", {
    key: tenant.full_key,
    body: {
      name: "goods",
      fields: [
        { name: "title", type: "string" },
        { name: "shop", type: "string" }
      ]
    }
  })
  await program.request("POST", "/v1/collections/goods/documents/import", {
    key: tenant.full_key,
    body: `{"id":"1","title":"oak","shop":"a"}\n{"id":"2","title":"oak","shop":"b"}`
  })
})
afterAll(() => program.stop())

describe("order of refusals", () => {
  it("goes from the key to the body, one after the other", async () => {
    const statusAndText = async (
      key: string | undefined,
      headers: Record<string, string> = {},
      method = "PATCH",
      path = "/v1/collections/goods/documents/1"
    ) => {
      const answer = await program.request(method, path, {
        ...(key === undefined ? {} : { key }),
        headers,
        ...(method === "GET" ? {} : { body: "not json" })
      })
      return [answer.status, answer.body?.message ?? answer.text] as const
    }
    // A search key, bound to a distant address and a foreign origin, used up, for another collection, on an operation
    // it may not use.
    const far = await makeKey({
      scope: "search",
      cidrs: ["10.0.0.0/8"],
      origins: ["https://a.example"],
      rate_limit_per_minute: 1,
      collections: ["others"]
    })
    expect((await statusAndText(undefined))[0]).toBe(401)
    expect((await statusAndText("x".repeat(76)))[0]).toBe(401)
    await program.request("POST", `/console/v1/organizations/${tenant.organization_id}/pause`, {
      body: { reason: "manual" },
      headers: operator()
    })
    expect(await statusAndText("x".repeat(76))).toEqual([401, expect.any(String)])
    expect((await statusAndText(far))[0]).toBe(402)
    await program.request("POST", `/console/v1/organizations/${tenant.organization_id}/resume`, { headers: operator() })
    expect(await statusAndText(far)).toEqual([403, expect.stringContaining("address")])
    const origin = await makeKey({
      scope: "search",
      cidrs: ["127.0.0.0/8"],
      origins: ["https://a.example"],
      rate_limit_per_minute: 1,
      collections: ["others"]
    })
    expect(await statusAndText(origin)).toEqual([403, expect.stringContaining("origin")])
    expect(await statusAndText(origin, { origin: "https://a.example" })).toEqual([
      403,
      expect.stringContaining("scope")
    ])
    const search = "/v1/collections/nowhere/documents/search"
    // The first request takes the key's only token and is refused for the collection, the second for the rate.
    expect(await statusAndText(origin, { origin: "https://a.example" }, "GET", search)).toEqual([
      403,
      expect.stringContaining("collection")
    ])
    expect((await statusAndText(origin, { origin: "https://a.example" }, "GET", search))[0]).toBe(429)
    const limited = await makeKey({ scope: "full", rate_limit_per_minute: 2, collections: ["others"] })
    const first = await statusAndText(limited)
    expect(first).toEqual([403, expect.stringContaining("collection")])
    await statusAndText(limited)
    expect((await statusAndText(limited))[0]).toBe(429)
    // A full key without restrictions: the resource before the body.
    expect(await statusAndText(tenant.full_key, {}, "PATCH", "/v1/collections/nowhere/documents/1")).toEqual([
      404,
      "Collection not found"
    ])
    expect((await statusAndText(tenant.full_key))[0]).toBe(400)
  })
  it("does not reveal whether a collection outside the key's list exists", async () => {
    const key = await makeKey({ scope: "full", collections: ["goods_.*"] })
    const refused = async (path: string, body?: unknown) => {
      const { body: answer, status } = await program.request(body === undefined ? "GET" : "POST", path, { key, body })
      return [status, answer]
    }
    expect(await refused("/v1/collections/goods")).toEqual(await refused("/v1/collections/nowhere"))
    expect(await refused("/v1/collections/goods/documents/search?q=*")).toEqual(
      await refused("/v1/collections/nowhere/documents/search?q=*")
    )
    expect(await refused("/v1/multi_search", { searches: [{ collection: "goods", q: "*" }] })).toEqual(
      await refused("/v1/multi_search", { searches: [{ collection: "nowhere", q: "*" }] })
    )
    expect((await refused("/v1/multi_search", { searches: [{ collection: "goods", q: "*" }] }))[0]).toBe(403)
  })
})

describe("forced filters", () => {
  it("apply to every search of every kind, whatever the caller writes", async () => {
    const key = await makeKey({ scope: "search", filter_by: { goods: "shop:=a" } })
    const ids = async (query: string) => {
      const { body, status } = await program.request("GET", `/v1/collections/goods/documents/search?${query}`, { key })
      return status === 200 ? body.hits.map((hit: { document: { id: string } }) => hit.document.id) : status
    }
    expect(await ids("q=*")).toEqual(["1"])
    for (const filter of [
      "shop:=b",
      "shop:=b || id:*",
      "id:* || shop:=b",
      "shop:=`b",
      "id:*) || (id:*",
      "shop:=b || (id:*"
    ]) {
      const found = await ids(`q=*&filter_by=${encodeURIComponent(filter)}`)
      if (Array.isArray(found)) expect(found, filter).not.toContain("2")
      else expect(found, filter).toBe(400)
    }
    expect(await ids("q=*&pinned_hits=2:1&filter_curated_hits=false")).toEqual(["1"])
    const many = await program.request("POST", "/v1/multi_search", {
      key,
      body: {
        searches: [
          { collection: "goods", q: "*" },
          { collection: "goods", q: "oak", query_by: "title", filter_by: "shop:=b" }
        ]
      }
    })
    expect(many.body.results.map((result: { found: number }) => result.found)).toEqual([1, 0])
    const union = await program.request("POST", "/v1/multi_search", {
      key,
      body: {
        union: true,
        searches: [
          { collection: "goods", q: "*" },
          { collection: "goods", q: "*" }
        ]
      }
    })
    expect(union.body.hits.map((hit: { document: { id: string } }) => hit.document.id)).toEqual(["1"])
  })
  it("that cannot be applied answer 403 and no data", async () => {
    const key = await makeKey({ scope: "search", filter_by: { goods: "nonexistent:=a" } })
    const { body, status } = await program.request("GET", "/v1/collections/goods/documents/search?q=*", { key })
    expect([status, body.hits]).toEqual([403, undefined])
  })
  it("of an alias's target apply through the alias", async () => {
    await program.request("PUT", "/v1/aliases/shop", { key: tenant.full_key, body: { collection_name: "goods" } })
    const key = await makeKey({ scope: "search", filter_by: { goods: "shop:=a" } })
    expect((await program.request("GET", "/v1/collections/shop/documents/search?q=*", { key })).body.found).toBe(1)
  })
})
