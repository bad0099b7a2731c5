/**
 * Semantic search over HTTP: an organization's own model, fields that it embeds, vectors beside a schema, what such a
 * search costs and to whom it is refused; two organizations side by side.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { MODEL_NAME } from "../../src/ports/text-embedder/minilm/layout.ts"
import { installedModels } from "../support/models.ts"
import { promised } from "../support/patience.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"
import { securedKey } from "../support/secured.ts"
import { DIMENSIONS, type EmbeddingServer, startEmbeddingServer } from "../support/embedding-server.ts"

let program: Program
let tenant: Tenant
let other: Tenant
let server: EmbeddingServer
let missing: string | undefined
beforeAll(async () => {
  // Before the program, which looks for them when it starts.
  missing = (await installedModels()).missing
  server = await startEmbeddingServer()
  program = await startProgram({ allowPrivateAddresses: true })
  tenant = await program.tenant("Shop")
  other = await program.tenant("Other shop")
})
afterAll(async () => {
  await program.stop()
  await server.close()
})
beforeEach(() => {
  server.asked.splice(0)
  server.misbehaves = undefined
})

const send = (method: string, path: string, body?: unknown, owner: Tenant = tenant) =>
  program.request(method, `/v1${path}`, { key: owner.full_key, body })
const provider = () => ({ kind: "openai", model: "words", url: server.url, api_key: "sk-very-secret-key" })
const products = [
  { id: "1", title: "Blue sofa for small rooms", maker: "Nut", price: 300 },
  { id: "2", title: "Desk lamp", maker: "Bolt", price: 40 },
  { id: "3", title: "Oak table", maker: "Nut", price: 500 },
  { id: "4", title: "Cup for tea", maker: "Bolt", price: 8 }
]
const collectionOf = (name: string, fields: ReadonlyArray<Record<string, unknown>> = []) => ({
  name,
  fields: [
    { name: "title", type: "string" },
    { name: "maker", type: "string", facet: true },
    { name: "price", type: "int32" },
    ...fields
  ]
})
const embedded = (more: Record<string, unknown> = {}) => ({
  name: "meaning",
  type: "float[]",
  embed: {
    from: ["title"],
    model_config: { model_name: "openai/words", url: server.url, api_key: "sk-very-secret-key", ...more }
  }
})
const filled = async (name: string, owner: Tenant, fields: ReadonlyArray<Record<string, unknown>> = []) => {
  const made = await send("POST", "/collections", collectionOf(name, fields), owner)
  expect(made.status, made.text).toBe(201)
  for (const product of products) {
    const written = await send("POST", `/collections/${name}/documents`, product, owner)
    expect(written.status, written.text).toBe(201)
  }
}
const credits = async (owner: Tenant): Promise<number> =>
  (await send("GET", "/entitlement", undefined, owner)).body.credits.balance as number
const topUp = (owner: Tenant, amount: number) =>
  program.request("POST", `/console/v1/organizations/${owner.organization_id}/top-up`, {
    headers: { authorization: `Bearer ${program.operatorToken}` },
    body: { credits: amount }
  })
const ids = (body: any): ReadonlyArray<string> => body.hits.map(({ document }: any) => document.id)

describe("meaning", () => {
  it("fields that embed get their vectors with the write, and their credential is never shown", async () => {
    const made = await send("POST", "/collections", collectionOf("fields", [embedded()]))
    expect(made.status, made.text).toBe(201)
    expect(made.body.fields[3]).toMatchObject({
      name: "meaning",
      num_dim: DIMENSIONS,
      embed: { model_config: { model_name: "openai/words" } }
    })
    expect(made.text).not.toContain("secret")
    expect((await send("GET", "/collections/fields")).text).not.toContain("very-secret")
    expect(server.asked[0]!.authorization).toBe("Bearer sk-very-secret-key")
    for (const product of products) await send("POST", "/collections/fields/documents", product)
    const found = await send(
      "GET",
      "/collections/fields/documents/search?q=couch&query_by=meaning&exclude_fields=meaning"
    )
    expect(found.status, found.text).toBe(200)
    expect(ids(found.body)[0]).toBe("1")
    const asked = server.asked.length
    await send("PATCH", "/collections/fields/documents/1", { price: 310 })
    expect(server.asked).toHaveLength(asked)
    await send("PATCH", "/collections/fields/documents/3", { title: "Garden lantern" })
    const lights = await send("GET", "/collections/fields/documents/search?q=light&query_by=title,meaning&prefix=false")
    expect(ids(lights.body).slice(0, 2).sort()).toEqual(["2", "3"])
    expect(lights.body.hits[0].hybrid_search_info).toBeDefined()
  })

  it("a text that the model's server refuses fails only its line, an absent server only those that need it", async () => {
    await send("POST", "/collections", collectionOf("lines", [embedded()]))
    server.misbehaves = ({ body }, response) => {
      if (!(body.input as string[]).some((text) => text.includes("endless"))) return false
      response.writeHead(400)
      response.end(JSON.stringify({ error: { message: "too long" } }))
      return true
    }
    const lines = await program.request("POST", "/v1/collections/lines/documents/import", {
      key: tenant.full_key,
      body: [...products, { id: "9", title: "endless", maker: "Nut", price: 1 }]
        .map((each) => JSON.stringify(each))
        .join("\n")
    })
    const verdicts = lines.text.split("\n").map((line) => JSON.parse(line) as { success: boolean; error?: string })
    expect(verdicts.map(({ success }) => success)).toEqual([true, true, true, true, false])
    expect(verdicts[4]!.error).toBe(
      'The server of the model `openai/words` answered 400: {"error":{"message":"too long"}}.'
    )
    server.misbehaves = (_asked, response) => {
      response.destroy()
      return true
    }
    expect((await send("PATCH", "/collections/lines/documents/1", { price: 1 })).status).toBe(200)
  })

  it("a field that is added to existing documents gets its vectors by a job", async () => {
    await filled("later", tenant)
    const altered = await send("PATCH", "/collections/later", { fields: [embedded()] })
    expect(altered.status, altered.text).toBe(200)
    const job = await eventually("the vectors are made", async () => {
      const { body } = await send("GET", "/jobs?type=embedding")
      const [newest] = body.data
      return newest?.finished_at === undefined ? undefined : newest
    })
    expect(job).toMatchObject({ status: "ready", result: { documents: 4, failed: 0 } })
    const found = await send("GET", "/collections/later/documents/search?q=beaker&query_by=meaning")
    expect(ids(found.body)[0]).toBe("4")
  })

  it("a model that cannot be used is refused when it is named", async () => {
    server.misbehaves = (_asked, response) => {
      response.writeHead(401)
      response.end()
      return true
    }
    const refused = await send("POST", "/collections", collectionOf("refused", [embedded()]))
    expect(refused.status).toBe(400)
    expect(refused.body.message).toBe("The server of the model `openai/words` refused the credential (401).")
    const unknown = await send("POST", "/collections", collectionOf("refused", [embedded({ model_name: "nobody/x" })]))
    expect([unknown.status, unknown.body.message]).toEqual([
      400,
      "Property `embed.model_config.model_name` of the field `meaning` names no available model."
    ])
    const put = await send("PUT", "/ai/providers/text_embedder", provider())
    expect(put.status).toBe(400)
    expect(put.text).toContain("refused the credential")
    expect((await send("GET", "/ai/providers")).body.text_embedder.embedded).toBe(true)
    const wrong = await send("PUT", "/ai/providers/text_embedder", { ...provider(), kind: "anthropic" })
    expect(wrong.status).toBe(400)
  })

  it("vectors beside a schema are made by the first search, stored with every write, and in no answer", async () => {
    await filled("plain", tenant)
    await topUp(tenant, 10)
    const put = await send("PUT", "/ai/providers/text_embedder", provider())
    expect(put.status, put.text).toBe(200)
    expect(put.body).toMatchObject({ port: "text_embedder", kind: "openai", model: "words" })
    expect(put.text).not.toContain("very-secret")
    expect((await send("GET", "/ai/providers")).body.text_embedder).toEqual({ name: "openai/words", embedded: false })
    const search = (body: Record<string, unknown>) => send("POST", "/collections/plain/documents/semantic_search", body)
    const first = await search({ q: "settee" })
    expect(first.status, first.text).toBe(409)
    const jobId = (first.body.job_id ?? first.body.data?.job_id) as string
    expect(jobId).toMatch(/^job_/)
    await eventually("the vectors are made", async () => {
      const { body } = await send("GET", `/jobs/${jobId}`)
      return body.finished_at === undefined ? undefined : body
    })
    const before = await credits(tenant)
    const found = await search({ q: "settee", per_page: 2 })
    expect(found.status, found.text).toBe(200)
    expect(ids(found.body)[0]).toBe("1")
    expect(found.body.embedder).toEqual({ name: "openai/words", embedded: false, used: true })
    expect(found.body.hits[0].hybrid_search_info).toBeDefined()
    expect(found.body.query_id).toMatch(/^qry_/)
    expect(before - (await credits(tenant))).toBeCloseTo(0.1, 6)
    await send("POST", "/collections/plain/documents", { id: "5", title: "Lantern", maker: "Nut", price: 1 })
    expect(ids((await search({ q: "light" })).body).slice(0, 2)).toContain("5")
    const shown = [
      found.text,
      (await send("GET", "/collections/plain")).text,
      (await send("GET", "/collections/plain/documents/1")).text,
      (await send("GET", "/collections/plain/documents/export")).text,
      (await send("GET", "/collections/plain/documents/search?q=*")).text
    ]
    for (const text of shown) expect(text).not.toContain('$meaning":[')
    expect(shown[1]).not.toContain("$meaning")
    // A profile decides which fields words are searched in; the meaning is added to it.
    const profile = { name: "makers", searchable_fields: ["maker"] }
    const made = await send("POST", "/collections/plain/search-profiles", profile)
    expect(made.status, made.text).toBe(201)
    const profiled = await search({ q: "light", profile: "makers" })
    expect(profiled.status, profiled.text).toBe(200)
    expect(profiled.status, profiled.text).toBe(200)
    expect(ids(profiled.body).slice(0, 2)).toContain("5")
  })

  it("vectors of another model replace the earlier ones, even with other dimensions, and writes continue", async () => {
    const owner = await program.tenant("Changing")
    await topUp(owner, 10)
    const own = (method: string, path: string, body?: unknown) => send(method, path, body, owner)
    const fields = [{ name: "title", type: "string", locale: "de" }]
    expect((await own("POST", "/collections", { name: "wechsel", fields })).status).toBe(201)
    for (const { id, title } of products)
      expect((await own("POST", "/collections/wechsel/documents", { id, title })).status).toBe(201)
    const ready = () =>
      eventually("the vectors are made", async () => {
        const found = await own("POST", "/collections/wechsel/documents/semantic_search", { q: "sofa" })
        if (found.status !== 409) expect(found.status, found.text).toBe(200)
        return found.status === 409 ? undefined : found.body
      })
    const trained = await ready()
    expect([trained.embedder.name, ids(trained)[0]]).toEqual(["dowser/lsa", "1"])
    // Its server reports only the number of dimensions: earlier vectors stay where they are.
    expect((await own("PUT", "/ai/providers/text_embedder", provider())).status).toBe(200)
    server.misbehaves = ({ body }, response) => {
      if ((body.input as string[]).some((text) => text.includes("dimensions"))) return false
      response.writeHead(503)
      response.end()
      return true
    }
    expect((await own("POST", "/collections/wechsel/documents/semantic_search", { q: "sofa" })).status).toBe(409)
    expect((await own("GET", "/collections/wechsel/documents/search?q=lamp&query_by=title")).body.found).toBe(1)
    server.misbehaves = undefined
    expect((await own("PATCH", "/collections/wechsel/documents/2", { title: "Lantern for a desk" })).status).toBe(200)
    const other = await ready()
    expect([other.embedder.name, ids(other)[0]]).toEqual(["openai/words", "1"])
    const meant = await own("POST", "/collections/wechsel/documents/semantic_search", { q: "settee" })
    expect(ids(meant.body)[0]).toBe("1")
    expect((await own("DELETE", "/ai/providers/text_embedder")).status).toBe(200)
    expect((await ready()).embedder.name).not.toBe("openai/words")
  })

  it("refuses parameters that it does not take, other tenants' collections, and callers without credits", async () => {
    const bad = await send("POST", "/collections/plain/documents/semantic_search", {
      q: "*",
      vector_query: "x",
      nothing: 1,
      page: [1]
    })
    expect(bad.status).toBe(400)
    for (const name of ["q", "vector_query", "nothing", "page"]) expect(bad.text).toContain(name)
    expect((await send("POST", "/collections/nowhere/documents/semantic_search", { q: "a" })).status).toBe(404)
    expect((await send("POST", "/collections/plain/documents/semantic_search", { q: "a" }, other)).status).toBe(404)
    const visitor = await program.request("POST", "/v1/collections/plain/documents/semantic_search", {
      key: tenant.search_key,
      body: { q: "lamp" }
    })
    expect(visitor.status).toBe(400)
    expect(visitor.text).toContain("X-SVC-SESSION-ID")
    await filled("poor", other)
    await send("PUT", "/ai/providers/text_embedder", provider(), other)
    const unready = await send("POST", "/collections/poor/documents/semantic_search", { q: "lamp" }, other)
    expect(unready.status).toBe(409)
    await eventually("the vectors are made", async () => {
      const { body } = await send("GET", "/jobs?type=embedding", undefined, other)
      return body.data[0]?.finished_at === undefined ? undefined : body
    })
    const poor = await send("POST", "/collections/poor/documents/semantic_search", { q: "lamp" }, other)
    expect(poor.status, poor.text).toBe(402)
  })

  it("a query whose words find nothing is searched by meaning, if rules say so and the vectors are visible", async () => {
    await filled("meant", tenant, [embedded()])
    await filled("meant", other)
    for (const owner of [tenant, other]) {
      const put = await send("PUT", "/collections/meant/search_rules", { zero_hits_fallback: "semantic" }, owner)
      expect(put.status, put.text).toBe(200)
    }
    const path = (more = "") =>
      `/collections/meant/documents/search?q=settee&query_by=title&exclude_fields=meaning${more}`
    const found = await send("GET", path("&debug=true"))
    expect(found.status, found.text).toBe(200)
    expect([ids(found.body)[0], found.body.explain.fallback]).toEqual(["1", "semantic"])
    expect(found.body.hits[0].vector_distance).toBeLessThan(0.7)
    // The caller's filter applies, and a caller who does not see the vectors learns nothing from them.
    expect(ids((await send("GET", path("&filter_by=price:<100"))).body)).not.toContain("1")
    const hidden = securedKey(tenant.search_key, { exclude_fields: "meaning" })
    expect((await program.request("GET", `/v1${path()}`, { key: hidden })).body.found).toBe(0)
    // Searches by words alone call no model; and without vectors nothing is found.
    const asked = server.asked.length
    expect(ids((await send("GET", "/collections/meant/documents/search?q=sofa&query_by=title")).body)).toEqual(["1"])
    expect(server.asked.length).toBe(asked)
    expect((await send("GET", path(), undefined, other)).body.found).toBe(0)
  })

  it("vectors of a field show what is similar, and what is different on a page, each tenant separately", async () => {
    const lamps = [
      { id: "5", title: "Desk lamp with a shade", maker: "Nut", price: 60 },
      { id: "6", title: "Desk lamp", maker: "Nut", price: 70 }
    ]
    for (const owner of [tenant, other]) {
      await filled("likes", owner, [embedded()])
      for (const lamp of lamps) await send("POST", "/collections/likes/documents", lamp, owner)
    }
    await send(
      "POST",
      "/collections/likes/documents",
      { id: "7", title: "Lantern for a desk", maker: "Nut", price: 9 },
      other
    )
    const made = await send("POST", "/recommendations/models", {
      name: "alike",
      collection: "likes",
      type: "similar",
      params: { vector_field: "meaning" }
    })
    expect(made.status, made.text).toBe(201)
    const alike = await send("POST", "/recommendations", { model_id: made.body.id, document_id: "2", limit: 2 })
    expect(alike.status, alike.text).toBe(200)
    // By facets it would be documents with the same maker.
    expect(ids(alike.body)).toEqual(["6", "5"])
    expect(alike.body.hits[0].reason).toMatchObject({ kind: "similar", source_document_id: "2" })
    // One of three lamps comes first, and other things follow.
    const query =
      "/collections/likes/documents/search?q=*&exclude_fields=meaning&sort_by=price:desc&filter_by=price:<100"
    expect(ids((await send("GET", query)).body)).toEqual(["6", "5", "2", "4"])
    const diversity = [{ mmr: { lambda: 0.3, vector_field: "meaning", k: 10 } }]
    const put = await send("PUT", "/collections/likes/search_rules", { diversity })
    expect(put.status, put.text).toBe(200)
    expect(ids((await send("GET", query)).body).slice(0, 2)).toEqual(["6", "4"])
    expect(ids((await send("GET", query, undefined, other)).body)).toEqual(["6", "5", "2", "7", "4"])
  })

  it("no word that the built-in model knows as one is taken for a typo", async (context) => {
    if (missing !== undefined) return context.skip(missing)
    await topUp(tenant, 1)
    const field = {
      name: "meaning",
      type: "float[]",
      embed: { from: ["title"], model_config: { model_name: MODEL_NAME } }
    }
    const made = await send("POST", "/collections", collectionOf("spelt", [field]))
    expect(made.status, made.text).toBe(201)
    const titles = ["Oak tables for the garden", "Wireless headphones", "Table runner", "Vegetable soup"]
    for (const [i, title] of titles.entries())
      await send("POST", "/collections/spelt/documents", { id: String(i), title, maker: "Nut", price: i })
    const first = async (q: string, more: Record<string, string> = {}) => {
      const found = await send("POST", "/collections/spelt/documents/semantic_search", { q, ...more })
      expect(found.status, found.text).toBe(200)
      return ids(found.body)[0]
    }
    for (const q of ["music without cables", "cables"]) expect(await first(q)).toBe("1")
    // One letter from a table: it is found if typos are allowed.
    expect(await first("cables", { num_typos: "2" })).toBe("2")
    expect(await first("oak tabels")).toBe("0")
  })

  it("a search waits for its model as long and as often as it says, and no longer", async () => {
    await filled("patient", tenant, [embedded()])
    await filled("patient", other)
    server.asked.splice(0)
    server.misbehaves = () => true
    const path = (more: string, by = "meaning") =>
      `/collections/patient/documents/search?q=a+thing+never+asked+${by}&query_by=${by}&exclude_fields=meaning${more}`
    const began = performance.now()
    const silent = await send("GET", path("&remote_embedding_timeout_ms=100&remote_embedding_num_tries=3&prefix=false"))
    expect([silent.status, server.asked.length], silent.text).toEqual([502, 3])
    expect(performance.now() - began).toBeLessThan(promised(5_000))
    // Others do not wait, nor do this organization's searches by words.
    expect((await send("GET", path("", "title"), undefined, other)).status).toBe(200)
    expect((await send("GET", path("", "title"))).status).toBe(200)
    const none = await send("GET", path("&remote_embedding_num_tries=0"))
    expect([none.status, none.text.includes("remote_embedding_num_tries")]).toEqual([400, true])
    // An endless body is cut off at the maximum length of an answer.
    let sent = 0
    server.misbehaves = (_asked, response) => {
      response.writeHead(200, { "content-type": "application/json" })
      response.write('{"data":[')
      const more = () => {
        if (response.destroyed) return
        sent += 100_000
        response.write(" ".repeat(100_000))
        setImmediate(more)
      }
      more()
      return true
    }
    const endless = await send("GET", path("&remote_embedding_num_tries=1&prefix=false"))
    expect(endless.status).toBeGreaterThanOrEqual(400)
    expect(sent).toBeLessThan(100_000_000)
    server.misbehaves = undefined
    expect((await send("GET", path("&prefix=false"))).status).toBe(200)
  })

  it("embeddings are charged by length, and every invalid input is named", async () => {
    const before = await credits(tenant)
    const made = await send("POST", "/embeddings", { input: ["a".repeat(1_500), "lamp"] })
    expect(made.status, made.text).toBe(200)
    expect(made.body).toMatchObject({ model: "openai/words", usage: { input_tokens: 7 } })
    expect(made.body.data.map(({ embedding, index }: any) => [index, embedding.length])).toEqual([
      [0, DIMENSIONS],
      [1, DIMENSIONS]
    ])
    expect(before - (await credits(tenant))).toBeCloseTo(0.1, 6)
    expect((await send("POST", "/embeddings", { input: [] })).status).toBe(400)
    expect((await send("POST", "/embeddings", { input: "a".repeat(8_193) })).status).toBe(400)
    expect((await send("POST", "/embeddings", { input: "a", model: "openai/other" })).status).toBe(400)
    server.misbehaves = (_asked, response) => {
      response.writeHead(500, { "retry-after": "0" })
      response.end()
      return true
    }
    const unpaid = await credits(tenant)
    expect((await send("POST", "/embeddings", { input: "lamp" })).status).toBe(502)
    expect(await credits(tenant)).toBe(unpaid)
  })
})
