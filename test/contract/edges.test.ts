/**
 * `docs/contract/conventions.md` on a running program: order of refusals, CORS, bodies of any kind, request ids, keys.
 */
import { createHmac } from "node:crypto"
import { brotliCompressSync, gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
let tenant: Tenant
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Edges")
})
afterAll(() => program.stop())

describe("edges", () => {
  it("answers OPTIONS before authentication, with CORS", async () => {
    const answer = await program.request("OPTIONS", "/v1/keys", {
      headers: {
        origin: "https://shop.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "x-svc-api-key,content-type"
      }
    })
    expect(answer.status).toBe(204)
    expect(answer.headers.get("access-control-allow-origin")).toBe("*")
    expect(answer.headers.get("access-control-allow-headers")).toContain("x-svc-api-key")
  })
  it("puts CORS and a request id on every answer, errors included", async () => {
    for (const path of ["/v1/nowhere", "/v1/keys", "/api/v1/health", "/api/v1/nowhere", "/"]) {
      const answer = await program.request("GET", path, { headers: { "x-request-id": "abc-1" } })
      expect(answer.headers.get("access-control-allow-origin"), path).toBe("*")
      expect(answer.headers.get("x-request-id"), path).toBe("abc-1")
      expect((await program.request("GET", path)).headers.get("x-request-id"), path).toMatch(/^req_[0-9a-f]{24}$/)
    }
  })
  it("answers an unmatched path 401 without a key and 404 with one, in the shape of its plane", async () => {
    expect((await program.request("GET", "/v1/nowhere")).body).toMatchObject({
      defined: true,
      code: "UNAUTHORIZED",
      status: 401
    })
    expect((await program.request("GET", "/v1/nowhere", { key: tenant.full_key })).body).toEqual({
      defined: true,
      code: "NOT_FOUND",
      status: 404,
      message: "Not Found",
      data: {}
    })
    expect((await program.request("POST", "/v1/nowhere", { key: tenant.search_key, body: {} })).status).toBe(404)
    expect((await program.request("GET", "/api/v1/nowhere")).body).toEqual({ error: "missing_bearer_token" })
  })
  it("parses a JSON body whatever its content type, and compressed", async () => {
    const body = JSON.stringify({ description: "from anywhere", scope: "search" })
    for (const type of [
      "application/json",
      "text/plain",
      "application/x-www-form-urlencoded",
      "application/octet-stream"
    ]) {
      expect(
        (await program.request("POST", "/v1/keys", { key: tenant.full_key, body, headers: { "content-type": type } }))
          .status,
        type
      ).toBe(201)
    }
    expect(
      (
        await program.request("POST", "/v1/keys", {
          key: tenant.full_key,
          body: gzipSync(body),
          headers: { "content-encoding": "gzip" }
        })
      ).status
    ).toBe(201)
    expect(
      (
        await program.request("POST", "/v1/keys", {
          key: tenant.full_key,
          body: brotliCompressSync(body),
          headers: { "content-encoding": "br" }
        })
      ).status
    ).toBe(201)
    const unknown = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body,
      headers: { "content-encoding": "lzma" }
    })
    expect([unknown.status, unknown.body.data.issues[0].path]).toEqual([400, "content-encoding"])
  })
  it("bounds the decoded body and its nesting", async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000, 0x20))
    const large = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: bomb,
      headers: { "content-encoding": "gzip" }
    })
    expect([large.status, large.body.data.issues[0].path]).toEqual([400, "body"])
    const deep = await program.request("POST", "/v1/keys", { key: tenant.full_key, body: "[".repeat(100_000) })
    expect(deep.status).toBe(400)
    const broken = await program.request("POST", "/v1/keys", { key: tenant.full_key, body: '{"a":' })
    expect([broken.status, broken.body.message]).toEqual([400, "Input validation failed"])
  })
  it("names every invalid field of a body, including unknown ones", async () => {
    const answer = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: { description: 1, collections: [2], surprise: true }
    })
    expect(answer.status).toBe(400)
    expect(answer.body.data.issues.map((issue: { path: string }) => issue.path).sort()).toEqual([
      "collections[0]",
      "description",
      "surprise"
    ])
  })
})

describe("keys", () => {
  it("accepts the stock client's header and query parameter", async () => {
    expect(
      (await program.request("GET", "/v1/keys", { headers: { "x-typesense-api-key": tenant.full_key } })).status
    ).toBe(200)
    expect((await program.request("GET", `/v1/keys?x-typesense-api-key=${tenant.full_key}`)).status).toBe(200)
    expect((await program.request("GET", `/v1/keys?x-svc-api-key=${tenant.full_key}`)).status).toBe(401)
  })
  it("shows a value once and keeps no plaintext", async () => {
    const made = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: { description: "once", scope: "search" }
    })
    expect(made.body.value.length).toBeGreaterThanOrEqual(72)
    const got = await program.request("GET", `/v1/keys/${made.body.id}`, { key: tenant.full_key })
    expect(got.body.value).toBeUndefined()
    expect(got.body.value_prefix).toBe(made.body.value.slice(0, 4))
    expect((await program.request("GET", "/v1/keys", { key: tenant.full_key })).text).not.toContain(made.body.value)
  })
  it("refuses a revoked key on the very next request", async () => {
    const made = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: { description: "short life", scope: "full" }
    })
    expect((await program.request("GET", "/v1/keys", { key: made.body.value })).status).toBe(200)
    expect((await program.request("DELETE", `/v1/keys/${made.body.id}`, { key: tenant.full_key })).body).toEqual({
      id: made.body.id
    })
    expect((await program.request("GET", "/v1/keys", { key: made.body.value })).status).toBe(401)
    expect((await program.request("GET", `/v1/keys/${made.body.id}`, { key: tenant.full_key })).status).toBe(404)
  })
  it("never turns unknown actions into a full key", async () => {
    const answer = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: { description: "x", actions: ["documents:get"], collections: ["*"] }
    })
    expect([answer.status, answer.body.data.issues[0].path]).toEqual([400, "actions"])
    expect(answer.body.data.issues[0].message).toContain("scope")
  })
  it("limits a plain key to 600 requests a minute, and an unlimited one never", async () => {
    const made = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: { description: "three", scope: "full", rate_limit_per_minute: 3 }
    })
    const statuses = []
    for (let i = 0; i < 5; i++) statuses.push(await program.request("GET", "/v1/keys", { key: made.body.value }))
    // A new minute may begin inside the loop; then the second half starts again.
    expect(statuses.filter((each) => each.status === 429).length).toBeGreaterThanOrEqual(
      statuses[0].headers.get("x-ratelimit-reset") === statuses[4].headers.get("x-ratelimit-reset") ? 2 : 0
    )
    expect(statuses[0].headers.get("x-ratelimit-limit")).toBe("3")
    const refused = statuses.find((each) => each.status === 429)
    if (refused !== undefined) expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
    const plain = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: { description: "plain", scope: "full" }
    })
    expect(plain.body.rate_limit_per_minute).toBe(600)
  })
  it("restricts by address, origin and scope in the contract's order", async () => {
    const make = async (extra: Record<string, unknown>) =>
      (
        await program.request("POST", "/v1/keys", {
          key: tenant.full_key,
          body: { description: "r", scope: "search", ...extra }
        })
      ).body.value as string
    const far = await make({ cidrs: ["10.0.0.0/8"] })
    expect((await program.request("GET", "/v1/keys", { key: far })).body.message).toContain("address")
    const near = await make({ cidrs: ["127.0.0.0/8"] })
    expect((await program.request("GET", "/v1/keys", { key: near })).body.message).toContain("scope")
    const origin = await make({ origins: ["https://*.shop.example"] })
    expect((await program.request("GET", "/v1/keys", { key: origin })).body.message).toContain("origin")
    const listed = await program.request("GET", "/v1/keys", {
      key: origin,
      headers: { origin: "https://www.shop.example" }
    })
    expect(listed.body.message).toContain("scope")
    expect(
      (
        await program.request("POST", "/v1/keys", {
          key: tenant.full_key,
          body: { description: "r", scope: "search", cidrs: ["10.0.0.0/99"] }
        })
      ).body.data.issues[0].path
    ).toBe("cidrs[0]")
  })
  it("answers 402 to every operation of a paused organization, until it is resumed", async () => {
    const paused = await program.tenant("Paused")
    const operator = { authorization: `Bearer ${program.operatorToken}` }
    await program.request("POST", `/console/v1/organizations/${paused.organization_id}/pause`, {
      body: { reason: "payment" },
      headers: operator
    })
    const answer = await program.request("GET", "/v1/keys", { key: paused.full_key })
    expect([answer.status, answer.body.reason, answer.body.data.reason]).toEqual([402, "payment", "payment"])
    await program.request("POST", `/console/v1/organizations/${paused.organization_id}/resume`, { headers: operator })
    expect((await program.request("GET", "/v1/keys", { key: paused.full_key })).status).toBe(200)
  })
  it("keeps the console API to the operator's token", async () => {
    expect((await program.request("GET", "/console/v1/organizations")).status).toBe(401)
    expect(
      (
        await program.request("GET", "/console/v1/organizations", {
          headers: { authorization: `Bearer ${tenant.full_key}` }
        })
      ).status
    ).toBe(401)
  })
  it("accepts a key signed offline by a search key, on search operations only", async () => {
    const parameters = JSON.stringify({ filter_by: "brand:=A", expires_at: Math.floor(Date.now() / 1000) + 60 })
    const sign = (parent: string, text: string) =>
      Buffer.from(createHmac("sha256", parent).update(text).digest("base64") + parent.slice(0, 4) + text).toString(
        "base64"
      )
    const good = sign(tenant.search_key, parameters)
    expect((await program.request("GET", "/v1/keys", { key: good })).status).toBe(403)
    expect(
      (await program.request("GET", "/v1/keys", { key: sign(tenant.search_key, JSON.stringify({ expires_at: 1 })) }))
        .status
    ).toBe(401)
    expect((await program.request("GET", "/v1/keys", { key: sign(tenant.full_key, parameters) })).status).toBe(401)
    const forged = Buffer.from(Buffer.from(good, "base64").toString().replace("brand:=A", "brand:=B")).toString(
      "base64"
    )
    expect((await program.request("GET", "/v1/keys", { key: forged })).status).toBe(401)
  })
  it("never shows one organization's keys to another", async () => {
    const other = await program.tenant("Other")
    const mine = (await program.request("GET", "/v1/keys", { key: tenant.full_key })).body.keys as Array<{ id: string }>
    for (const { id } of mine)
      expect((await program.request("GET", `/v1/keys/${id}`, { key: other.full_key })).status).toBe(404)
    expect((await program.request("DELETE", `/v1/keys/${mine[0].id}`, { key: other.full_key })).status).toBe(404)
    expect((await program.request("GET", "/v1/keys", { key: tenant.full_key })).body.keys).toHaveLength(mine.length)
  })
})
