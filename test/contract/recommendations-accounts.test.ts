/**
 * What a request for recommendations costs, and its results: one search unit, a query id by which clicks and purchases
 * are counted, and vector similarity if a model names a vector field.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program, shop: Tenant, other: Tenant
const ask = (method: string, path: string, body?: unknown, key = shop.full_key, headers: Record<string, string> = {}) =>
  program.request(method, path, { key, body, headers })
const until = async <A>(look: () => Promise<A | undefined>, within_ms = 60_000): Promise<A> => {
  const last = performance.now() + within_ms
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > last) throw new Error(`not within ${within_ms} ms`)
    await new Promise((settle) => setTimeout(settle, 25))
  }
}
const modelOf = async (type: string, tenant = shop, params?: object) => {
  const body = { name: type, collection: "goods", type, ...(params === undefined ? {} : { params }) }
  const made = await ask("POST", "/v1/recommendations/models", body, tenant.full_key)
  expect(made.status).toBe(201)
  return made.body.id as string
}
const plan = async ({ organization_id }: Tenant, body: object) => {
  const answer = await program.request("POST", `/console/v1/organizations/${organization_id}/plan`, {
    headers: { authorization: `Bearer ${program.operatorToken}` },
    body
  })
  expect(answer.status).toBe(200)
}

/** North and south are far apart; each document is a little further east than the one before. */
const documents = ["n1", "n2", "n3", "s1", "s2", "s3"].map((id, i) => ({
  id,
  title: `Product ${id}`,
  brand: i % 2 === 0 ? "even" : "odd",
  place: [id.startsWith("n") ? 1 : -1, 0.1 * (i % 3)]
}))
const furnish = async (tenant: Tenant) => {
  const fields = [
    { name: "title", type: "string" },
    { name: "brand", type: "string", facet: true },
    { name: "place", type: "float[]", num_dim: 2 }
  ]
  await ask("POST", "/v1/collections", { name: "goods", fields }, tenant.full_key)
  const lines = [...documents, { id: "nowhere", title: "Product nowhere", brand: "odd", place: [0.01, -1] }]
  const path = "/v1/collections/goods/documents/import"
  const imported = await ask("POST", path, lines.map((each) => JSON.stringify(each)).join("\n"), tenant.full_key)
  expect(imported.text).not.toContain("false")
}

beforeAll(async () => {
  program = await startProgram()
  shop = await program.tenant("Shop")
  other = await program.tenant("Other")
  for (const tenant of [shop, other]) {
    await furnish(tenant)
    await plan(tenant, { plan: "standard" })
  }
})
afterAll(() => program.stop())

describe("documents alike by vectors", () => {
  it("are returned nearest first, each with its distance, whatever their facets", async () => {
    const model_id = await modelOf("similar", shop, { vector_field: "place" })
    const similar = async (document_id: string, more: object = {}) =>
      (await ask("POST", "/v1/recommendations", { model_id, document_id, limit: 3, ...more }, shop.search_key)).body
    const answer = await similar("n1")
    expect(answer.hits.map(({ document }: any) => document.id).slice(0, 2)).toEqual(["n2", "n3"])
    expect(answer.hits.map(({ reason }: any) => reason)).toEqual(
      answer.hits.map(() => ({ kind: "similar", source_document_id: "n1" }))
    )
    const scores = answer.hits.map(({ score }: any) => score as number)
    expect(scores).toEqual([...scores].sort((a, b) => b - a))
    expect(scores[0]).toBeGreaterThan(0.99)
    expect(answer.fallback_used).toBeNull()
    expect((await similar("s3")).hits.map(({ document }: any) => document.id).slice(0, 2)).toEqual(["s2", "s1"])
    expect((await similar("n1", { filter_by: "brand:=odd" })).hits[0].document.id).toBe("n2")
    expect((await similar("n1", { exclude_ids: ["n2"] })).hits[0].document.id).toBe("n3")
  })
  it("are the fallback chain's if there is no such document", async () => {
    const model_id = await modelOf("similar", shop, { vector_field: "place" })
    const body = { model_id, document_id: "gone", limit: 2 }
    const answer = (await ask("POST", "/v1/recommendations", body, shop.search_key)).body
    expect([answer.hits.length, answer.fallback_used]).toEqual([2, "newest"])
  })
})

describe("a request for recommendations", () => {
  it("is one search unit, even if it takes several searches, and none if it is refused", async () => {
    const model_id = await modelOf("also_viewed")
    const used = async () => (await ask("GET", "/v1/entitlement")).body.quota.used as number
    const cost = async (body: object) => {
      const before = await used()
      const { status } = await ask("POST", "/v1/recommendations", body, shop.search_key)
      return [status, (await used()) - before]
    }
    expect(await cost({ model_id, document_id: "n1", limit: 100 })).toEqual([200, 1])
    expect(await cost({ model_id, filter_by: "brand:=none" })).toEqual([200, 1])
    expect(await cost({ model_id: "rec_none" })).toEqual([404, 0])
    expect(await cost({ model_id, limit: 0 })).toEqual([400, 0])
    expect(await cost({ model_id, filter_by: "nowhere:=1" })).toEqual([400, 0])
  })
  it("answers 429 with the moment of its reset when the quota is used up; another organization's does not", async () => {
    const [small, beside] = [await program.tenant("Small"), await program.tenant("Beside")]
    for (const tenant of [small, beside]) {
      await furnish(tenant)
      await plan(tenant, { plan: "standard", quota: 3 })
    }
    const [model_id, theirs] = [await modelOf("popular", small), await modelOf("popular", beside)]
    const recommend = () => ask("POST", "/v1/recommendations", { model_id }, small.search_key)
    const statuses = await Promise.all(Array.from({ length: 8 }, () => recommend().then(({ status }) => status)))
    expect([200, 429].map((wanted) => statuses.filter((status) => status === wanted).length)).toEqual([3, 5])
    const refused = await recommend()
    const now = new Date()
    const resets_at = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    expect([refused.status, refused.body.data.resets_at]).toEqual([429, resets_at])
    // A request that is invalid in itself is refused first.
    expect((await ask("POST", "/v1/recommendations", { model_id: "rec_none" }, small.search_key)).status).toBe(404)
    expect(
      (await ask("POST", "/v1/recommendations", { model_id, filter_by: "nowhere:=1" }, small.search_key)).status
    ).toBe(400)
    expect((await ask("POST", "/v1/recommendations", { model_id: theirs }, beside.search_key)).status).toBe(200)
  })
})

describe("what visitors take of recommendations", () => {
  const today = new Date().toISOString().slice(0, 10)
  const products = async (more = "", key = shop.full_key) =>
    (
      await ask(
        "GET",
        `/v1/analytics/metrics/products?from=${today}&to=${today}&collection=goods${more}`,
        undefined,
        key
      )
    ).body.data as ReadonlyArray<{ document_id: string; clicks: number; purchases: number; revenue: number }>
  it("counts for the document, by the surface on which it was shown, and not as a visitor's search", async () => {
    const model_id = await modelOf("popular")
    const body = { model_id, limit: 2, session_id: "buyer", surface: "product-page" }
    const { query_id } = (await ask("POST", "/v1/recommendations", body, shop.search_key)).body
    expect(query_id).toMatch(/^qry_/)
    const taken = { collection: "goods", document_id: "n2", query_id, session_id: "buyer", surface: "product-page" }
    const events = [
      { ...taken, type: "click" },
      { ...taken, type: "purchase", revenue: 25 },
      { ...taken, type: "click", document_id: "n3", surface: "cart", query_id: undefined }
    ]
    const sent = await ask("POST", "/v1/events", { events }, shop.search_key)
    expect(sent.body).toMatchObject({ accepted: 3, rejected: [] })
    const row = await until(async () =>
      (await products("&segment=surface:product-page")).find(({ purchases }) => purchases === 1)
    )
    expect(row).toMatchObject({ document_id: "n2", clicks: 1, purchases: 1, revenue: 25 })
    expect((await products("&segment=surface:product-page")).map(({ document_id }) => document_id)).toEqual(["n2"])
    expect((await products("&segment=surface:cart")).map(({ document_id }) => document_id)).toEqual(["n3"])
    // There was no search: products count what was taken, queries do not.
    const overview = (await ask("GET", `/v1/analytics/metrics/overview?from=${today}&to=${today}&collection=goods`))
      .body
    expect([overview.events, overview.totals.searches, overview.totals.clicks]).toEqual([3, 0, 0])
    expect(await products("", other.full_key)).toEqual([])
  })
})
