/** The weight of meaning in a profile: chosen by judged queries, stored with its figures, applied in searches. */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest"
import { type EmbeddingServer, startEmbeddingServer } from "../support/embedding-server.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

let program: Program, tenant: Tenant, other: Tenant, server: EmbeddingServer
const send = (method: string, path: string, body?: unknown, { full_key } = tenant) =>
  program.request(method, `/v1${path}`, { key: full_key, ...(body === undefined ? {} : { body }) })

/** Products that are sold under one word, and searched for by another with the same meaning to the model. */
const nouns = [
  ["sofa", "couch"],
  ["lamp", "lantern"],
  ["mug", "beaker"]
] as const
const kinds = ["red", "oak", "large", "cheap", "round", "garden", "travel", "winter"]
const documents = nouns.flatMap(([sold], n) =>
  kinds.map((kind, k) => ({ id: `${n}-${k}`, title: `${kind} ${sold}`, price: n }))
)
/** `asked`: which of the two words is used. */
const judgments = (asked: 0 | 1) =>
  nouns.flatMap((noun, n) =>
    kinds.map((kind, k) => ({ q: `${kind} ${noun[asked]}`, document_id: `${n}-${k}`, grade: 3 }))
  )
const profile = { name: "shop", searchable_fields: ["title"] }
const path = "/collections/goods/search-profiles/shop"
const fill = async (owner: Tenant) => {
  const model_config = { model_name: "openai/words", url: server.url }
  const fields = [
    { name: "title", type: "string" },
    { name: "price", type: "int32" },
    { name: "meaning", type: "float[]", embed: { from: ["title"], model_config } }
  ]
  await send("POST", "/collections", { name: "goods", fields }, owner)
  const lines = documents.map((each) => JSON.stringify(each)).join("\n")
  expect((await send("POST", "/collections/goods/documents/import", lines, owner)).text).not.toContain("false")
  expect((await send("POST", "/collections/goods/search-profiles", profile, owner)).status).toBe(201)
}
const weigh = async (asked: 0 | 1, owner = tenant) => {
  const suite = { name: "s", collection: "goods", judgments: judgments(asked) }
  const { id } = (await send("POST", "/quality/suites", suite, owner)).body
  const started = await send("POST", `/quality/suites/${id}/meaning`, { profile: "shop" }, owner)
  expect(started.status, started.text).toBe(202)
  const job = await eventually("the weight is chosen", async () => {
    const { body } = await send("GET", `/jobs/${started.body.id}`, undefined, owner)
    return body.finished_at === undefined ? undefined : body
  })
  return { id: id as string, job }
}
const found = async (q: string, owner = tenant) => {
  const answer = await send(
    "GET",
    `/collections/goods/documents/search?q=${encodeURIComponent(q)}&profile=shop&per_page=3`,
    undefined,
    owner
  )
  expect(answer.status, answer.text).toBe(200)
  return answer.body.hits as ReadonlyArray<any>
}

beforeAll(async () => {
  server = await startEmbeddingServer()
  program = await startProgram({ allowPrivateAddresses: true })
  tenant = await program.tenant("shop")
  other = await program.tenant("other")
  for (const owner of [tenant, other]) await fill(owner)
})
afterAll(async () => {
  await program.stop()
  await server.close()
})
beforeEach(() => {
  server.misbehaves = undefined
})

it("is the weight that judged queries choose, stored in the draft with its figures", async () => {
  const { id, job } = await weigh(1)
  expect(job).toMatchObject({ status: "ready", type: "meaning_weight" })
  const { cross_validated, ndcg_at_10, queries, weight } = job.result
  expect(queries).toBe(24)
  expect(weight).toBeGreaterThan(0)
  expect(ndcg_at_10.map((each: any) => each.weight)).toEqual([0, 0.1, 0.3, 0.5, 1])
  expect(cross_validated).toBeGreaterThan(ndcg_at_10[0].ndcg_at_10 + 0.1)
  const { meaning, revision } = (await send("GET", path)).body
  expect(revision).toBe(2)
  expect(meaning).toEqual({
    weight,
    chosen: { suite_id: id, queries, ndcg_at_10, cross_validated, chosen_at: expect.any(Number) }
  })
})
it("applies to searches by the profile, and to no other organization's", async () => {
  const hits = await found("red couch")
  expect(hits[0].document.id).toBe("0-0")
  expect(hits[0].hybrid_search_info).toBeDefined()
  for (const hit of await found("red couch", other)) expect(hit.hybrid_search_info).toBeUndefined()
})
it("is words alone if words find as much", async () => {
  const { job } = await weigh(0, other)
  expect(job.result).toMatchObject({ weight: 0, queries: 24 })
  expect((await send("GET", path, undefined, other)).body.meaning.weight).toBe(0)
  for (const hit of await found("red couch", other)) expect(hit.hybrid_search_info).toBeUndefined()
})
it("keeps its figures if the profile is sent back, and loses them if a person sets the weight", async () => {
  const { body: before } = await send("GET", path)
  const { body: same } = await send("PUT", path, before)
  expect(same.meaning).toEqual(before.meaning)
  const { body: own } = await send("PUT", path, { ...before, meaning: { weight: 0.25 } })
  expect(own.meaning).toEqual({ weight: 0.25 })
  const { body: none } = await send("PUT", path, profile)
  expect(none.meaning).toBeUndefined()
  const wrong = await send("PUT", path, { ...profile, meaning: { weight: 2 } })
  expect(wrong.body.data.issues).toEqual([{ path: "meaning.weight", message: "A number from 0 to 1" }])
})
it("does not stop a search whose model does not answer, and reorders nothing that is sorted", async () => {
  await send("PUT", path, { ...profile, meaning: { weight: 1 }, sorts: [{ id: "price", sort_by: "price:desc" }] })
  server.misbehaves = (_, response) => (response.writeHead(500).end(), true)
  const hits = await found("travel settee")
  expect(hits.length).toBeGreaterThan(0)
  expect(hits[0].hybrid_search_info).toBeUndefined()
  server.misbehaves = undefined
  const sorted = await send("GET", "/collections/goods/documents/search?q=red+couch&profile=shop&sort=price")
  expect(sorted.body.hits[0].hybrid_search_info).toBeUndefined()
})
it("is refused if too few queries are judged, and reports that there are no vectors", async () => {
  const few = { name: "few", collection: "goods", judgments: judgments(1).slice(0, 19) }
  const { id } = (await send("POST", "/quality/suites", few)).body
  const refused = await send("POST", `/quality/suites/${id}/meaning`, { profile: "shop" })
  expect(refused.status).toBe(409)
  expect(refused.body.message).toContain("19 queries")
  expect((await send("POST", `/quality/suites/${id}/meaning`, { profile: "none" })).status).toBe(404)
  expect((await send("POST", `/quality/suites/${id}/meaning`, { profile: "No!" })).status).toBe(400)
  await send("POST", "/collections", { name: "plain", fields: [{ name: "title", type: "string" }] })
  await send("POST", "/collections/plain/search-profiles", profile)
  const suite = { name: "plain", collection: "plain", judgments: judgments(1) }
  const plain = (await send("POST", "/quality/suites", suite)).body.id
  const job = (await send("POST", `/quality/suites/${plain}/meaning`, { profile: "shop" })).body.id
  const ended = await eventually("the job has failed", async () => {
    const { body } = await send("GET", `/jobs/${job}`)
    return body.finished_at === undefined ? undefined : body
  })
  expect(ended).toMatchObject({ status: "failed", error: expect.stringContaining("no vectors") })
})
