/**
 * `use_cache`: the same answer until it expires, a new query_id and accounting for every hit, and no answer shared
 * across keys or organizations.
 */
import { afterAll, beforeAll, expect, it } from "vitest"
import { cacheTtlOf } from "../../src/search/answer-cache.ts"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

let program: Program
let tenant: Tenant
const search = (key: string, query: string) =>
  program.request("GET", `/v1/collections/goods/documents/search?q=oak&query_by=title${query}`, { key })
beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Cache")
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
  await program.request("POST", "/v1/collections/goods/documents", {
    key: tenant.full_key,
    body: { id: "1", title: "oak", shop: "a" }
  })
})
afterAll(() => program.stop())

it("answers from the cache although documents were added, and searches again without it", async () => {
  const first = await search(tenant.search_key, "&use_cache=true")
  await program.request("POST", "/v1/collections/goods/documents", {
    key: tenant.full_key,
    body: { id: "2", title: "oak", shop: "b" }
  })
  const again = await search(tenant.search_key, "&use_cache=true")
  expect([first.body.found, again.body.found, (await search(tenant.search_key, "")).body.found]).toEqual([1, 1, 2])
  expect(again.body.query_id).toMatch(/^qry_/)
  expect(again.body.query_id).not.toBe(first.body.query_id)
  expect({ ...again.body, query_id: "" }).toEqual({ ...first.body, query_id: "" })
  expect((await search(tenant.search_key, "&use_cache=true&per_page=5")).body.found).toBe(2)
})
it("counts every hit in analytics", async () => {
  const today = new Date().toISOString().slice(0, 10)
  const searches = async () =>
    (
      (
        await program.request("GET", `/v1/analytics/metrics/queries?from=${today}&to=${today}`, {
          key: tenant.full_key
        })
      ).body.data as Array<{ q: string; searches: number }>
    ).find(({ q }) => q === "oak")?.searches ?? 0
  for (let waited = 0; waited < 4000 && (await searches()) < 4; waited += 100)
    await new Promise((settle) => setTimeout(settle, 100))
  expect(await searches()).toBe(4)
})
it("caches multi-search answers by the query string only, and none that failed", async () => {
  const body = {
    searches: [
      { collection: "goods", q: "oak", query_by: "title" },
      { collection: "goods", q: "*" }
    ]
  }
  const ask = (query: string) => program.request("POST", `/v1/multi_search${query}`, { key: tenant.search_key, body })
  const first = await ask("?use_cache=1")
  await program.request("POST", "/v1/collections/goods/documents", {
    key: tenant.full_key,
    body: { id: "4", title: "oak", shop: "c" }
  })
  const ids = (answer: typeof first) => answer.body.results.map((result: { query_id: string }) => result.query_id)
  const again = await ask("?use_cache=1")
  expect(again.body.results.map((result: { found: number }) => result.found)).toEqual([2, 2])
  expect(new Set([...ids(first), ...ids(again)]).size).toBe(4)
  expect((await ask("")).body.results.map((result: { found: number }) => result.found)).toEqual([3, 3])
  // Deleted documents are not answered again.
  for (const id of ["2", "4"])
    await program.request("DELETE", `/v1/collections/goods/documents/${id}`, { key: tenant.full_key })
  expect((await ask("?use_cache=1")).body.results.map((result: { found: number }) => result.found)).toEqual([1, 1])
  const failing = () =>
    program.request("POST", "/v1/multi_search?use_cache=1", {
      key: tenant.search_key,
      body: { searches: [{ collection: "later", q: "*" }] }
    })
  expect((await failing()).body.results[0].code).toBe(404)
  await program.request("POST", "/v1/collections", {
    key: tenant.full_key,
    body: { name: "later", fields: [{ name: "t", type: "string" }] }
  })
  expect((await failing()).body.results[0].found).toBe(0)
})
it("never answers one key from another's entry", async () => {
  const narrow = (
    await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: { description: "narrow", scope: "search", filter_by: { goods: "shop:=none" } }
    })
  ).body.value as string
  expect((await search(tenant.search_key, "&use_cache=true")).body.found).toBe(1)
  expect((await search(narrow, "&use_cache=true")).body.found).toBe(0)
  const other = await program.tenant("Cache other")
  expect((await search(other.search_key, "&use_cache=true")).status).toBe(404)
})
it("expires after cache_ttl", async () => {
  const ask = () => search(tenant.search_key, "&use_cache=true&cache_ttl=1&page=1")
  expect((await ask()).body.found).toBe(1)
  await program.request("POST", "/v1/collections/goods/documents", {
    key: tenant.full_key,
    body: { id: "3", title: "oak", shop: "b" }
  })
  expect((await ask()).body.found).toBe(1)
  await new Promise((settle) => setTimeout(settle, 1100))
  expect((await ask()).body.found).toBe(2)
})

it("forgets answers after a delete, drop, alias change or erasure; another organization's stay cached", async () => {
  const [one, other] = [await program.tenant("Removals"), await program.tenant("Other removals")]
  const call = (of: Tenant, method: string, path: string, body?: unknown) =>
    program.request(method, `/v1/${path}`, { key: of.full_key, ...(body === undefined ? {} : { body }) })
  const make = async (of: Tenant, name: string, count: number) => {
    expect((await call(of, "POST", "collections", { name, fields: [{ name: "title", type: "string" }] })).status).toBe(
      201
    )
    await call(
      of,
      "POST",
      `collections/${name}/documents/import`,
      Array.from({ length: count }, (_, i) => JSON.stringify({ id: `${i}`, title: "oak" })).join("\n")
    )
  }
  for (const of of [one, other]) {
    await make(of, "goods", 10)
    await make(of, "few", 3)
    expect((await call(of, "PUT", "aliases/shop", { collection_name: "goods" })).status).toBe(200)
  }
  const ask = async (of: Tenant, name = "shop") =>
    (
      await program.request("GET", `/v1/collections/${name}/documents/search?q=oak&query_by=title&use_cache=true`, {
        key: of.search_key
      })
    ).body.found as number | undefined
  expect([await ask(one), await ask(other)]).toEqual([10, 10])
  // The other organization's answer stays cached throughout, which a newly added document shows.
  await call(other, "POST", "collections/goods/documents", { title: "oak" })
  const untouched = async () => {
    expect(await ask(other)).toBe(10)
  }
  await call(one, "DELETE", "collections/goods/documents/0")
  expect(await ask(one)).toBe(9)
  await untouched()
  await call(one, "DELETE", "collections/goods/documents?filter_by=id:[1,2]")
  expect(await ask(one)).toBe(7)
  await untouched()
  await call(one, "PUT", "aliases/shop", { collection_name: "few" })
  expect(await ask(one)).toBe(3)
  await untouched()
  await call(one, "POST", "collections/few/documents", { title: "oak" })
  expect(await ask(one)).toBe(3)
  expect((await call(one, "DELETE", "events/subjects/somebody")).status).toBe(202)
  expect(await ask(one)).toBe(4)
  await untouched()
  await call(one, "DELETE", "collections/few")
  expect(await ask(one)).toBeUndefined()
  await call(one, "DELETE", "aliases/shop")
  await make(one, "shop", 1)
  expect(await ask(one)).toBe(1)
  await untouched()
})
it("caches nothing for more than an hour, and lowers a longer time", async () => {
  expect([undefined, "1", 3_600, "3601", "100000000", 86_400].map(cacheTtlOf)).toEqual([
    60, 1, 3_600, 3_600, 3_600, 3_600
  ])
  expect((await search(tenant.search_key, "&use_cache=true&cache_ttl=100000000&page=1&per_page=7")).status).toBe(200)
})
it("caches answers whose documents have a field named `error`, and no multi-search with a failed entry", async () => {
  await program.request("POST", "/v1/collections", {
    key: tenant.full_key,
    body: { name: "faults", fields: [{ name: "error", type: "string" }] }
  })
  await program.request("POST", "/v1/collections/faults/documents", {
    key: tenant.full_key,
    body: { id: "1", error: "oak" }
  })
  const ask = async (more = "") =>
    (
      await program.request(
        "GET",
        `/v1/collections/faults/documents/search?q=oak&query_by=error&use_cache=true${more}`,
        { key: tenant.search_key }
      )
    ).body
  const both = async (collection: string) =>
    (
      await program.request("POST", "/v1/multi_search?use_cache=true", {
        key: tenant.search_key,
        body: {
          searches: [
            { collection: "faults", q: "oak", query_by: "error" },
            { collection, q: "*" }
          ]
        }
      })
    ).body.results
  expect([(await ask()).found, (await both("faults"))[0].found, (await both("none"))[0].found]).toEqual([1, 1, 1])
  await program.request("POST", "/v1/collections/faults/documents", {
    key: tenant.full_key,
    body: { id: "2", error: "oak" }
  })
  expect([(await ask()).found, (await both("faults"))[0].found, (await both("none"))[0].found]).toEqual([1, 1, 2])
  expect((await both("none"))[1]).toMatchObject({ code: 404, error: "Collection not found" })
})
