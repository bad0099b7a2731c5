/** Inputs that once broke something, each by name; `test/program/fuzz.test.ts` found them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createAnalyzer } from "../../engine-sdk/src/analysis/mod.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
let tenant: Tenant
const send = (method: string, path: string, body?: unknown) =>
  program.request(method, path, { key: tenant.full_key, body })
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Hostile")
  await send("POST", "/v1/collections", {
    name: "goods",
    fields: [
      { name: "title", type: "string", facet: true },
      { name: "vector", type: "float[]", num_dim: 2, optional: true }
    ]
  })
  await send("POST", "/v1/collections/goods/documents", { id: "1", title: "One", vector: [1, 2] })
})
afterAll(() => program.stop())

describe("locales that name no language", () => {
  const locales = ["{{7*7}}", "]", '"en"', "a\u0000", "x", "*:"]
  it("are refused, and break no later list or search", async () => {
    for (const locale of locales) {
      expect([(await send("PUT", "/v1/stopwords/s", { stopwords: ["of"], locale })).status, locale]).toEqual([
        400,
        locale
      ])
      expect([
        (await send("PUT", "/v1/synonym_sets/s", { items: [{ id: "a", synonyms: ["a", "b"], locale }] })).status,
        locale
      ]).toEqual([400, locale])
      expect([
        (await send("POST", "/v1/collections", { name: "other", fields: [{ name: "title", type: "string", locale }] }))
          .status,
        locale
      ]).toEqual([400, locale])
    }
    for (const locale of ["", "en", "de", "th", "pt-BR"])
      expect((await send("PUT", "/v1/stopwords/s", { stopwords: ["of"], locale })).status, locale).toBe(200)
    expect((await send("GET", "/v1/stopwords")).status).toBe(200)
    expect(
      (await send("GET", "/v1/collections/goods/documents/search?q=one&query_by=title&stopwords=s")).body.found
    ).toBe(1)
  })
  it("still split words if they were stored before", () => {
    for (const locale of locales) expect(createAnalyzer({ locale }).tokenize("one two")).toEqual(["one", "two"])
  })
})

describe("a number beyond those that can be stored", () => {
  it("is refused by its place, before anything is stored as null", async () => {
    const policy = await send("PUT", "/v1/search_policies/huge", '{"params": {"per_page": 1e999}}')
    expect([policy.status, policy.text]).toEqual([400, expect.stringContaining("params.per_page")])
    expect((await send("GET", "/v1/search_policies/huge")).status).toBe(404)
    const suite = await send(
      "POST",
      "/v1/quality/suites",
      '{"name": "s", "collection": "goods", "params": {"num_typos": 1e999}, "judgments": []}'
    )
    expect([suite.status, suite.text]).toEqual([400, expect.stringContaining("params.num_typos")])
    const connector = await send(
      "POST",
      "/v1/connectors",
      `{"name": "Shop", "collection": "goods", "provider": "generic", "sync_mode": "push", "mapping": {"price": {"value": ${"9".repeat(400)}}}}`
    )
    expect([connector.status, connector.text]).toEqual([400, expect.stringContaining("mapping.price.value")])
    const message = "Bad JSON: a number is beyond 1.7e308."
    const document = await send("POST", "/v1/collections/goods/documents", '{"id": "huge", "title": "x", "n": 1e999}')
    expect([document.status, document.body]).toEqual([400, { message }])
    const lines = '{"id": "huge", "title": "x", "n": -1e999}\n{"id": "fine", "title": "x"}'
    const imported = (await send("POST", "/v1/collections/goods/documents/import", lines)).text.split("\n")
    expect(imported.map((line) => JSON.parse(line))).toMatchObject([
      { success: false, error: message },
      { success: true }
    ])
    expect((await send("DELETE", "/v1/collections/goods/documents/fine")).status).toBe(200)
    const collection = await send("PATCH", "/v1/collections/goods", '{"metadata": {"a": 1e999}}')
    expect([collection.status, collection.body]).toEqual([400, { message }])
  })
})
describe("answers contain no more than their contract", () => {
  it("of presets, whose value is an object", async () => {
    for (const value of [null, "q", 1, true, [{ q: "x" }]])
      expect((await send("PUT", "/v1/presets/p", { value })).status, JSON.stringify(value)).toBe(400)
    expect((await send("PUT", "/v1/presets/p", { value: { q: "x" } })).body).toEqual({ name: "p", value: { q: "x" } })
  })
  it("of stopwords, which echo what they keep", async () => {
    expect(
      (await send("PUT", "/v1/stopwords/t", '{"stopwords":["a"],"then":"x","constructor":{"prototype":{}}}')).body
    ).toEqual({ id: "t", stopwords: ["a"] })
  })
  it("of hybrid searches, sets with a description and rules made by PUT, which the document has", async () => {
    const { components, paths } = (await program.request("GET", "/v1/openapi.json")).body
    const hits = (
      await send("GET", "/v1/collections/goods/documents/search?q=one&query_by=title&vector_query=vector:([1,2])")
    ).body.hits as ReadonlyArray<Record<string, unknown>>
    expect(Object.keys(hits[0]!)).toContain("hybrid_search_info")
    expect(Object.keys(components.schemas.SearchHit.properties)).toEqual(expect.arrayContaining(Object.keys(hits[0]!)))
    const set = (
      await send("PUT", "/v1/synonym_sets/d", { items: [{ id: "a", synonyms: ["a", "b"] }], description: "why" })
    ).body as Record<string, unknown>
    expect(Object.keys(components.schemas.SynonymSet.properties)).toEqual(expect.arrayContaining(Object.keys(set)))
    const rule = await send("PUT", "/v1/analytics/rules/r", {
      type: "log",
      collection: "goods",
      event_type: "click",
      params: {}
    })
    expect(Object.keys(paths["/v1/analytics/rules/{ruleName}"].put.responses)).toContain(String(rule.status))
  })
})

describe("texts that Postgres cannot store", () => {
  it("are refused for resources too, naming the field", async () => {
    for (const text of ["\\u0000", "\\udc00x"]) {
      const answer = await send("PUT", "/v1/stopwords/u", `{"stopwords":["of","${text}"]}`)
      expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining("stopwords[1]")])
    }
  })
})

describe("numbers that Postgres cannot store", () => {
  it("are refused as the rate of a key, naming the field", async () => {
    for (const rate of [-1, 2_147_483_648, Number.MAX_SAFE_INTEGER]) {
      const { body, status } = await send("POST", "/v1/keys", {
        description: "k",
        scope: "search",
        rate_limit_per_minute: rate
      })
      expect([status, body.data.issues[0].path], String(rate)).toEqual([400, "rate_limit_per_minute"])
    }
    expect(
      (await send("POST", "/v1/keys", { description: "k", scope: "search", rate_limit_per_minute: 2_147_483_647 })).body
        .rate_limit_per_minute
    ).toBe(2_147_483_647)
  })
})

describe("races", () => {
  it("of a test delivery and the deletion of its endpoint end in one of two answers", async () => {
    for (let i = 0; i < 30; i++) {
      const { id } = (await send("POST", "/v1/webhooks", { name: "w", url: "https://hooks.example/", events: ["*"] }))
        .body as { id: string }
      const [tested, deleted] = await Promise.all([
        send("POST", `/v1/webhooks/${id}/test`),
        send("DELETE", `/v1/webhooks/${id}`)
      ])
      expect(deleted.status).toBe(200)
      expect([202, 404], tested.text).toContain(tested.status)
    }
  })
})

describe("a public address that reads no query", () => {
  it("does not validate one", async () => {
    for (const path of ["/health", "/api/v1/health", "/api/v1/capabilities", "/v1/openapi.json"])
      expect((await program.request("GET", `${path}?__proto__[polluted]=%00&x=%ff`)).status, path).toBe(200)
  })
})

describe("items of a set that are written at the same moment", () => {
  it("are all stored, and deleted ones are all gone", async () => {
    const ids = Array.from({ length: 20 }, (_, i) => `i${String(i).padStart(2, "0")}`)
    const kept = async (path: string) =>
      ((await send("GET", path)).body.items as ReadonlyArray<{ readonly id: string }>).map(({ id }) => id)
    for (const [path, item] of [
      ["/v1/synonym_sets/many", { synonyms: ["a", "b"] }],
      ["/v1/curation_sets/many", { rule: { query: "a", match: "exact" }, includes: [{ id: "1", position: 1 }] }]
    ] as const) {
      await send("PUT", path, { items: [] })
      expect(
        (await Promise.all(ids.map((id) => send("PUT", `${path}/items/${id}`, item)))).map(({ status }) => status)
      ).toEqual(ids.map(() => 200))
      expect(await kept(path)).toEqual(ids)
      const [gone, added] = [ids.slice(0, 10), ids.slice(0, 10).map((id) => `${id}x`)]
      const statuses = await Promise.all([
        ...gone.map((id) => send("DELETE", `${path}/items/${id}`)),
        ...added.map((id) => send("PUT", `${path}/items/${id}`, item))
      ])
      expect(statuses.map(({ status }) => status)).toEqual([...gone, ...added].map(() => 200))
      expect(await kept(path)).toEqual([...ids.slice(10), ...added].sort())
      // Of two concurrent deletions of an item, one is answered that it does not exist.
      expect(
        (await Promise.all([1, 2].map(() => send("DELETE", `${path}/items/${ids[10]}`))))
          .map(({ status }) => status)
          .sort()
      ).toEqual([200, 404])
    }
  })
})

describe("integers beyond 2^53", () => {
  const big = "9223372036854776000"
  it("are kept in fields that accept any JSON, and break no later change of them", async () => {
    expect((await send("PATCH", "/v1/collections/goods", `{"metadata":{"touched":[{},${big}]}}`)).status).toBe(200)
    expect(
      (await send("PATCH", "/v1/collections/goods", { fields: [{ name: "more", type: "string", optional: true }] }))
        .status
    ).toBe(200)
    expect((await send("GET", "/v1/collections/goods")).text).toContain(big)
    const statuses = [
      await send("PUT", "/v1/presets/big", `{"value":{"q":"x","n":${big}}}`),
      await send(
        "PUT",
        "/v1/curation_sets/big",
        `{"items":[{"id":"a","rule":{"query":"x","match":"exact"},"includes":[{"id":"1","position":1}],"metadata":{"n":${big}}}]}`
      ),
      await send(
        "PUT",
        "/v1/curation_sets/metric",
        `{"items":[{"id":"a","rule":{"query":"x","match":"exact"},"diversity":{"similarity_metric":[{"field":"title","method":${big}}]}}]}`
      ),
      await send(
        "PUT",
        "/v1/collections/goods/search_rules",
        `{"banners":[{"id":"b","query":"x","content":{"n":${big}}}]}`
      ),
      await send(
        "POST",
        "/v1/collections",
        `{"name":"embedded","fields":[{"name":"t","type":"string"},{"name":"v","type":"float[]","embed":{"from":["t"],"model_config":{"model_name":"x","n":${big}}}}]}`
      ),
      await send("GET", "/v1/collections/goods/documents/search?q=x&query_by=title&preset=big")
    ].map(({ status }) => status)
    expect(statuses.filter((status) => status >= 500)).toEqual([])
    expect(statuses.slice(0, 2)).toEqual([200, 200])
  })
})
