/**
 * `/connectors` over HTTP: creation and its repetition, signed pushes and their refusals, and their outcome; two
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
})
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
  it("is repeated for its idempotency key, refused for it with another body, and shows the secret once", async () => {
    const key = { "idempotency-key": "one" }
    const first = await send("POST", "/connectors", fields, tenant, key)
    const again = await send("POST", "/connectors", fields, tenant, key)
    expect([first.status, again.status, again.body]).toEqual([201, 201, first.body])
    expect(first.body.secret).toMatch(/^cns_[A-Za-z0-9]{40}$/)
    expect((await send("POST", "/connectors", { ...fields, name: "B" }, tenant, key)).status).toBe(409)
    // Another organization's idempotency key is independent.
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
  it("refuses invalid input by its field", async () => {
    for (const [change, path] of [
      [{ sync_mode: "poll" }, "sync_mode"],
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
  it("become documents in order; older versions are ignored, and deleted documents stay deleted", async () => {
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
  it("are answered as before when sent again, and change nothing", async () => {
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

describe("what is refused", () => {
  it("is a push that is unsigned, wrongly signed, signed for another body, late or early", async () => {
    const made = await connector()
    const text = JSON.stringify(upsert("unsigned", "No"))
    const of = signed(text, made.secret)
    const bad: ReadonlyArray<readonly [string, Record<string, string>, string?]> = [
      ["unsigned", {}],
      ["another secret", signed(text, `${made.secret}x`)],
      ["another body", of, `${text} `],
      ["another time", { ...of, "x-signature-timestamp": String(now_s() - 1) }],
      ["late", signed(text, made.secret, now_s() - 302)],
      ["early", signed(text, made.secret, now_s() + 302)],
      ["no hex", { ...of, "x-signature": "zz" }],
      [
        "a shop's header for a connector of another kind",
        {
          "x-shopify-hmac-sha256": createHmac("sha256", made.secret).update(text).digest("base64")
        }
      ]
    ]
    for (const [what, headers, body = text] of bad)
      expect([what, (await post(made.id, body, headers)).status]).toEqual([what, 401])
    for (const headers of [of, { ...of, "x-signature": `sha256=${of["x-signature"]}` }])
      expect((await post(made.id, text, headers)).status).toBe(202)
    expect((await post("con_01ARZ3NDEKTSV4RRFFQ69G5FAV", text, of)).status).toBe(404)
  })
  it("is a single event by its place, while the others are applied, and an invalid body", async () => {
    const made = await connector()
    const answer = await push(made, { events: [upsert("one", "One"), 7, { document: {} }, { event: "move", id: "x" }] })
    expect([answer.status, answer.body]).toMatchObject([202, { received: 4, upserts: 1, deletes: 0 }])
    expect(answer.body.rejected.map(({ index }: { index: number }) => index)).toEqual([1, 2, 3])
    for (const body of [[], 7, { events: [] }, { events: Array.from({ length: 501 }, () => upsert("x", "X")) }])
      expect((await push(made, body)).status).toBe(400)
    const text = "{no json"
    expect((await post(made.id, text, signed(text, made.secret))).status).toBe(400)
  })
  it("is everything for a disabled connector and a paused organization", async () => {
    const made = await connector()
    expect((await send("PUT", `/connectors/${made.id}`, { enabled: false })).body).toMatchObject({ status: "disabled" })
    expect((await push(made, upsert("x", "X"))).status).toBe(409)
    await send("PUT", `/connectors/${made.id}`, { enabled: true })
    const paused = await program.tenant("Paused")
    const theirs = await connector({}, paused)
    const organization = `/console/v1/organizations/${paused.organization_id}`
    const operator = { authorization: `Bearer ${program.operatorToken}` }
    expect(
      (await program.request("POST", `${organization}/pause`, { headers: operator, body: { reason: "manual" } })).status
    ).toBe(200)
    expect((await push(theirs, upsert("x", "X"))).status).toBe(402)
  })
  it("is a document that the collection does not accept, in the journal, and nothing beside it", async () => {
    const made = await connector()
    const ended = await applied(made, {
      events: [upsert("fits", "Fits"), { external_id: "unfit", document: { title: {} } }]
    })
    expect([ended.status, ended.result]).toEqual(["ready", { applied: 1, ignored: 0, failed: 1 }])
    const failed = (await send("GET", `/connectors/${made.id}/journal?status=failed`)).body.data
    expect(failed).toMatchObject([{ external_id: "unfit", op: "upsert", status: "failed", attempts: 1 }])
    expect(failed[0].error).toContain("title")
    expect((await send("GET", `/connectors/${made.id}`)).body).toMatchObject({
      status: "failed",
      last_error: failed[0].error
    })
    expect((await applied(made, { external_id: "unfit", document: { title: {} } })).status).toBe("failed")
    expect((await applied(made, upsert("fits", "Still"))).status).toBe("ready")
    expect((await send("GET", `/connectors/${made.id}`)).body).toMatchObject({ status: "idle" })
  })
})

describe("secrets", () => {
  it("are both valid after a rotation, and a fifth is refused", async () => {
    const made = await connector()
    const rotated = (await send("POST", `/connectors/${made.id}/secret`)).body as Made
    expect(rotated.secret).not.toBe(made.secret)
    for (const [i, one] of [made, rotated].entries()) expect((await push(one, upsert(`r${i}`, "R"))).status).toBe(202)
    for (const status of [200, 200, 409])
      expect((await send("POST", `/connectors/${made.id}/secret`)).status).toBe(status)
  })
})

describe("shop systems", () => {
  const sent = async (provider: string, header: string, topic: Record<string, string>, body: unknown) => {
    const made = await connector({ provider })
    const text = JSON.stringify(body)
    const signature = createHmac("sha256", made.secret).update(text).digest("base64")
    const wrong = await post(made.id, text, {
      ...topic,
      [header]: createHmac("sha256", "no").update(text).digest("base64")
    })
    const right = await post(made.id, text, { ...topic, [header]: signature })
    expect([provider, wrong.status, right.status]).toEqual([provider, 401, 202])
    return { made, ended: await job(right.body.job_id) }
  }
  it("sign in headers of their own, and their products are mapped", async () => {
    const shopify = await sent(
      "shopify",
      "x-shopify-hmac-sha256",
      { "x-shopify-topic": "products/update" },
      { id: 632910392, title: "Lamp of Shopify", status: "active", updated_at: "2026-01-02T03:04:05Z", variants: [] }
    )
    expect(shopify.ended.result).toEqual({ applied: 1, ignored: 0, failed: 0 })
    expect(await document("632910392")).toBe("Lamp of Shopify")
    const [entry] = (await send("GET", `/connectors/${shopify.made.id}/journal`)).body.data
    expect(entry).toMatchObject({ mapping: "shopify", version: Date.parse("2026-01-02T03:04:05Z") })
    const woo = await sent(
      "woocommerce",
      "x-wc-webhook-signature",
      { "x-wc-webhook-topic": "product.updated" },
      { id: 794, name: "Lamp of Woo", status: "publish", date_modified_gmt: "2026-01-02T03:04:05" }
    )
    expect(woo.ended.result).toEqual({ applied: 1, ignored: 0, failed: 0 })
    expect(await document("794")).toBe("Lamp of Woo")
  })
  it("send other topics, of which nothing is applied", async () => {
    const { ended } = await sent("shopify", "x-shopify-hmac-sha256", { "x-shopify-topic": "orders/create" }, { id: 1 })
    expect([ended.status, ended.result]).toEqual(["ready", { applied: 0, ignored: 0, failed: 0 }])
  })
  it("are mapped as their owner configures, and the mapping is tried without writing", async () => {
    const made = await connector({ mapping: { title: { join: ["maker", "name"] } } })
    const event = { id: "tried", maker: "Ikea", name: "Lamp" }
    const tried = await send("POST", `/connectors/${made.id}/test-mapping`, { event })
    expect(tried.body).toEqual({ external_id: "tried", op: "upsert", document: { title: "Ikea Lamp", id: "tried" } })
    expect(await document("tried")).toBeUndefined()
    await applied(made, event)
    expect(await document("tried")).toBe("Ikea Lamp")
    expect((await send("GET", `/connectors/${made.id}/journal`)).body.data[0].mapping).toBe("own")
  })
})

describe("two organizations", () => {
  it("push the same ids and see nothing of each other", async () => {
    const mine = await connector()
    const theirs = await connector({}, other)
    const [a, b] = await Promise.all([
      push(mine, { events: [upsert("same", "Mine", 9)] }),
      push(theirs, { events: [upsert("same", "Theirs", 1)] })
    ])
    expect((await job(a.body.job_id)).result.applied).toBe(1)
    expect((await job(b.body.job_id, other)).result.applied).toBe(1)
    expect([await document("same"), await document("same", other)]).toEqual(["Mine", "Theirs"])
    expect((await send("GET", `/jobs/${b.body.job_id}`)).status).toBe(404)
    expect((await send("GET", `/connectors/${theirs.id}/journal`)).status).toBe(404)
    const text = JSON.stringify(upsert("same", "Stolen"))
    expect((await post(theirs.id, text, signed(text, mine.secret))).status).toBe(401)
  })
  it("delete a connector with its journal and jobs; documents stay", async () => {
    const made = await connector()
    const answer = await push(made, upsert("stays", "Stays"))
    await job(answer.body.job_id)
    expect((await send("DELETE", `/connectors/${made.id}`)).body).toEqual({ id: made.id })
    expect((await send("GET", `/connectors/${made.id}`)).status).toBe(404)
    expect((await send("GET", `/jobs/${answer.body.job_id}`)).status).toBe(404)
    expect(await document("stays")).toBe("Stays")
  })
  it("wait for a collection that does not exist, and delay no other", async () => {
    const made = await connector({ collection: "coming" })
    const waiting = await push(made, upsert("w", "Waited"))
    expect((await applied(await connector(), upsert("beside", "Beside"))).status).toBe("ready")
    await send("POST", "/collections", { name: "coming", fields: [{ name: "title", type: "string" }] })
    expect((await job(waiting.body.job_id)).result.applied).toBe(1)
    const [entry] = (await send("GET", `/connectors/${made.id}/journal`)).body.data
    expect(entry).toMatchObject({ status: "applied" })
    expect(entry.attempts).toBeGreaterThan(1)
  })
})
