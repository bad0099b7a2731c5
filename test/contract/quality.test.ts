/** Quality suites over HTTP: what they are, what a run measures, and that a drop is reported. Two organizations. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { eventually, type Receiver, startReceiver } from "../support/receiver.ts"

let program: Program, tenant: Tenant, other: Tenant, receiver: Receiver
const send = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, path, { key, body })
const made = async (...asked: Parameters<typeof send>) => {
  const answer = await send(...asked)
  if (answer.status >= 300) throw new Error(`${asked[0]} ${asked[1]}: ${answer.status} ${answer.text}`)
  return answer.body
}
/** Settles with the job when it is over. */
const ended = (id: string, key = tenant.full_key) =>
  eventually(`the end of ${id}`, async () => {
    const { body } = await send("GET", `/v1/jobs/${id}`, undefined, key)
    return body.finished_at === undefined ? undefined : body
  })
const ran = async (suiteId: string, body?: unknown) =>
  ended((await made("POST", `/v1/quality/suites/${suiteId}/run`, body)).id)

const suite = {
  name: "Lamps",
  collection: "goods",
  params: { query_by: "title", sort_by: "rank:desc" },
  judgments: [
    { q: "lamp", document_id: "1", grade: 3 },
    { q: "lamp", document_id: "2", grade: 1 },
    { q: "lamp", document_id: "9", grade: 0 },
    { q: "desk", document_id: "5", grade: 2 }
  ]
}
const documents = [
  { id: "1", title: "brass lamp", rank: 9 },
  { id: "2", title: "oak lamp", rank: 8 },
  { id: "3", title: "steel lamp", rank: 7 },
  { id: "5", title: "oak desk", rank: 6 }
]
beforeAll(async () => {
  program = await sharedProgram({ allowPrivateAddresses: true })
  receiver = await startReceiver()
  tenant = await program.tenant("Judging")
  other = await program.tenant("Beside")
  for (const { full_key } of [tenant, other]) {
    await made(
      "POST",
      "/v1/collections",
      {
        name: "goods",
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
      documents.map((document) => JSON.stringify(document)).join("\n"),
      full_key
    )
  }
  await made("POST", "/v1/webhooks", { name: "all", url: receiver.url, events: ["*"] })
})
afterAll(async () => {
  await program.stop()
  await receiver.stop()
})

describe("quality suites", () => {
  it("are created, shown, replaced and deleted; another organization has none of them", async () => {
    const created = await send("POST", "/v1/quality/suites", suite)
    expect(created.status).toBe(201)
    const { id } = created.body
    expect(id).toMatch(/^qst_/)
    expect(created.body).toMatchObject({ ...suite, tolerance: 0.02, judgments_count: 4 })
    expect((await made("GET", `/v1/quality/suites/${id}`)).judgments).toEqual(suite.judgments)
    const [listed] = (await made("GET", "/v1/quality/suites")).data
    expect(listed).toMatchObject({ id, judgments_count: 4 })
    expect(listed.judgments).toBeUndefined()
    const replaced = await made("PUT", `/v1/quality/suites/${id}`, {
      ...suite,
      name: "New",
      schedule_cron: "0 3 * * 1"
    })
    expect(replaced).toMatchObject({ name: "New", schedule_cron: "0 3 * * 1", created_at: created.body.created_at })
    for (const [method, path] of [
      ["GET", ""],
      ["PUT", ""],
      ["DELETE", ""],
      ["POST", "/run"],
      ["GET", "/runs"]
    ] as const) {
      const answer = await send(
        method,
        `/v1/quality/suites/${id}${path}`,
        method === "PUT" ? suite : undefined,
        other.full_key
      )
      expect([method, path, answer.status]).toEqual([method, path, 404])
    }
    expect((await send("GET", "/v1/quality/suites", undefined, other.full_key)).body).toEqual({ data: [] })
    expect(await made("DELETE", `/v1/quality/suites/${id}`)).toEqual({ id })
    expect((await send("GET", `/v1/quality/suites/${id}`)).status).toBe(404)
  })
  it("are refused with every invalid field named, also by the collection's own schema", async () => {
    const wrong = await send("POST", "/v1/quality/suites", { ...suite, collection: "", judgments: [{ q: 1 }] })
    expect([wrong.status, wrong.body.data.issues.map(({ path }: { path: string }) => path)]).toEqual([
      400,
      ["collection", "judgments.0.q", "judgments.0.document_id", "judgments.0.grade"]
    ])
    const issueOf = async (body: unknown) => (await send("POST", "/v1/quality/suites", body)).body.data.issues[0].path
    expect(await issueOf({ ...suite, collection: "nothing" })).toBe("collection")
    expect(await issueOf({ ...suite, params: { query_by: "nothing" } })).toMatch(/^params/)
  })
  it("are measured, compared with the run before, and report a drop beyond their tolerance", async () => {
    const { id } = await made("POST", "/v1/quality/suites", suite)
    const first = await ran(id)
    expect(first).toMatchObject({ type: "quality_run", status: "ready", progress: 1 })
    expect(first.result).toMatchObject({
      ndcg_at_10: 1,
      mrr: 1,
      recall_at_100: 1,
      previous: null,
      params: suite.params,
      per_query: [
        { q: "lamp", ndcg_at_10: 1 },
        { q: "desk", ndcg_at_10: 1 }
      ]
    })
    expect(first.result.judged_at_10).toBeCloseTo((2 / 3 + 1) / 2, 12)
    // Other parameters are compared, and raise no alert.
    const worse = await ran(id, { params: { query_by: "title", sort_by: "rank:asc" } })
    const lamp = (1 / Math.log2(3) + 7 / 2) / (7 + 1 / Math.log2(3))
    expect(worse.result.ndcg_at_10).toBeCloseTo((1 + lamp) / 2, 12)
    expect(worse.result.previous).toMatchObject({ ndcg_at_10: 1 })
    expect(worse.result.per_query[0]).toMatchObject({ q: "lamp", previous: 1 })
    expect(receiver.received).toEqual([])
    await made("PUT", `/v1/quality/suites/${id}`, { ...suite, params: { query_by: "title", sort_by: "rank:asc" } })
    const fallen = await ran(id)
    const [told] = await receiver.until(1)
    expect(told!.json).toMatchObject({
      event: "quality.regression",
      data: {
        suite_id: id,
        collection: "goods",
        before: 1,
        after: fallen.result.ndcg_at_10,
        run_id: fallen.result.run_id
      }
    })
    // Not reported again if it stays low.
    await ran(id)
    const { data } = await made("GET", `/v1/quality/suites/${id}/runs`)
    expect(data).toHaveLength(4)
    expect(data[0]).toMatchObject({ suite_id: id, ndcg_at_10: fallen.result.ndcg_at_10, queries: 2 })
    expect((await made("GET", `/v1/quality/suites/${id}`)).last_run).toMatchObject({ run_id: data[0].id })
    await new Promise((settle) => setTimeout(settle, 300))
    expect(receiver.received).toHaveLength(1)
    // All of that counts neither a unit nor an answered search.
    expect((await made("GET", "/v1/entitlement")).quota.used).toBe(0)
  })
  it("answer 409 with nothing to measure, and are deleted with their collection", async () => {
    const { id } = await made("POST", "/v1/quality/suites", { ...suite, judgments: [] })
    expect((await send("POST", `/v1/quality/suites/${id}/run`)).status).toBe(409)
    expect((await send("POST", `/v1/quality/suites/${id}/run`, { profile: "nothing" })).status).toBe(404)
    expect((await send("POST", `/v1/quality/suites/${id}/run`, { profile: "No name" })).status).toBe(400)
    await made("POST", "/v1/collections", { name: "short", fields: [{ name: "title", type: "string" }] })
    const gone = await made("POST", "/v1/quality/suites", {
      ...suite,
      collection: "short",
      params: { query_by: "title" }
    })
    await made("DELETE", "/v1/collections/short")
    expect((await send("GET", `/v1/quality/suites/${gone.id}`)).status).toBe(404)
    expect((await send("GET", `/v1/quality/suites/${id}`)).status).toBe(200)
  })
})
