/**
 * Quota, wallet, plans and pause as callers experience them: what counts, what is refused with which facts, and what
 * the operator changes from one request to the next.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
beforeAll(async () => {
  program = await startProgram()
})
afterAll(() => program.stop())

const console_ = (path: string, body?: unknown) =>
  program.request("POST", `/console/v1/organizations/${path}`, {
    headers: { authorization: `Bearer ${program.operatorToken}` },
    ...(body === undefined ? {} : { body })
  })
const setPlan = async ({ organization_id }: Tenant, body: Record<string, unknown>) => {
  const { body: answer, status } = await console_(`${organization_id}/plan`, body)
  expect(status, JSON.stringify(answer)).toBe(200)
  return answer
}
const tenantWith = async (name: string, plan: Record<string, unknown>) => {
  const tenant = await program.tenant(name)
  const send = (method: string, path: string, body?: unknown) =>
    program.request(method, path, { key: tenant.full_key, body })
  await send("POST", "/v1/collections", { name: "goods", fields: [{ name: "title", type: "string", facet: true }] })
  await send("POST", "/v1/collections/goods/documents", { id: "1", title: "oak table" })
  await setPlan(tenant, plan)
  return tenant
}
const entitlement = async (tenant: Tenant) =>
  (await program.request("GET", "/v1/entitlement", { key: tenant.full_key })).body
const used = async (tenant: Tenant): Promise<number> => (await entitlement(tenant)).quota.used
const search = (tenant: Tenant, query = "q=oak&query_by=title") =>
  program.request("GET", `/v1/collections/goods/documents/search?${query}`, { key: tenant.search_key })
const many = (tenant: Tenant, searches: ReadonlyArray<unknown>, query = "", extra = {}) =>
  program.request("POST", `/v1/multi_search${query}`, { key: tenant.search_key, body: { searches, ...extra } })
const good = { collection: "goods", q: "oak", query_by: "title" }

describe("units", () => {
  it("are used by successful searches only, one a request", async () => {
    const tenant = await tenantWith("Units", { plan: "standard" })
    await program.request("PUT", "/v1/collections/goods/search_rules", {
      key: tenant.full_key,
      body: { redirects: [{ query: "help", url: "/help" }] }
    })
    const cost = async (run: () => Promise<{ readonly status: number }>) => {
      const before = await used(tenant)
      const { status } = await run()
      return [status, (await used(tenant)) - before]
    }
    expect(await cost(() => search(tenant))).toEqual([200, 1])
    expect(await cost(() => search(tenant, "q=nothing&query_by=title"))).toEqual([200, 1])
    expect(await cost(() => search(tenant, "query_by=title"))).toEqual([400, 0])
    expect(await cost(() => search(tenant, "q=oak&query_by=nowhere"))).toEqual([404, 0])
    expect(
      await cost(() =>
        program.request("GET", "/v1/collections/nowhere/documents/search?q=x", { key: tenant.search_key })
      )
    ).toEqual([404, 0])
    expect(await cost(() => search(tenant, "q=help&query_by=title"))).toEqual([200, 0])
    expect(await cost(() => many(tenant, [good, good, { ...good, collection: "nowhere" }]))).toEqual([200, 1])
    expect(await cost(() => many(tenant, [{ ...good, collection: "nowhere" }]))).toEqual([200, 0])
    expect(await cost(() => many(tenant, []))).toEqual([200, 0])
    expect(await cost(() => many(tenant, [good, good], "", { union: true }))).toEqual([200, 1])
    // A cached answer is an answer.
    for (const _ of [1, 2])
      expect(await cost(() => search(tenant, "q=oak&query_by=title&use_cache=true"))).toEqual([200, 1])
    for (const kind of ["suggestions?q=o", "prompts"])
      expect(
        await cost(() => program.request("GET", `/v1/collections/goods/${kind}`, { key: tenant.search_key }))
      ).toEqual([200, 1])
    expect(
      await cost(() =>
        program.request("GET", "/v1/collections/goods/suggestions?q=o&limit=0", { key: tenant.search_key })
      )
    ).toEqual([400, 0])
    for (const path of ["/v1/keys", "/v1/collections", "/v1/collections/goods/documents/1"])
      expect(await cost(() => program.request("GET", path, { key: tenant.full_key }))).toEqual([200, 0])
  })
  it("of a multi-search with keys of its entries are charged to each organization that is searched", async () => {
    const [one, other] = [
      await tenantWith("One", { plan: "standard" }),
      await tenantWith("Other", { plan: "standard" })
    ]
    const { status } = await many(one, [
      good,
      { ...good, "x-typesense-api-key": other.search_key },
      { ...good, "x-typesense-api-key": other.search_key }
    ])
    expect([status, await used(one), await used(other)]).toEqual([200, 1, 1])
  })
})

describe("a quota that is used up", () => {
  it("answers 429 with its reset time, after the request's own errors; sends events at 80 percent and the end", async () => {
    const tenant = await tenantWith("Small", { plan: "standard", quota: 10 })
    const other = await tenantWith("Beside", { plan: "standard", quota: 10 })
    await program.request("POST", "/v1/webhooks", {
      key: tenant.full_key,
      body: { name: "all", url: "http://127.0.0.1:9/", events: ["*"] }
    })
    const statuses = await Promise.all(Array.from({ length: 25 }, () => search(tenant).then(({ status }) => status)))
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(15)
    const refused = await search(tenant)
    const now = new Date()
    const reset = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    expect([refused.status, refused.body]).toEqual([
      429,
      { message: expect.stringContaining("10 searches"), resets_at: reset }
    ])
    expect(Math.abs(Number(refused.headers.get("retry-after")) - (reset - Date.now()) / 1000)).toBeLessThan(5)
    expect((await many(tenant, [good])).status).toBe(429)
    const suggested = await program.request("GET", "/v1/collections/goods/suggestions?q=o", { key: tenant.search_key })
    expect([suggested.status, suggested.body.resets_at, suggested.body.data.resets_at]).toEqual([429, reset, reset])
    // Order of refusals: scope, resource, body, then quota.
    expect((await search(tenant, "query_by=title")).status).toBe(400)
    expect(
      (await program.request("GET", "/v1/collections/nowhere/documents/search?q=x", { key: tenant.search_key })).status
    ).toBe(404)
    expect(
      (await program.request("POST", "/v1/multi_search", { key: tenant.search_key, body: "no json" })).status
    ).toBe(400)
    expect((await program.request("GET", "/v1/keys", { key: tenant.search_key })).status).toBe(403)
    // Everything but searches continues, and so do all other organizations.
    expect((await program.request("GET", "/v1/collections/goods", { key: tenant.full_key })).status).toBe(200)
    expect((await search(other)).status).toBe(200)
    expect((await entitlement(tenant)).quota).toEqual({ limit: 10, used: 10, remaining: 0, resets_at: reset })
    // Once each.
    const [webhook] = (await program.request("GET", "/v1/webhooks", { key: tenant.full_key })).body.data
    await expect
      .poll(
        async () =>
          (await program.request("GET", `/v1/webhooks/${webhook.id}/deliveries`, { key: tenant.full_key })).body.data
            .map(({ event }: { event: string }) => event)
            .sort(),
        { timeout: 60_000 }
      )
      .toEqual(["quota.exhausted", "quota.warning"])
    // The next request sees the operator's change.
    await setPlan(tenant, { plan: "standard", quota: 12 })
    expect([(await search(tenant)).status, (await search(tenant)).status, (await search(tenant)).status]).toEqual([
      200, 200, 429
    ])
  })
  it("continues from the wallet if overage is enabled, to the last credit", async () => {
    const tenant = await tenantWith("Over", { plan: "standard", quota: 3, overage: true })
    expect(
      await Promise.all([1, 2, 3, 4].map(() => search(tenant).then(({ status }) => status))).then((all) => all.sort())
    ).toEqual([200, 200, 200, 429])
    const topped = await console_(`${tenant.organization_id}/top-up`, { credits: 0.05, reference: "invoice 1" })
    expect([topped.status, topped.body.credits]).toEqual([200, { balance: 0.05, reserved: 0, available: 0.05 }])
    expect(
      (await console_(`${tenant.organization_id}/top-up`, { credits: 0.05, reference: "invoice 1" })).body.credits
        .balance
    ).toBe(0.05)
    await expect.poll(async () => (await search(tenant)).status, { timeout: 60_000 }).toBe(200)
    // A failed search costs nothing.
    expect((await search(tenant, "query_by=title")).status).toBe(400)
    const rest = await Promise.all(Array.from({ length: 9 }, () => search(tenant).then(({ status }) => status)))
    expect(rest.filter((status) => status === 200)).toHaveLength(4)
    await expect
      .poll(async () => (await entitlement(tenant)).credits, { timeout: 30_000, interval: 500 })
      .toEqual({ balance: 0, reserved: 0, available: 0 })
    expect((await entitlement(tenant)).quota).toMatchObject({ limit: 3, used: 8, remaining: 0 })
  })
})

describe("plans", () => {
  it("are read by their organization's full key, and only by that", async () => {
    const tenant = await tenantWith("Reader", { plan: "free" })
    expect((await program.request("GET", "/v1/entitlement", { key: tenant.search_key })).status).toBe(403)
    const free = await entitlement(tenant)
    expect(free).toMatchObject({
      plan: { id: "free", status: "active", expires_at: null },
      quota: { limit: 10_000, used: 0, remaining: 10_000 },
      credits: { balance: 0, reserved: 0, available: 0 }
    })
    expect(free.features).toMatchObject({ webhooks: 2, event_replays: false, wallet_overage: false })
    await setPlan(tenant, { plan: "unlimited" })
    expect(await entitlement(tenant)).toMatchObject({
      plan: { id: "unlimited" },
      quota: { limit: null, remaining: null },
      features: { event_replays: true }
    })
  })
  it("refuse what they do not include with 403, `feature` and `plan`, after the body", async () => {
    const tenant = await tenantWith("Capped", { plan: "free" })
    const send = (path: string, body: unknown) => program.request("POST", path, { key: tenant.full_key, body })
    const hook = { name: "n", url: "https://hooks.example/", events: ["*"] }
    for (const status of [201, 201, 403]) expect((await send("/v1/webhooks", hook)).status).toBe(status)
    const refused = await send("/v1/webhooks", hook)
    expect(refused.body).toMatchObject({
      code: "FORBIDDEN",
      status: 403,
      data: { feature: "webhooks", plan: "free" },
      feature: "webhooks",
      plan: "free"
    })
    expect((await send("/v1/webhooks", { ...hook, url: "no" })).status).toBe(400)
    const replay = {
      from: new Date().toISOString().slice(0, 10),
      to: new Date().toISOString().slice(0, 10),
      target: "analytics"
    }
    expect((await send("/v1/events/replays", replay)).body).toMatchObject({ feature: "event_replays", plan: "free" })
    expect(
      (await send("/v1/keys", { description: "k", scope: "search", rate_limit_per_minute: 0 })).body
    ).toMatchObject({ feature: "rate_limit_per_minute" })
    const keys = []
    for (let i = 0; i < 20; i++) keys.push((await send("/v1/keys", { description: "k", scope: "search" })).status)
    // Two existed before.
    expect(keys).toEqual([...Array(18).fill(201), 403, 403])
    await setPlan(tenant, { plan: "standard" })
    expect((await send("/v1/webhooks", hook)).status).toBe(201)
    expect((await send("/v1/keys", { description: "k", scope: "search", rate_limit_per_minute: 0 })).status).toBe(201)
  })
  it("and the wallet are the operator's, whose invalid requests are explained", async () => {
    const tenant = await program.tenant("Mine")
    for (const path of ["plan", "top-up"]) {
      expect(
        (
          await program.request("POST", `/console/v1/organizations/${tenant.organization_id}/${path}`, {
            key: tenant.full_key,
            body: { plan: "unlimited", credits: 1 }
          })
        ).status
      ).toBe(401)
      expect((await console_(`org_NONE/${path}`, path === "plan" ? { plan: "free" } : { credits: 1 })).status).toBe(404)
    }
    const issue = async (path: string, body: unknown) =>
      (await console_(`${tenant.organization_id}/${path}`, body)).body.data.issues[0].path
    expect(await issue("plan", { plan: "golden" })).toBe("plan")
    expect(await issue("plan", { plan: "free", quota: -1 })).toBe("quota")
    expect(await issue("plan", { plan: "free", quota_units: 1 })).toBe("quota_units")
    for (const credits of [0, -1, 1e10, 0.0000001, "1"]) expect(await issue("top-up", { credits })).toBe("credits")
    expect((await console_(`${tenant.organization_id}/top-up`, { credits: 1.000001 })).body.credits.balance).toBe(
      1.000001
    )
  })
})

describe("rate", () => {
  it("is in the headers of every answer to a key, including refusals, and 429 says when to retry", async () => {
    const tenant = await program.tenant("Rated")
    const { value } = (
      await program.request("POST", "/v1/keys", {
        key: tenant.full_key,
        body: { description: "r", scope: "search", rate_limit_per_minute: 4, collections: ["mine"] }
      })
    ).body
    const ask = (path: string, key = value) => program.request("GET", path, { key })
    const shown = ({ headers }: { readonly headers: Headers }) =>
      ["limit", "remaining"].map((name) => headers.get(`x-ratelimit-${name}`))
    // A new minute may begin in between: then start again.
    for (let attempt = 0; ; attempt++) {
      const answers = [
        await ask("/v1/collections/mine/documents/search?q=x"),
        await ask("/v1/keys"),
        await ask("/v1/collections/other/documents/search?q=x"),
        await ask("/v1/nowhere"),
        await ask("/v1/collections/mine/documents/search?q=x"),
        await ask("/v1/collections/mine/documents/search?q=x")
      ]
      if (new Set(answers.map(({ headers }) => headers.get("x-ratelimit-reset"))).size > 1 && attempt < 3) continue
      expect(answers.map(({ status }) => status)).toEqual([404, 403, 403, 404, 404, 429])
      // A key whose scope does not include the operation is refused before its rate is charged.
      expect(answers.map(shown)).toEqual([
        ["4", "3"],
        ["4", "3"],
        ["4", "2"],
        ["4", "1"],
        ["4", "0"],
        ["4", "0"]
      ])
      const reset = answers[0]!.headers.get("x-ratelimit-reset")!
      expect(new Date(reset).toISOString()).toBe(reset)
      expect(Date.parse(reset) % 60_000).toBe(0)
      const retry = Number(answers[5]!.headers.get("retry-after"))
      expect(retry).toBeGreaterThan(0)
      expect(retry).toBeLessThanOrEqual(60)
      break
    }
    // A key without a limit has no headers, and the probe is not counted.
    expect((await ask("/v1/keys", tenant.full_key)).headers.get("x-ratelimit-limit")).toBeNull()
    expect((await ask("/api/v1/health")).headers.get("x-ratelimit-limit")).toBeNull()
  })
})

describe("a paused organization", () => {
  it("is answered with its reason by every operation, whatever is sent, until it is resumed", async () => {
    const tenant = await program.tenant("Paused")
    const awake = await program.tenant("Awake")
    const { paths } = (await program.request("GET", "/v1/openapi.json")).body as {
      paths: Record<string, Record<string, { operationId: string; "x-scope": string }>>
    }
    const operations = Object.entries(paths)
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, entry]) => ({
          path: path.replace(/\{\w+\}/g, "x"),
          method: method.toUpperCase(),
          scope: entry["x-scope"]
        }))
      )
      .filter(({ path, scope }) => (scope === "full" || scope === "search") && path.startsWith("/v1"))
    expect(operations.length).toBeGreaterThan(60)
    for (const reason of ["payment", "manual"]) {
      await console_(`${tenant.organization_id}/pause`, { reason })
      for (const { method, path, scope } of operations)
        for (const key of [tenant.full_key, ...(scope === "search" ? [tenant.search_key] : [])]) {
          const answer = await program.request(method, path, {
            key,
            ...(method === "GET" || method === "DELETE" ? {} : { body: "no json" })
          })
          expect([answer.status, answer.body?.reason], `${method} ${path}`).toEqual([402, reason])
        }
      // JSON Lines, and a search inside another request.
      const lines = await program.request("POST", "/v1/events", {
        key: tenant.search_key,
        headers: { "content-type": "application/x-ndjson" },
        body: "{}\n"
      })
      expect([lines.status, lines.body.data.reason]).toEqual([402, reason])
      expect(
        (
          await program.request("POST", "/v1/multi_search", {
            key: awake.search_key,
            body: { searches: [{ ...good, "x-typesense-api-key": tenant.search_key }] }
          })
        ).body.reason
      ).toBe(reason)
      expect((await program.request("GET", "/v1/nowhere", { key: tenant.full_key })).status).toBe(402)
      expect((await program.request("GET", "/v1/keys", { key: awake.full_key })).status).toBe(200)
    }
    await console_(`${tenant.organization_id}/resume`)
    expect((await program.request("GET", "/v1/keys", { key: tenant.full_key })).status).toBe(200)
  })
})
