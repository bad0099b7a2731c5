/** Synonym suggestions over HTTP: from what visitors searched for to a search that finds something. */
import { normalizeQuery } from "@dowser/log/normalize-query"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { generateCatalog, productSchema } from "../../fixtures/catalog/generate.ts"
import { generateSynonymVisitors } from "../../fixtures/events/synonyms.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

const DAY_MS = 86_400_000
let program: Program, tenant: Tenant, other: Tenant
const send = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, path, { key, ...(body === undefined ? {} : { body }) })
const made = async (...asked: Parameters<typeof send>) => {
  const answer = await send(...asked)
  if (answer.status >= 300) throw new Error(`${asked[0]} ${asked[1]}: ${answer.status} ${answer.text}`)
  return answer.body
}
const path = "/v1/collections/products/synonym_suggestions"
const suggested = async (body: object = {}, key = tenant.full_key) => {
  const { id } = await made("POST", path, body, key)
  const job = await eventually(`the end of ${id}`, async () => {
    const { body: read } = await send("GET", `/v1/jobs/${id}`, undefined, key)
    return read.finished_at === undefined ? undefined : read
  })
  expect([job.status, job.error]).toEqual(["ready", undefined])
  return job.result
}
const listed = async (key = tenant.full_key) => (await made("GET", path, undefined, key)).data as ReadonlyArray<any>
const credits = async () => (await made("GET", "/v1/entitlement")).credits
const products = [...generateCatalog({ seed: 5, products: 1_000 })]
const now = Date.now()
const { planted, searches } = generateSynonymVisitors(products, {
  seed: 1,
  sessions: 2_000,
  planted: 20,
  from: now - DAY_MS,
  to: now - 60_000
})

beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Words")
  other = await program.tenant("Beside")
  for (const { full_key, organization_id } of [tenant, other]) {
    await program.topUp(organization_id, 20)
    await made("POST", "/v1/collections", productSchema("products"), full_key)
    await made(
      "POST",
      "/v1/collections/products/documents/import",
      products.map((product) => JSON.stringify(product)).join("\n"),
      full_key
    )
  }
  let n = 0
  const served = [...searches()].map(({ at, found, q, visitor }) => ({
    organization_id: tenant.organization_id,
    query_id: `q_${n++}`,
    collection: "products",
    q,
    found,
    session_id: visitor,
    at,
    isCounted: true
  }))
  await program.answered(served)
  await program.answered([
    { ...served[0]!, organization_id: other.organization_id, query_id: "other", q: "theirs", found: 0 }
  ])
  // The job reserves credits for the queries that analytics know when it is requested, and takes no more than that:
  // the price is only known beforehand once they have counted every query.
  const today = new Date(now).toISOString().slice(0, 10),
    before = new Date(now - DAY_MS).toISOString().slice(0, 10)
  const queries = new Set(served.map(({ q }) => normalizeQuery(q))).size
  await eventually("every query in the figures", async () => {
    const { total } = await made("GET", `/v1/analytics/metrics/queries?from=${before}&to=${today}&limit=1`)
    return total >= queries ? true : undefined
  })
})
afterAll(() => program.stop())

describe("suggestions", () => {
  it("are the planted ones, each with its evidence, and cost a credit per started 1,000 queries", async () => {
    expect(await listed()).toEqual([])
    const before = await credits()
    const result = await suggested()
    expect(result.queries).toBeGreaterThan(300)
    const after = await credits()
    expect(before.balance - after.balance).toBeCloseTo(Math.ceil(result.queries / 1_000))
    expect(after.reserved).toBe(0)
    const list = await listed()
    const pairs = list.flatMap(({ synonyms, term }) => synonyms.map((synonym: string) => [term, synonym]))
    const right = pairs.filter(([term, synonym]) => planted.get(term) === synonym)
    expect(right.length / pairs.length).toBeGreaterThanOrEqual(0.8)
    expect(right.length / planted.size).toBeGreaterThanOrEqual(0.6)
    for (const { evidence, id, status } of list) {
      expect([id.slice(0, 4), status, evidence.zero_hit_rate]).toEqual(["syn_", "new", 1])
      expect(evidence.searches).toBeGreaterThanOrEqual(evidence.reformulations)
      expect(evidence.reformulations).toBeGreaterThanOrEqual(3)
    }
    await suggested()
    expect(await listed()).toEqual(list)
  })
  it("belong to one organization", async () => {
    expect(await suggested({}, other.full_key)).toEqual({ queries: 1, suggestions: 0 })
    expect(await listed(other.full_key)).toEqual([])
    const [{ id }] = (await listed()) as [any]
    expect((await send("POST", `${path}/${id}/accept`, { synonym_set: "shop" }, other.full_key)).status).toBe(404)
  })
  it("are found by the next search, once, after they are accepted", async () => {
    const { id, synonyms, term } = (await listed()).find((each) => planted.get(each.term) === each.synonyms[0])
    const found = async () =>
      (await made("GET", `/v1/collections/products/documents/search?q=${term}&query_by=title&synonym_sets=shop`)).found
    await made("PUT", "/v1/synonym_sets/shop", { items: [{ id: "own", synonyms: ["sofa", "couch"] }] })
    expect(await found()).toBe(0)
    const both = await Promise.all([1, 2].map(() => send("POST", `${path}/${id}/accept`, { synonym_set: "shop" })))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(both.find(({ status }) => status === 200)!.body).toMatchObject({ id, term, synonyms, status: "accepted" })
    expect(await found()).toBeGreaterThan(0)
    const set = await made("GET", "/v1/synonym_sets/shop")
    expect(set.items).toEqual(
      [
        { id: "own", root: "", synonyms: ["sofa", "couch"] },
        { id, root: term, synonyms }
      ].sort((a, b) => (a.id < b.id ? -1 : 1))
    )
    expect((await send("POST", `${path}/${id}/reject`)).status).toBe(409)
    await suggested()
    expect((await listed()).find((each) => each.id === id).status).toBe("accepted")
  })
  it("create the set if it is missing, and do not return after they were rejected", async () => {
    const [first, second] = (await listed()).filter(({ status }) => status === "new") as [any, any]
    await made("POST", `${path}/${first.id}/accept`, { synonym_set: "fresh" })
    expect((await made("GET", "/v1/synonym_sets/fresh")).items).toEqual([
      { id: first.id, root: first.term, synonyms: first.synonyms }
    ])
    expect(await made("POST", `${path}/${second.id}/reject`)).toEqual({ ...second, status: "rejected" })
    expect((await send("POST", `${path}/${second.id}/accept`, { synonym_set: "fresh" })).status).toBe(409)
    await suggested()
    expect((await listed()).find(({ id }) => id === second.id).status).toBe("rejected")
  })
})
it("refuses invalid input by name", async () => {
  const [{ id }] = (await listed()) as [any]
  const issue = async (of: string, body: object) =>
    (await send("POST", of, body)).body.data.issues.map((each: any) => each.path)
  expect(await issue(path, { from: "yesterday", to: "x" })).toEqual(["from", "to"])
  expect(await issue(path, { from: "2026-02-01", to: "2026-01-01" })).toEqual(["to"])
  for (const synonym_set of ["", "x".repeat(201), "\u0000", 1])
    expect(await issue(`${path}/${id}/accept`, { synonym_set })).toEqual(["synonym_set"])
  expect((await send("POST", `${path}/syn_none/accept`, { synonym_set: "x" })).status).toBe(404)
  const narrow = (await made("POST", "/v1/keys", { description: "n", scope: "full", collections: ["products"] })).value
  expect((await send("POST", `${path}/${id}/accept`, { synonym_set: "shop" }, narrow)).status).toBe(403)
})
it("reports in advance that the wallet cannot pay", async () => {
  const poor = await program.tenant("Poor")
  await made("POST", "/v1/collections", productSchema("products"), poor.full_key)
  expect((await send("POST", path, {}, poor.full_key)).status).toBe(402)
})
it("is deleted with its collection", async () => {
  await made("DELETE", "/v1/collections/products")
  await made("POST", "/v1/collections", productSchema("products"))
  expect(await listed()).toEqual([])
})
