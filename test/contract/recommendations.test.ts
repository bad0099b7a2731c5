/** Recommendations over HTTP: models, answers, what is kept out of them, and how soon a click counts. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { promised } from "../support/patience.ts"

let program: Program, shop: Tenant, other: Tenant
const WITHIN_MS = promised(2_000)

/** Its answer once that is not undefined. */
const until = async <A>(look: () => Promise<A | undefined>, within_ms: number): Promise<A> => {
  const last = performance.now() + within_ms
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > last) throw new Error(`not within ${within_ms} ms`)
    await new Promise((settle) => setTimeout(settle, 20))
  }
}

const own =
  (tenant: () => Tenant, key: "full_key" | "search_key" = "full_key") =>
  (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    program.request(method, path, { key: tenant()[key], body, headers })
const full = own(() => shop),
  search = own(() => shop, "search_key")

const product = (id: string, category: string, more: object = {}) => ({
  id,
  title: `Product ${id}`,
  category,
  stock: 5,
  ...more
})
const products = [
  ...["lamp", "bulb", "shade", "cord"].map((id) => product(id, "light")),
  ...["rug", "sofa", "chair"].map((id) => product(id, "living")),
  product("sold-out", "light", { stock: 0 })
]
const schema = {
  name: "goods",
  fields: [
    { name: "title", type: "string" },
    { name: "category", type: "string", facet: true },
    { name: "stock", type: "int32" }
  ]
}
const furnish = async (tenant: () => Tenant) => {
  await own(tenant)("POST", "/v1/collections", schema)
  await own(tenant)(
    "POST",
    "/v1/collections/goods/documents/import",
    products.map((each) => JSON.stringify(each)).join("\n")
  )
}
const visit = (session: string, ids: ReadonlyArray<string>, type = "view") =>
  ids.map((document_id) => ({
    type,
    collection: "goods",
    session_id: session,
    document_id,
    ...(type === "purchase" ? { revenue: 1 } : {})
  }))
const send = async (events: ReadonlyArray<object>, tenant = full) =>
  expect((await tenant("POST", "/v1/events", { events })).body.rejected).toEqual([])
const models: Record<string, string> = {}
const modelOf = async (type: string, params?: object) => {
  const made = await full("POST", "/v1/recommendations/models", {
    name: type,
    collection: "goods",
    type,
    ...(params === undefined ? {} : { params })
  })
  expect(made.status).toBe(201)
  return (models[type] = made.body.id as string)
}
const recommend = async (type: string, body: object, ask = search) => {
  const answer = await ask("POST", "/v1/recommendations", { model_id: models[type], ...body })
  expect([answer.status, answer.text.slice(0, 300)]).toEqual([200, expect.any(String)])
  return answer.body as {
    hits: Array<{ document: { id: string }; reason: { kind: string } }>
    fallback_used: string | null
    query_id: string
  }
}
const ids = ({ hits }: { hits: ReadonlyArray<{ document: { id: string } }> }) => hits.map(({ document }) => document.id)
/** Waits until the events sent before are in answers. */
const settled = (id: string) =>
  until(
    async () => ids(await recommend("also_viewed", { document_id: "lamp", limit: 100 })).includes(id) || undefined,
    WITHIN_MS
  )

beforeAll(async () => {
  program = await sharedProgram()
  shop = await program.tenant("Shop")
  other = await program.tenant("Other")
  await program.request("PUT", `/console/v1/organizations/${shop.organization_id}/plan`, {
    key: program.operatorToken,
    body: { plan: "unlimited" }
  })
  await furnish(() => shop)
  await furnish(() => other)
  for (const type of ["also_viewed", "frequently_bought_together", "personalized", "trending", "popular", "similar"])
    await modelOf(type)
})
afterAll(() => program.stop())

describe("models", () => {
  it("are new until events arrive, and show the defaults of their type", async () => {
    const made = await full("GET", `/v1/recommendations/models/${models.frequently_bought_together}`)
    expect(made.body).toMatchObject({
      status: "new",
      params: { popularity_bias: 0.4, min_support: 3 },
      trained_at: null,
      metrics: null
    })
    expect((await full("GET", "/v1/recommendations/models?limit=4")).body.data).toHaveLength(4)
  })
  it("refuse, by name, what they do not know", async () => {
    const refused = async (body: object) => {
      const { body: answer, status } = await full("POST", "/v1/recommendations/models", body)
      return [status, JSON.stringify(answer.data?.issues ?? answer)]
    }
    const good = { name: "a", collection: "goods", type: "popular" }
    expect(await refused({ ...good, type: "clever" })).toEqual([400, expect.stringContaining('"type"')])
    expect(await refused({ ...good, params: { half_life_days: 0 } })).toEqual([
      400,
      expect.stringContaining("half_life_days")
    ])
    expect(await refused({ ...good, params: { window_hours: 6 } })).toEqual([
      400,
      expect.stringContaining("window_hours")
    ])
    expect(await refused({ ...good, collection: "nowhere" })).toEqual([400, expect.stringContaining('"collection"')])
    expect(await refused({ ...good, color: "red" })).toEqual([400, expect.stringContaining("color")])
  })
  it("are invisible to other organizations", async () => {
    const theirs = own(() => other)
    expect((await theirs("GET", `/v1/recommendations/models/${models.popular}`)).status).toBe(404)
    expect((await theirs("POST", "/v1/recommendations", { model_id: models.popular })).status).toBe(404)
    expect((await search("GET", `/v1/recommendations/models/${models.popular}`)).status).toBe(403)
  })
})

describe("answers", () => {
  it("are the newest documents, and say so, while nothing has happened", async () => {
    const answer = await recommend("also_viewed", { document_id: "lamp", limit: 3 })
    expect(answer.fallback_used).toBe("newest")
    expect(answer.hits).toHaveLength(3)
    expect(ids(answer)).not.toContain("lamp")
  })
  it("include what was viewed together with a document, within two seconds", async () => {
    await send([...visit("v1", ["lamp", "bulb"]), ...visit("v2", ["lamp", "bulb"]), ...visit("v3", ["sofa", "rug"])])
    await until(
      async () => ids(await recommend("also_viewed", { document_id: "lamp", limit: 1 }))[0] === "bulb" || undefined,
      WITHIN_MS
    )
    const answer = await recommend("also_viewed", { document_id: "lamp", limit: 1 })
    expect(answer).toMatchObject({ fallback_used: null, hits: [{ reason: { kind: "also_viewed" } }] })
    expect((await full("GET", `/v1/recommendations/models/${models.also_viewed}`)).body.status).toBe("ready")
  })
  it("follow the visit by its session header, with the next click", async () => {
    await send(visit("me", ["sofa"]))
    await until(async () => {
      const answer = await search(
        "POST",
        "/v1/recommendations",
        { model_id: models.also_viewed, limit: 1 },
        { "x-svc-session-id": "me" }
      )
      return answer.body.hits?.[0]?.document.id === "rug" || undefined
    }, WITHIN_MS)
  })
  it("combine what is bought together, with how often", async () => {
    for (let i = 0; i < 4; i++) await send(visit(`b${i}`, ["chair", "cord"], "purchase"))
    await send(visit("b9", ["shade"], "purchase"))
    await settled("cord")
    const { hits } = await recommend("frequently_bought_together", { document_id: "chair", limit: 1 })
    expect(hits).toMatchObject([
      {
        document: { id: "cord" },
        reason: { kind: "frequently_bought_together", support: 4, source_document_id: "chair" }
      }
    ])
  })
  it("are filled from the fallback chain without repeating, and the popular of the same category first", async () => {
    const answer = await recommend("also_viewed", { document_id: "lamp", limit: 100 })
    expect(new Set(ids(answer)).size).toBe(products.length - 1)
    expect(answer.fallback_used).not.toBeNull()
    // Popularity lists are rebuilt each second.
    await until(async () => {
      const { hits } = await recommend("popular", { document_id: "sold-out", limit: 4 })
      const categories = hits.map(({ document }) => (document as unknown as { category: string }).category)
      return categories.every((category) => category === "light") || undefined
    }, WITHIN_MS)
  })
  it("obey filters, exclusions and fields", async () => {
    const answer = await recommend("also_viewed", {
      document_id: "lamp",
      filter_by: "stock:>0",
      exclude_ids: ["bulb"],
      include_fields: "title",
      limit: 100
    })
    const titles = answer.hits.map(({ document }) => document as unknown as { title: string })
    expect(titles).not.toContainEqual({ title: "Product bulb" })
    expect(titles).not.toContainEqual({ title: "Product sold-out" })
    expect(titles).toHaveLength(products.length - 3)
    expect(Object.keys(titles[0]!)).toEqual(["title"])
    expect(
      (await search("POST", "/v1/recommendations", { model_id: models.popular, filter_by: "nowhere:=1" })).status
    ).toBe(400)
    expect(ids(await recommend("popular", { filter_by: "stock:<0" }))).toEqual([])
  })
  it("leave out what the collection's rules exclude, and documents that no longer exist", async () => {
    await full("PUT", "/v1/collections/goods/search_rules", { exclusion_filter_by: "id:=bulb" })
    expect(ids(await recommend("also_viewed", { document_id: "lamp", limit: 100 }))).not.toContain("bulb")
    await full("DELETE", "/v1/collections/goods/search_rules")
    expect(ids(await recommend("also_viewed", { document_id: "lamp", limit: 100 }))).toContain("bulb")
    await full("DELETE", "/v1/collections/goods/documents/cord")
    expect(ids(await recommend("frequently_bought_together", { document_id: "chair", limit: 100 }))).not.toContain(
      "cord"
    )
    await full("POST", "/v1/collections/goods/documents", product("cord", "light"))
  })
  it("are alike by facets and words if the model says so", async () => {
    const { hits } = await recommend("similar", { document_id: "lamp", limit: 3 })
    expect(hits.map(({ reason }) => reason.kind)).toEqual(["similar", "similar", "similar"])
    expect(ids({ hits })).not.toContain("rug")
  })
  it("know nothing of another organization's visitors with the same ids", async () => {
    const made = await own(() => other)("POST", "/v1/recommendations/models", {
      name: "a",
      collection: "goods",
      type: "also_viewed"
    })
    const answer = await own(() => other, "search_key")("POST", "/v1/recommendations", {
      model_id: made.body.id,
      document_id: "lamp"
    })
    expect(answer.body.fallback_used).toBe("newest")
  })
  it("carry a query id that clicks may name", async () => {
    const { query_id } = await recommend("popular", { limit: 1 })
    await send([{ type: "click", collection: "goods", document_id: "lamp", query_id, session_id: "me" }])
  })
})

describe("a collection recreated under an old name", () => {
  it("knows nothing of what visitors did with the one before", async () => {
    await full("DELETE", "/v1/collections/goods")
    expect((await full("GET", `/v1/recommendations/models/${models.also_viewed}`)).status).toBe(404)
    await new Promise((settle) => setTimeout(settle, 1_000 - (Date.now() % 1_000)))
    await furnish(() => shop)
    await modelOf("also_viewed")
    expect((await recommend("also_viewed", { document_id: "lamp", limit: 3 })).fallback_used).toBe("newest")
    await send([...visit("n1", ["lamp", "chair"]), ...visit("n2", ["lamp", "chair"])])
    await until(
      async () => ids(await recommend("also_viewed", { document_id: "lamp", limit: 1 }))[0] === "chair" || undefined,
      WITHIN_MS
    )
  })
})

describe("a training", () => {
  const trained = async (id: string) => {
    const job = await full("POST", `/v1/recommendations/models/${id}/train`)
    expect(job.status).toBe(202)
    return until(async () => {
      const { body } = await full("GET", `/v1/jobs/${job.body.id}`)
      return body.finished_at === undefined ? undefined : body
    }, 60_000)
  }
  it("reports the model's gain over popularity, and the parameters by which it answers", async () => {
    const id = models.also_viewed!
    expect(await trained(id)).toMatchObject({ status: "ready", result: { confidence: "low" } })
    const model = await full("GET", `/v1/recommendations/models/${id}`)
    const metrics = { baseline: { popular: {} }, parameters: {}, untuned: {}, validation: {} }
    expect(model.body).toMatchObject({ status: "ready", metrics })
    expect(model.body.trained_at).toEqual(expect.any(Number))
  })
  it("applies until the model's settings change", async () => {
    const id = await modelOf("popular", { half_life_days: 3 })
    await trained(id)
    const body = { name: "renamed", collection: "goods", type: "popular", params: { half_life_days: 3 } }
    const put = async (more: object) =>
      (await full("PUT", `/v1/recommendations/models/${id}`, { ...body, ...more })).body
    expect(await put({})).toMatchObject({
      name: "renamed",
      metrics: { parameters: { half_life_days: 3, event: "any" } }
    })
    expect(await put({ params: { half_life_days: 4 } })).toMatchObject({ metrics: null, trained_at: null })
  })
})
