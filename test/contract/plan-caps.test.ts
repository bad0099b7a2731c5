/** Counted caps at their last place: of twenty creators at once exactly as many pass as there is room, in each tenant for itself. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Answer, type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
beforeAll(async () => { program = await startProgram() })
afterAll(() => program.stop())

const CREATORS = 20
const operator = () => ({ headers: { authorization: `Bearer ${program.operatorToken}` } })
const tenantOn = async (name: string, plan: string): Promise<Tenant> => {
  const tenant = await program.tenant(name)
  expect((await program.request("POST", `/console/v1/organizations/${tenant.organization_id}/plan`, { ...operator(), body: { plan } })).status).toBe(200)
  return tenant
}
const create = (tenant: Tenant, path: string, body: unknown) => program.request("POST", `/v1/${path}`, { key: tenant.full_key, body })
const atOnce = (run: (i: number) => Promise<Answer>): Promise<ReadonlyArray<Answer>> => Promise.all(Array.from({ length: CREATORS }, (_, i) => run(i)))
const counted = (answers: ReadonlyArray<Answer>) => Object.fromEntries([...new Set(answers.map(({ status }) => status))].sort().map((status) => [status, answers.filter((answer) => answer.status === status).length]))

describe("the last place", () => {
  it("among keys is given once, and another organization's keys do not count", async () => {
    const [one, other] = [await tenantOn("Keys", "free"), await tenantOn("Other keys", "free")]
    const key = (i: number) => ({ description: `k${i}`, scope: "search" })
    // Two come with the organization; the plan has twenty.
    for (let i = 0; i < 17; i++) expect((await create(one, "keys", key(i))).status).toBe(201)
    const [answers, others] = await Promise.all([atOnce((i) => create(one, "keys", key(i))), atOnce((i) => create(other, "keys", key(i)))])
    expect([counted(answers), counted(others)]).toEqual([{ 201: 1, 403: 19 }, { 201: 18, 403: 2 }])
    expect(answers.find(({ status }) => status === 403)!.body).toMatchObject({ code: "FORBIDDEN", data: { feature: "api_keys", plan: "free", limit: 20 }, feature: "api_keys", plan: "free", limit: 20 })
    expect((await program.request("GET", "/v1/keys", { key: one.full_key })).body.keys).toHaveLength(20)
    // A place that was given back is there again, once.
    const { id } = answers.find(({ status }) => status === 201)!.body
    expect((await program.request("DELETE", `/v1/keys/${id}`, { key: one.full_key })).status).toBe(200)
    expect(counted(await atOnce((i) => create(one, "keys", key(i))))).toEqual({ 201: 1, 403: 19 })
  })
  it("among keys is the same by the console: a member is bound by the plan, the operator is not", async () => {
    const tenant = await tenantOn("Console keys", "free")
    const at = `/console/v1/organizations/${tenant.organization_id}`
    const password = "correct horse battery"
    expect((await program.request("POST", `${at}/members`, { ...operator(), body: { email: "admin@caps.example", role: "admin", password } })).status).toBe(201)
    const cookie = (await program.request("POST", "/console/v1/sessions", { body: { email: "admin@caps.example", password } })).headers.get("set-cookie")!.split(";")[0]!
    const session = { headers: { cookie, origin: program.base } }
    for (let i = 0; i < 17; i++) expect((await create(tenant, "keys", { description: "k", scope: "search" })).status).toBe(201)
    const answers = await atOnce(() => program.request("POST", `${at}/keys`, { ...session, body: { description: "k", scope: "search" } }))
    expect(counted(answers)).toEqual({ 201: 1, 403: 19 })
    const fast = await program.request("POST", `${at}/keys`, { ...session, body: { description: "k", scope: "search", rate_limit_per_minute: 0 } })
    expect([fast.status, fast.body.data]).toEqual([403, { feature: "rate_limit_per_minute", plan: "free", limit: 600 }])
    expect((await program.request("POST", `${at}/keys`, { ...operator(), body: { description: "k", scope: "search" } })).status).toBe(201)
  })
  it("among webhooks is given once", async () => {
    const tenant = await tenantOn("Webhooks", "free")
    const webhook = { name: "w", url: "https://receiver.example/", events: ["*"] }
    expect((await create(tenant, "webhooks", webhook)).status).toBe(201)
    const answers = await atOnce(() => create(tenant, "webhooks", webhook))
    expect(counted(answers)).toEqual({ 201: 1, 403: 19 })
    expect(answers.find(({ status }) => status === 403)!.body.data).toEqual({ feature: "webhooks", plan: "free", limit: 2 })
  })
  it("among analytics rules is given once, also to batches", async () => {
    const tenant = await tenantOn("Rules", "standard")
    for (const name of ["goods", "popular"]) expect((await create(tenant, "collections", { name, fields: [{ name: "q", type: "string" }, { name: "count", type: "int32" }] })).status).toBe(201)
    const rule = (name: string) => ({ name, type: "popular_queries", collection: "goods", event_type: "search", params: { destination_collection: "popular", limit: 1 } })
    expect((await create(tenant, "analytics/rules", Array.from({ length: 99 }, (_, i) => rule(`r${i}`)))).body.filter((one: object) => "error" in one)).toEqual([])
    const answers = await atOnce((i) => i % 2 === 0 ? create(tenant, "analytics/rules", rule(`n${i}`)) : create(tenant, "analytics/rules", [rule(`n${i}`)]))
    const made = answers.flatMap(({ body }) => Array.isArray(body) ? body : [body]).filter(({ name }) => name !== undefined)
    expect(made).toHaveLength(1)
    expect((await program.request("GET", "/v1/analytics/rules", { key: tenant.full_key })).body).toHaveLength(100)
  })
})
