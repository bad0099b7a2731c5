/**
 * Semantic search in a language that no installed model was trained on: a model is trained on the collection itself;
 * two organizations side by side.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { eventually } from "../support/receiver.ts"

let program: Program, tenant: Tenant, other: Tenant
const send = (method: string, path: string, body?: unknown, owner = tenant) =>
  program.request(method, `/v1${path}`, { key: owner.full_key, body })
const search = (body: Record<string, unknown>, owner = tenant) =>
  send("POST", "/collections/waren/documents/semantic_search", body, owner)
const ids = (body: any): ReadonlyArray<string> => body.hits.map(({ document }: any) => document.id)

const goods = [
  ["Lampe", ["Tischlampe", "Stehlampe", "Deckenleuchte", "Leselampe"], "mit warmem Licht und Schirm aus Leinen"],
  ["Stuhl", ["Gartenstuhl", "Schreibtischstuhl", "Klappstuhl", "Sessel"], "zum Sitzen, mit Lehne und Polster"],
  ["Topf", ["Kochtopf", "Suppentopf", "Bratpfanne", "Schmortopf"], "zum Kochen auf dem Herd, mit Deckel"],
  ["Decke", ["Wolldecke", "Bettdecke", "Tagesdecke", "Kissen"], "weich und warm, aus Wolle für das Bett"]
] as const
/** Each kind in ten colours. */
const documents = goods.flatMap(([kind, names, text], k) =>
  names.flatMap((name, n) =>
    ["rot", "blau", "grün", "weiß", "schwarz", "grau", "gelb", "braun", "rosa", "beige"].map((colour, c) => ({
      id: `${kind}-${n}-${c}`,
      title: `${name} ${colour}`,
      text: `${name} ${text}`,
      price: 10 * k + n
    }))
  )
)
const created = async (owner: Tenant): Promise<void> => {
  const fields = [
    { name: "title", type: "string", locale: "de" },
    { name: "text", type: "string", locale: "de" },
    { name: "price", type: "int32" }
  ]
  expect((await send("POST", "/collections", { name: "waren", fields }, owner)).status).toBe(201)
  const lines = documents.map((each) => JSON.stringify(each)).join("\n")
  const imported = await program.request("POST", "/v1/collections/waren/documents/import", {
    key: owner.full_key,
    body: lines
  })
  expect(imported.text).not.toContain('"success":false')
}
const filled = (jobId: string, owner = tenant) =>
  eventually("the vectors are made", async () => {
    const { body } = await send("GET", `/jobs/${jobId}`, undefined, owner)
    return body.finished_at === undefined ? undefined : body
  })

beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Laden")
  other = await program.tenant("Zweiter Laden")
  for (const { organization_id } of [tenant, other])
    await program.request("POST", `/console/v1/organizations/${organization_id}/top-up`, {
      headers: { authorization: `Bearer ${program.operatorToken}` },
      body: { credits: 20 }
    })
  await created(tenant)
})
afterAll(() => program.stop())

describe("a model that is trained on the collection", () => {
  let hash: string

  it("is made by the first search, finds what words do not, and reports that it was used", async () => {
    const first = await search({ q: "Lampen zum Lesen" })
    expect(first.status, first.text).toBe(409)
    const jobId = (first.body.job_id ?? first.body.data?.job_id) as string
    const again = await search({ q: "Lampen zum Lesen" })
    expect([again.status, again.text.includes(jobId)]).toEqual([409, true])
    const job = await filled(jobId)
    expect(job).toMatchObject({ status: "ready", result: { documents: 160, failed: 0 } })
    hash = job.result.model
    expect(hash).toMatch(/^[0-9a-f]{64}$/)
    // No product has this name: the material is in the words of one kind.
    const found = await search({ q: "Stühle", per_page: 8 })
    expect(found.status, found.text).toBe(200)
    expect(found.body.embedder).toEqual({ name: "dowser/lsa", embedded: true, used: true })
    expect(ids(found.body).every((id) => id.startsWith("Stuhl"))).toBe(true)
    expect(found.body.hits[0].hybrid_search_info).toBeDefined()
    for (const text of [found.text, (await send("GET", "/collections/waren")).text])
      expect(text.includes("$meaning") || text.includes('dowser/lsa","model_version')).toBe(false)
  })

  it("knows new documents with the next search, and nothing of a query in another script", async () => {
    const written = await send("POST", "/collections/waren/documents", {
      id: "neu",
      title: "Hängeleuchte",
      text: "Hängeleuchte mit warmem Licht und Schirm",
      price: 1
    })
    expect(written.status, written.text).toBe(201)
    const found = await search({ q: "Leuchten mit Schirmen", filter_by: "price:=1" })
    expect(ids(found.body)[0]).toBe("neu")
    const unknown = await search({ q: "диван" })
    expect([unknown.status, unknown.body.embedder.used]).toEqual([200, false])
  })

  it("belongs to its collection: no field reveals it or its hash, and it is deleted with the collection", async () => {
    const naming = (owner: Tenant, more: Record<string, unknown> = {}) =>
      send(
        "POST",
        "/collections",
        {
          name: "benannt",
          fields: [
            { name: "title", type: "string" },
            {
              name: "v",
              type: "float[]",
              embed: { from: ["title"], model_config: { model_name: "dowser/lsa", ...more } }
            }
          ]
        },
        owner
      )
    for (const [owner, more] of [
      [tenant, {}],
      [tenant, { model_version: "0".repeat(64) }],
      [other, { model_version: hash }]
    ] as const) {
      const refused = await naming(owner, more)
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("dowser/lsa")])
    }
    const asked = await send("POST", "/embeddings", { input: "Lampe", model: "dowser/lsa" })
    expect(asked.status).toBe(400)
    await created(other)
    const own = await search({ q: "Lampe" }, other)
    expect(own.status, own.text).toBe(409)
    const job = await filled(own.body.job_id ?? own.body.data?.job_id, other)
    // The same documents give the same model, and yet each organization has its own.
    expect(job.result.model).toBe(hash)
    expect((await send("DELETE", "/collections/waren")).status).toBe(200)
    expect((await naming(tenant, { model_version: hash })).status).toBe(400)
    const still = await search({ q: "Lampen", per_page: 3 }, other)
    expect([still.status, still.body.embedder.used]).toEqual([200, true])
    expect(ids(still.body).every((id) => id.startsWith("Lampe"))).toBe(true)
  })
})
