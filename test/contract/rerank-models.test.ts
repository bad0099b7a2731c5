/**
 * Reranking models: trained from generated visitors who take titles that begin with their query, wherever they are
 * ranked; better on held-out queries; named by searches, rules and presets. Two organizations side by side.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeRandom } from "../../fixtures/random.ts"
import type { ServedSearch } from "../../log/event-schema.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

let program: Program, tenant: Tenant, other: Tenant
const send = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, path, { key, body })
const made = async (...asked: Parameters<typeof send>) => {
  const answer = await send(...asked)
  if (answer.status >= 300) throw new Error(`${asked[0]} ${asked[1]}: ${answer.status} ${answer.text}`)
  return answer.body
}
const ended = (id: string) =>
  eventually(`the end of ${id}`, async () => {
    const body = await made("GET", `/v1/jobs/${id}`)
    return body.finished_at === undefined ? undefined : body
  })
const models = "/v1/collections/goods/rerank_models"
const now = Date.now()
const range = {
  from: new Date(now - 86_400_000).toISOString().slice(0, 10),
  to: new Date(now).toISOString().slice(0, 10)
}

const QUERIES = Array.from({ length: 40 }, (_, i) => `thing${String.fromCharCode(97 + (i % 26))}${i}`)
const DOCUMENTS = 10
const random = makeRandom(5)
/** For the rows of a query: whether the title begins with it. */
const begins = new Map(QUERIES.map((q) => [q, Array.from({ length: DOCUMENTS }, () => random.chance(0.3))]))
const titleOf = (q: string, row: number) => (begins.get(q)![row]! ? `${q} of oak and brass` : `oak and brass for ${q}`)
const visits = (q: string, v: number) => {
  const at = now - 3_600_000 + v * 1_000
  const query_id = `qry_${q}_${v}`
  const served: ServedSearch = {
    organization_id: tenant.organization_id,
    query_id,
    collection: "goods",
    q,
    found: DOCUMENTS,
    session_id: query_id,
    at,
    isCounted: true
  }
  const events = begins
    .get(q)!
    .flatMap((isWanted, row) => (random.chance((isWanted ? 0.8 : 0.05) / Math.log2(row + 2)) ? [row] : []))
    .map((row) => ({
      type: "click",
      query_id,
      collection: "goods",
      document_id: `${q}-${row}`,
      session_id: query_id,
      timestamp: at + 1_000,
      event_id: `${query_id}-${row}`
    }))
  return { served, events }
}
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Trained")
  other = await program.tenant("Beside")
  for (const { full_key } of [tenant, other])
    await made(
      "POST",
      "/v1/collections",
      {
        name: "goods",
        default_sorting_field: "rank",
        fields: [
          { name: "title", type: "string" },
          { name: "rank", type: "int32" }
        ]
      },
      full_key
    )
  await made(
    "POST",
    "/v1/collections/goods/documents/import",
    QUERIES.flatMap((q) =>
      Array.from({ length: DOCUMENTS }, (_, row) =>
        JSON.stringify({ id: `${q}-${row}`, title: titleOf(q, row), rank: DOCUMENTS - row })
      )
    ).join("\n")
  )
  const all = QUERIES.flatMap((q) => Array.from({ length: 25 }, (_, v) => visits(q, v)))
  await program.answered(all.map(({ served }) => served))
  const events = all.flatMap((one) => one.events)
  for (let i = 0; i < events.length; i += 1_000)
    await made("POST", "/v1/events", { events: events.slice(i, i + 1_000) })
})
afterAll(() => program.stop())

describe("rerank models", () => {
  it("are trained from what visitors took, and improve queries that were held out", async () => {
    const started = await send("POST", models, { name: "clicks", ...range })
    expect(started.status).toBe(202)
    const job = await ended(started.body.id)
    expect(job).toMatchObject({ type: "rerank_model_training", status: "ready", progress: 1 })
    const { ndcg_at_10, queries_held_out, queries_trained } = job.result
    expect(queries_held_out + queries_trained).toBe(QUERIES.length)
    console.log(`nDCG@10 ${ndcg_at_10.before.toFixed(3)} → ${ndcg_at_10.after.toFixed(3)}`)
    expect(ndcg_at_10.low).toBeGreaterThan(0)
    expect(ndcg_at_10.after - ndcg_at_10.before).toBeCloseTo(ndcg_at_10.difference, 9)
    const model = await made("GET", `${models}/clicks`)
    expect(model).toMatchObject({ name: "clicks", collection: "goods", version: 1, fields: ["title"] })
    expect((await made("GET", models)).data).toEqual([expect.objectContaining({ name: "clicks", version: 1 })])
  })
  it("apply from the next search that names them, and to no other organization's", async () => {
    const q = QUERIES.find((one) => !begins.get(one)![0] && begins.get(one)!.some((isWanted) => isWanted))!
    const first = async (more: string) =>
      (await made("GET", `/v1/collections/goods/documents/search?q=${q}&query_by=title${more}`)).hits[0].document.title
    expect(await first("")).toBe(`oak and brass for ${q}`)
    expect(await first("&rerank=true&rerank_model=clicks")).toBe(`${q} of oak and brass`)
    // A model that does not exist leaves the engine's order.
    expect(await first("&rerank=true&rerank_model=nothing")).toBe(`oak and brass for ${q}`)
    expect((await send("GET", `${models}/clicks`, undefined, other.full_key)).status).toBe(404)
    expect((await send("DELETE", `${models}/clicks`, undefined, other.full_key)).status).toBe(404)
    expect((await send("GET", models, undefined, other.full_key)).body).toEqual({ data: [] })
  })
  it("get a version with each training; one that rules or presets name cannot be deleted", async () => {
    const { result } = await ended((await made("POST", models, { name: "clicks", ...range, fields: ["title"] })).id)
    expect(result.version).toBe(2)
    const { version, versions } = await made("GET", `${models}/clicks`)
    expect([version, versions.map((one: { version: number }) => one.version)]).toEqual([2, [2, 1]])
    const rerank = { enabled: true, model: "clicks", fields: ["title"] }
    await made("PUT", "/v1/collections/goods/search_rules", { rerank })
    await made("PUT", "/v1/presets/listing", { value: { rerank_model: "clicks" } })
    await made("PUT", "/v1/search_policies/by_clicks", { params: { rerank: true, rerank_model: "clicks" } })
    const refused = await send("DELETE", `${models}/clicks`)
    expect([refused.status, refused.body.data.named_by]).toEqual([
      409,
      ["search rules of goods", "preset listing", "policy by_clicks"]
    ])
    await made("DELETE", "/v1/search_policies/by_clicks")
    await made("DELETE", "/v1/collections/goods/search_rules")
    await made("DELETE", "/v1/presets/listing")
    expect(await made("DELETE", `${models}/clicks`)).toEqual({ name: "clicks" })
    expect((await send("GET", `${models}/clicks`)).status).toBe(404)
    const { data } = await made("GET", "/v1/audit?subject=rerank_model")
    expect(data.map(({ action }: { action: string }) => action)).toEqual(["deleted", "updated", "created"])
  })
  it("are refused with every invalid field named, and fail if nothing was taken", async () => {
    const wrong = await send("POST", models, { name: "linear", from: "x", to: "y", fields: ["rank"] })
    expect([wrong.status, wrong.body.data.issues.map(({ path }: { path: string }) => path)]).toEqual([
      400,
      ["name", "from", "to"]
    ])
    const numbers = await send("POST", models, { name: "a", ...range, fields: ["title", "rank"] })
    expect([numbers.status, numbers.body.data.issues]).toEqual([
      400,
      [{ path: "fields.1", message: "Not a text field of the collection" }]
    ])
    const job = await ended((await made("POST", models, { name: "a", from: "2020-01-01", to: "2020-01-02" })).id)
    expect(job).toMatchObject({ status: "failed", error: expect.stringContaining("needs 50") })
  })
})
