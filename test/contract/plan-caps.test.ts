/**
 * Counted caps at the last free place: of twenty concurrent creations exactly as many succeed as there is room, for
 * each tenant separately.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { plans } from "../../src/metering/plans.ts"
import { type Answer, type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
beforeAll(async () => {
  program = await startProgram()
})
afterAll(() => program.stop())

const CREATORS = 20
const operator = () => ({ headers: { authorization: `Bearer ${program.operatorToken}` } })
const tenantOn = async (name: string, plan: string): Promise<Tenant> => {
  const tenant = await program.tenant(name)
  expect(
    (
      await program.request("POST", `/console/v1/organizations/${tenant.organization_id}/plan`, {
        ...operator(),
        body: { plan }
      })
    ).status
  ).toBe(200)
  return tenant
}
const create = (tenant: Tenant, path: string, body: unknown) =>
  program.request("POST", `/v1/${path}`, { key: tenant.full_key, body })
const atOnce = (run: (i: number) => Promise<Answer>): Promise<ReadonlyArray<Answer>> =>
  Promise.all(Array.from({ length: CREATORS }, (_, i) => run(i)))
const counted = (answers: ReadonlyArray<Answer>) =>
  Object.fromEntries(
    [...new Set(answers.map(({ status }) => status))]
      .sort()
      .map((status) => [status, answers.filter((answer) => answer.status === status).length])
  )

describe("the last place", () => {
  it("among keys is given once, and another organization's keys do not count", async () => {
    const [one, other] = [await tenantOn("Keys", "free"), await tenantOn("Other keys", "free")]
    const key = (i: number) => ({ description: `k${i}`, scope: "search" })
    // Two exist from the start; the plan has twenty.
    for (let i = 0; i < 17; i++) expect((await create(one, "keys", key(i))).status).toBe(201)
    const [answers, others] = await Promise.all([
      atOnce((i) => create(one, "keys", key(i))),
      atOnce((i) => create(other, "keys", key(i)))
    ])
    expect([counted(answers), counted(others)]).toEqual([
      { 201: 1, 403: 19 },
      { 201: 18, 403: 2 }
    ])
    expect(answers.find(({ status }) => status === 403)!.body).toMatchObject({
      code: "FORBIDDEN",
      data: { feature: "api_keys", plan: "free", limit: 20 },
      feature: "api_keys",
      plan: "free",
      limit: 20
    })
    expect((await program.request("GET", "/v1/keys", { key: one.full_key })).body.keys).toHaveLength(20)
    // A place that was returned is available again, once.
    const { id } = answers.find(({ status }) => status === 201)!.body
    expect((await program.request("DELETE", `/v1/keys/${id}`, { key: one.full_key })).status).toBe(200)
    expect(counted(await atOnce((i) => create(one, "keys", key(i))))).toEqual({ 201: 1, 403: 19 })
  })
  it("among keys is the same through the console: a member is bound by the plan, the operator is not", async () => {
    const tenant = await tenantOn("Console keys", "free")
    const at = `/console/v1/organizations/${tenant.organization_id}`
    const password = "correct horse battery"
    expect(
      (
        await program.request("POST", `${at}/members`, {
          ...operator(),
          body: { email: "admin@caps.example", role: "admin", password }
        })
      ).status
    ).toBe(201)
    const cookie = (
      await program.request("POST", "/console/v1/sessions", { body: { email: "admin@caps.example", password } })
    ).headers
      .get("set-cookie")!
      .split(";")[0]!
    const session = { headers: { cookie, origin: program.base } }
    for (let i = 0; i < 17; i++)
      expect((await create(tenant, "keys", { description: "k", scope: "search" })).status).toBe(201)
    const answers = await atOnce(() =>
      program.request("POST", `${at}/keys`, { ...session, body: { description: "k", scope: "search" } })
    )
    expect(counted(answers)).toEqual({ 201: 1, 403: 19 })
    const fast = await program.request("POST", `${at}/keys`, {
      ...session,
      body: { description: "k", scope: "search", rate_limit_per_minute: 0 }
    })
    expect([fast.status, fast.body.data]).toEqual([403, { feature: "rate_limit_per_minute", plan: "free", limit: 600 }])
    expect(
      (await program.request("POST", `${at}/keys`, { ...operator(), body: { description: "k", scope: "search" } }))
        .status
    ).toBe(201)
  })
  it("among webhooks is given once", async () => {
    const tenant = await tenantOn("Webhooks", "free")
    const webhook = { name: "w", url: "https://receiver.example/", events: ["*"] }
    expect((await create(tenant, "webhooks", webhook)).status).toBe(201)
    const answers = await atOnce(() => create(tenant, "webhooks", webhook))
    expect(counted(answers)).toEqual({ 201: 1, 403: 19 })
    expect(answers.find(({ status }) => status === 403)!.body.data).toEqual({
      feature: "webhooks",
      plan: "free",
      limit: 2
    })
  })
  it("among analytics rules is given once, also to batches", async () => {
    const tenant = await tenantOn("Rules", "standard")
    for (const name of ["goods", "popular"])
      expect(
        (
          await create(tenant, "collections", {
            name,
            fields: [
              { name: "q", type: "string" },
              { name: "count", type: "int32" }
            ]
          })
        ).status
      ).toBe(201)
    const rule = (name: string) => ({
      name,
      type: "popular_queries",
      collection: "goods",
      event_type: "search",
      params: { destination_collection: "popular", limit: 1 }
    })
    expect(
      (
        await create(
          tenant,
          "analytics/rules",
          Array.from({ length: 99 }, (_, i) => rule(`r${i}`))
        )
      ).body.filter((one: object) => "error" in one)
    ).toEqual([])
    const answers = await atOnce((i) =>
      i % 2 === 0
        ? create(tenant, "analytics/rules", rule(`n${i}`))
        : create(tenant, "analytics/rules", [rule(`n${i}`)])
    )
    const made = answers
      .flatMap(({ body }) => (Array.isArray(body) ? body : [body]))
      .filter(({ name }) => name !== undefined)
    expect(made).toHaveLength(1)
    expect((await program.request("GET", "/v1/analytics/rules", { key: tenant.full_key })).body).toHaveLength(100)
  })
})

const put = (tenant: Tenant, path: string, body: unknown) =>
  program.request("PUT", `/v1/${path}`, { key: tenant.full_key, body })
const remove = (tenant: Tenant, path: string) => program.request("DELETE", `/v1/${path}`, { key: tenant.full_key })
const importLines = async (
  tenant: Tenant,
  collection: string,
  lines: ReadonlyArray<object>,
  query = ""
): Promise<ReadonlyArray<{ readonly success: boolean; readonly code?: number; readonly error?: string }>> =>
  (
    await create(
      tenant,
      `collections/${collection}/documents/import${query}`,
      lines.map((line) => JSON.stringify(line)).join("\n")
    )
  ).text
    .split("\n")
    .map((line) => JSON.parse(line))
const usageOf = async (tenant: Tenant) =>
  (await program.request("GET", "/v1/entitlement", { key: tenant.full_key })).body.usage
const free = plans.free.features
const titled = { fields: [{ name: "title", type: "string" }] }

describe("what the engine stores", () => {
  it("collections: the last place is given once, and is free again after a drop", async () => {
    const tenant = await tenantOn("Collections", "free")
    for (let i = 0; i < 49; i++)
      expect((await create(tenant, "collections", { name: `c${i}`, ...titled })).status).toBe(201)
    const answers = await atOnce((i) => create(tenant, "collections", { name: `n${i}`, ...titled }))
    expect(counted(answers)).toEqual({ 201: 1, 403: 19 })
    expect(answers.find(({ status }) => status === 403)!.body).toEqual({
      message: "The plan free includes collections up to 50.",
      feature: "collections",
      plan: "free",
      limit: 50
    })
    expect((await create(tenant, "collections?src_name=c0", { name: "clone" })).status).toBe(403)
    expect((await remove(tenant, "collections/c0")).status).toBe(200)
    expect(counted(await atOnce((i) => create(tenant, "collections", { name: `m${i}`, ...titled })))).toEqual({
      201: 1,
      403: 19
    })
  })
  it("fields: declared, altered and detected ones alike; a line with too many fails alone", async () => {
    const tenant = await tenantOn("Fields", "free")
    const fields = (n: number, prefix = "f") =>
      Array.from({ length: n }, (_, i) => ({ name: `${prefix}${i}`, type: "string", optional: true }))
    const refusal = { feature: "fields_per_collection", plan: "free", limit: 250 }
    const wide = await create(tenant, "collections", { name: "wide", fields: fields(251) })
    expect([wide.status, wide.body]).toEqual([
      403,
      { message: "The plan free includes fields_per_collection up to 250.", ...refusal }
    ])
    expect((await create(tenant, "collections", { name: "wide", fields: fields(250) })).status).toBe(201)
    const altered = await program.request("PATCH", "/v1/collections/wide", {
      key: tenant.full_key,
      body: { fields: fields(1, "more") }
    })
    expect([altered.status, altered.body]).toMatchObject([403, refusal])
    // There is room for replacing one field by another.
    expect(
      (
        await program.request("PATCH", "/v1/collections/wide", {
          key: tenant.full_key,
          body: { fields: [{ name: "f0", drop: true }, ...fields(1, "more")] }
        })
      ).status
    ).toBe(200)

    expect((await create(tenant, "collections", { name: "free", fields: [{ name: ".*", type: "auto" }] })).status).toBe(
      201
    )
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i]))
    const lines = await importLines(tenant, "free", [
      { id: "a", title: "x" },
      { id: "b", ...many },
      { id: "c", title: "y" }
    ])
    expect(lines).toEqual([
      { success: true },
      { success: false, code: 403, error: "The plan free includes fields_per_collection up to 250." },
      { success: true }
    ])
    const single = await create(tenant, "collections/free/documents", { id: "d", ...many })
    expect([single.status, single.body]).toMatchObject([403, refusal])
    expect(
      (await program.request("GET", "/v1/collections/free", { key: tenant.full_key })).body.fields.length
    ).toBeLessThan(10)
  })
  it("documents: the last place is given once over all collections; existing ones may be replaced", async () => {
    const tenant = await tenantOn("Documents", "free")
    for (const name of ["a", "b"]) expect((await create(tenant, "collections", { name, ...titled })).status).toBe(201)
    const part = 20_000
    for (let at = 0; at < 100_000 - 1; at += part) {
      const lines = await importLines(
        tenant,
        at % (2 * part) === 0 ? "a" : "b",
        Array.from({ length: Math.min(part, 100_000 - 1 - at) }, (_, i) => ({ id: `d${at + i}`, title: "x" }))
      )
      expect(lines.filter(({ success }) => !success)).toEqual([])
    }
    const answers = await atOnce((i) =>
      create(tenant, `collections/${i % 2 === 0 ? "a" : "b"}/documents`, { id: `n${i}`, title: "x" })
    )
    expect(counted(answers)).toEqual({ 201: 1, 403: 19 })
    expect(answers.find(({ status }) => status === 403)!.body).toMatchObject({
      feature: "documents",
      plan: "free",
      limit: 100_000
    })
    expect((await create(tenant, "collections/a/documents?action=upsert", { id: "d0", title: "another" })).status).toBe(
      201
    )
    expect(
      await importLines(
        tenant,
        "a",
        [
          { id: "d1", title: "y" },
          { id: "new", title: "y" },
          { id: "d2", title: "y" }
        ],
        "?action=upsert"
      )
    ).toEqual([
      { success: true },
      { success: false, code: 403, error: "The plan free includes documents up to 100000." },
      { success: true }
    ])
    expect(await usageOf(tenant)).toMatchObject({ collections: 2, documents: 100_000 })
    // Another organization has its own places.
    const other = await tenantOn("Other documents", "free")
    expect((await create(other, "collections", { name: "a", ...titled })).status).toBe(201)
    expect(await importLines(other, "a", [{ id: "1", title: "x" }])).toEqual([{ success: true }])
    // Room is returned: one by one, by a filter, and with a collection.
    expect((await remove(tenant, "collections/a/documents/d0")).status).toBe(200)
    expect(
      counted(await atOnce((i) => create(tenant, "collections/a/documents", { id: `o${i}`, title: "x" })))
    ).toEqual({ 201: 1, 403: 19 })
    expect((await remove(tenant, "collections/b")).status).toBe(200)
    expect(
      (
        await importLines(
          tenant,
          "a",
          Array.from({ length: 1_000 }, (_, i) => ({ id: `p${i}`, title: "x" }))
        )
      ).every(({ success }) => success)
    ).toBe(true)
  })
})

describe("named resources", () => {
  const stopwords = (tenant: Tenant, id: string) => put(tenant, `stopwords/${id}`, { stopwords: ["a"] })
  it("are counted together, items of sets too, and the last place is given once", async () => {
    const tenant = await tenantOn("Resources", "free")
    expect((await create(tenant, "collections", { name: "goods", ...titled })).status).toBe(201)
    const items = Array.from({ length: 490 }, (_, i) => ({ id: `i${i}`, synonyms: ["a", `b${i}`] }))
    expect((await put(tenant, "synonym_sets/s", { items })).status).toBe(200)
    expect((await put(tenant, "presets/p", { value: { q: "x" } })).status).toBe(200)
    expect((await put(tenant, "aliases/a", { collection_name: "goods" })).status).toBe(200)
    expect((await stopwords(tenant, "w")).status).toBe(200)
    expect(
      (await create(tenant, "stemming/dictionaries/import?id=d", JSON.stringify({ word: "mice", root: "mouse" })))
        .status
    ).toBe(200)
    expect((await put(tenant, "collections/goods/search_rules", {})).status).toBe(200)
    expect(
      (
        await create(tenant, "analytics/rules", {
          name: "r",
          type: "counter",
          collection: "goods",
          event_type: "click",
          params: { counter_field: "n" }
        })
      ).status
    ).not.toBe(201)
    expect(await usageOf(tenant)).toMatchObject({ named_resources: 496 })
    for (let i = 0; i < 3; i++) expect((await stopwords(tenant, `m${i}`)).status).toBe(200)
    const answers = await atOnce((i) =>
      i % 2 === 0
        ? put(tenant, `presets/n${i}`, { value: { q: "x" } })
        : put(tenant, `synonym_sets/s/items/n${i}`, { synonyms: ["x", "y"] })
    )
    expect(counted(answers)).toEqual({ 200: 1, 403: 19 })
    expect(answers.find(({ status }) => status === 403)!.body).toEqual({
      message: "The plan free includes named_resources up to 500.",
      feature: "named_resources",
      plan: "free",
      limit: 500
    })
    // Existing documents may be replaced; a deleted one returns its place.
    expect((await put(tenant, "presets/p", { value: { q: "another" } })).status).toBe(200)
    expect((await remove(tenant, "aliases/a")).status).toBe(200)
    expect(counted(await atOnce((i) => stopwords(tenant, `o${i}`)))).toEqual({ 200: 1, 403: 19 })
    expect((await put(tenant, "collections/goods/search_rules", { pins: [] })).status).toBe(200)
  })
  it("have together as many bytes as the plan allows, and each as many as a value may have", async () => {
    const [tenant, other] = [await tenantOn("Bytes", "free"), await tenantOn("Other bytes", "free")]
    const preset = (bytes: number) => ({ value: { q: "x".repeat(bytes) } })
    const large = await put(tenant, "presets/large", preset(65_536))
    expect([large.status, large.body]).toEqual([400, { message: "The preset may have at most 65536 bytes." }])
    expect((await put(tenant, "synonym_sets/s", { items: [{ id: "i", synonyms: ["x".repeat(65_536)] }] })).status).toBe(
      400
    )
    expect((await put(tenant, "stopwords/w", { stopwords: ["x".repeat(65_536)] })).status).toBe(400)
    const words = (bytes: number) =>
      Array.from({ length: Math.ceil(bytes / 100) }, (_, i) =>
        JSON.stringify({ word: `w${i}`.padEnd(50, "x"), root: "y".repeat(50) })
      ).join("\n")
    expect((await create(tenant, "stemming/dictionaries/import?id=large", words(1_100_000))).status).toBe(400)
    // 64 of 64 kB are more than the plan's 4 MB.
    const answers: Array<Answer> = []
    for (let i = 0; i < 64; i++) answers.push(await put(tenant, `presets/p${i}`, preset(65_400)))
    const taken = answers.filter(({ status }) => status === 200).length
    expect(taken).toBe(Math.floor(4_000_000 / 65_450))
    expect(answers.at(-1)!.body).toEqual({
      message: "The plan free includes named_resource_bytes up to 4000000.",
      feature: "named_resource_bytes",
      plan: "free",
      limit: 4_000_000
    })
    const kept = (await usageOf(tenant)).named_resource_bytes
    expect(kept).toBeGreaterThan(3_900_000)
    expect(kept).toBeLessThanOrEqual(4_000_000)
    expect((await put(other, "presets/p", preset(60_000))).status).toBe(200)
    expect((await put(tenant, "presets/p0", preset(10))).status).toBe(200)
    expect((await put(tenant, "presets/again", preset(60_000))).status).toBe(200)
  })
})

describe("people and browser keys", () => {
  it("members: the last place is given once to members; the operator may exceed it", async () => {
    const tenant = await tenantOn("Members", "free")
    const at = `/console/v1/organizations/${tenant.organization_id}/members`
    const password = "correct horse battery"
    const person = (name: string, role = "member") => ({ email: `${name}@members.example`, role, password })
    expect((await program.request("POST", at, { ...operator(), body: person("owner", "owner") })).status).toBe(201)
    for (let i = 0; i < 8; i++)
      expect((await program.request("POST", at, { ...operator(), body: person(`p${i}`) })).status).toBe(201)
    const cookie = (
      await program.request("POST", "/console/v1/sessions", { body: { email: "owner@members.example", password } })
    ).headers
      .get("set-cookie")!
      .split(";")[0]!
    const session = { headers: { cookie, origin: program.base } }
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => program.request("POST", at, { ...session, body: person(`n${i}`) }))
    )
    expect(counted(answers)).toEqual({ 201: 1, 403: 5 })
    expect(answers.find(({ status }) => status === 403)!.body.data).toEqual({
      feature: "members",
      plan: "free",
      limit: 10
    })
    expect((await program.request("POST", at, { ...operator(), body: person("by-operator") })).status).toBe(201)
    expect(await usageOf(tenant)).toMatchObject({ members: 11 })
  })
  it("browser keys of an hour", async () => {
    const tenant = await tenantOn("Browser keys", "free")
    expect((await create(tenant, "browser_keys", {})).status).toBe(201)
    expect((await create(tenant, "browser_keys", { ttl_seconds: 1 })).status).toBe(400)
    expect(await usageOf(tenant)).toMatchObject({ browser_keys_per_hour: 1, api_keys: 2 })
  })
})

describe("the read-out", () => {
  it("shows the use of each feature that is counted", async () => {
    const tenant = await tenantOn("Read-out", "free")
    expect((await create(tenant, "collections", { name: "a", ...titled })).status).toBe(201)
    expect((await create(tenant, "collections/a/documents", { id: "1", title: "x" })).status).toBe(201)
    expect(await usageOf(tenant)).toEqual({
      api_keys: 2,
      webhooks: 0,
      collections: 1,
      documents: 1,
      stored_bytes: JSON.stringify({ id: "1", title: "x" }).length,
      named_resources: 0,
      named_resource_bytes: 0,
      members: 0,
      browser_keys_per_hour: 0,
      event_bytes_per_day: 0
    })
    expect(Object.keys(free)).toEqual(expect.arrayContaining(Object.keys(await usageOf(tenant))))
  })
})
