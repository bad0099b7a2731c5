/**
 * `/connectors` over HTTP: creation and its repetition, signed pushes and their refusals, what becomes of them, two
 * organizations side by side.
 */
import { createHmac } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

let program: Program
let tenant: Tenant
let other: Tenant
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Shop")
  other = await program.tenant("Other shop")
  for (const owner of [tenant, other])
    await send("POST", "/collections", { name: "products", fields: [{ name: "title", type: "string" }] }, owner)
}, 60_000)
afterAll(() => program.stop())

const send = (
  method: string,
  path: string,
  body?: unknown,
  owner: Tenant = tenant,
  headers: Record<string, string> = {}
) => program.request(method, `/v1${path}`, { key: owner.full_key, body, headers })
interface Made {
  readonly id: string
  readonly secret: string
}
const fields = { name: "Shop", collection: "products", provider: "generic", sync_mode: "push" }
const connector = async (more: Record<string, unknown> = {}, owner: Tenant = tenant) => {
  const made = await send("POST", "/connectors", { ...fields, ...more }, owner)
  expect(made.status, made.text).toBe(201)
  return made.body as Made
}
const now_s = () => Math.floor(Date.now() / 1_000)
const signed = (text: string, secret: string, at = now_s()) => ({
  "x-signature-timestamp": String(at),
  "x-signature": createHmac("sha256", secret).update(`${at}.${text}`).digest("hex")
})
const post = (id: string, text: string, headers: Record<string, string>) =>
  program.request("POST", `/v1/connectors/${id}/webhook`, {
    body: text,
    headers: { "content-type": "application/json", ...headers }
  })
const push = ({ id, secret }: Made, body: unknown) => {
  const text = JSON.stringify(body)
  return post(id, text, signed(text, secret))
}
const job = (id: string, owner: Tenant = tenant) =>
  eventually("the job is over", async () => {
    const { body } = await send("GET", `/jobs/${id}`, undefined, owner)
    return body.finished_at === undefined ? undefined : (body as { status: string; result: any; error?: string })
  })
const applied = async (made: Made, body: unknown, owner: Tenant = tenant) => {
  const answer = await push(made, body)
  expect(answer.status, answer.text).toBe(202)
  return job(answer.body.job_id as string, owner)
}
const document = async (id: string, owner: Tenant = tenant) => {
  const { body, status } = await send("GET", `/collections/products/documents/${id}`, undefined, owner)
  return status === 200 ? (body as { title: string }).title : undefined
}
const upsert = (external_id: string, title: string, version?: number) => ({
  external_id,
  ...(version === undefined ? {} : { version }),
  document: { title }
})

describe("creation", () => {
  it("is answered again under its key, refused under it with another body, and shows the secret once", async () => {
    const key = { "idempotency-key": "one" }
    const first = await send("POST", "/connectors", fields, tenant, key)
    const again = await send("POST", "/connectors", fields, tenant, key)
    expect([first.status, again.status, again.body]).toEqual([201, 201, first.body])
    expect(first.body.secret).toMatch(/^cns_[A-Za-z0-9]{40}$/)
    expect((await send("POST", "/connectors", { ...fields, name: "B" }, tenant, key)).status).toBe(409)
    // Another organization's key is another key.
    const foreign = await send("POST", "/connectors", fields, other, key)
    expect(foreign.body.id).not.toBe(first.body.id)
    for (const path of ["/connectors", `/connectors/${first.body.id}`])
      expect((await send("GET", path)).text).not.toContain(first.body.secret)
    for (const [owner, { id }] of [
      [tenant, first.body],
      [other, foreign.body]
    ] as const)
      expect((await send("DELETE", `/connectors/${id}`, undefined, owner)).status).toBe(200)
  })
  it("refuses what is wrong by its field, pulls among it", async () => {
    for (const [change, path] of [
      [{ sync_mode: "pull" }, "sync_mode"],
      [{ provider: "nobody" }, "provider"],
      [{ name: "" }, "name"],
      [{ mapping: { title: "a..b" } }, "mapping"]
    ] as const) {
      const { body, status } = await send("POST", "/connectors", { ...fields, ...change })
      expect([status, String(body.data?.issues?.[0]?.path).split(/[.[]/)[0]], JSON.stringify(body)).toEqual([400, path])
    }
  })
})

describe("pushes", () => {
  it("become documents in their order, older versions are ignored, and what was deleted stays so", async () => {
    const made = await connector()
    const first = await applied(made, { events: [upsert("a", "A1", 1), upsert("b", "B", 1), upsert("a", "A2", 2)] })
    expect([first.status, first.result]).toEqual(["ready", { applied: 3, ignored: 0, failed: 0 }])
    expect([await document("a"), await document("b")]).toEqual(["A2", "B"])
    expect((await applied(made, upsert("a", "old", 1))).result).toEqual({ applied: 0, ignored: 1, failed: 0 })
    expect((await applied(made, { event: "delete", external_id: "b", version: 5 })).result.applied).toBe(1)
    expect((await applied(made, { events: [upsert("b", "back", 4), upsert("b", "back", 5)] })).result.ignored).toBe(2)
    expect([await document("a"), await document("b")]).toEqual(["A2", undefined])
    const journal = (await send("GET", `/connectors/${made.id}/journal?external_id=b`)).body.data
    expect(journal.map(({ op, status, version }: any) => [op, status, version])).toEqual([
      ["upsert", "ignored", 5],
      ["upsert", "ignored", 4],
      ["delete", "applied", 5],
      ["upsert", "applied", 1]
    ])
  })
  it("sent again are answered as before and change nothing", async () => {
    const made = await connector()
    const text = JSON.stringify(upsert("again", "One"))
    const headers = signed(text, made.secret)
    const first = await post(made.id, text, headers)
    await job(first.body.job_id)
    expect((await applied(made, upsert("again", "Two"))).result.applied).toBe(1)
    const second = await post(made.id, text, headers)
    expect([second.status, second.body]).toEqual([202, first.body])
    expect((await applied(made, upsert("marker", "M"))).status).toBe("ready")
    expect(await document("again")).toBe("Two")
    expect((await send("GET", `/connectors/${made.id}/journal?external_id=again`)).body.data).toHaveLength(2)
  })
})
