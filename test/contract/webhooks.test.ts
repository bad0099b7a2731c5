/**
 * `/webhooks` over HTTP: each operation, each refusal, real events to real receivers, two organizations side by side.
 */
import { Webhook } from "standardwebhooks"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually, pause, type Receiver, startReceiver, verified } from "../support/receiver.ts"

let program: Program
let tenant: Tenant
let other: Tenant
const receivers: Array<Receiver> = []
const receiverOf = async (...args: Parameters<typeof startReceiver>) => {
  const receiver = await startReceiver(...args)
  receivers.push(receiver)
  return receiver
}
beforeAll(async () => {
  program = await startProgram({ allowPrivateAddresses: true })
  tenant = await program.tenant("Hooks")
  other = await program.tenant("Others")
})
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.stop()
  for (const owner of [tenant, other])
    for (const { id } of (await send("GET", "/webhooks", undefined, owner)).body.data)
      await send("DELETE", `/webhooks/${id}`, undefined, owner)
})
afterAll(() => program.stop())

const send = (method: string, path: string, body?: unknown, owner: Tenant = tenant) =>
  program.request(method, `/v1${path}`, { key: owner.full_key, body })
const endpoint = async (url: string, more: Record<string, unknown> = {}, owner: Tenant = tenant) =>
  (await send("POST", "/webhooks", { name: "Shop", url, events: ["*"], ...more }, owner)).body as {
    id: string
    secret: string
  }
const newKey = async (description: string, owner: Tenant = tenant) =>
  (await send("POST", "/keys", { description, scope: "search" }, owner)).body.id as string
const delivery = (id: string, done: (delivery: any) => boolean, owner: Tenant = tenant) =>
  eventually(
    "a delivery in that state",
    async () => (await send("GET", `/webhooks/${id}`, undefined, owner)).body.deliveries.find(done) as any
  )
const settled = ({ status }: { status: string }) => status !== "pending"

describe("endpoints", () => {
  it("are created, listed, read, replaced and deleted; the secret is shown once", async () => {
    const made = await send("POST", "/webhooks", {
      name: " Shop ",
      url: "https://shop.example/hook?x=1",
      events: ["api_key.created", "api_key.created", "alert.fired"]
    })
    expect(made.status).toBe(201)
    const { id, secret } = made.body
    expect(made.body).toEqual({
      id: expect.stringMatching(/^whk_[0-9A-Z]{26}$/),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9]{32}$/),
      name: "Shop",
      url: "https://shop.example/hook?x=1",
      events: ["api_key.created", "alert.fired"],
      enabled: true,
      created_at: expect.any(Number),
      updated_at: expect.any(Number)
    })
    const read = await send("GET", `/webhooks/${id}`)
    expect(read.body).toEqual({ ...made.body, secret: undefined, deliveries: [] })
    expect(read.text).not.toContain(secret)
    expect((await send("GET", "/webhooks")).body).toEqual({ data: [{ ...read.body, deliveries: undefined }] })
    const replaced = await send("PUT", `/webhooks/${id}`, {
      name: "All",
      url: "http://shop.example/",
      events: ["alert.fired", "*"],
      enabled: false
    })
    expect([replaced.status, replaced.body.events, replaced.body.enabled, replaced.body.name]).toEqual([
      200,
      ["*"],
      false,
      "All"
    ])
    expect(replaced.text).not.toContain(secret)
    expect((await send("DELETE", `/webhooks/${id}`)).body).toEqual({ id })
    expect((await send("GET", `/webhooks/${id}`)).status).toBe(404)
  })
  it("are listed in pages", async () => {
    for (let i = 0; i < 5; i++) await endpoint("https://shop.example/", { name: `n${i}` })
    const first = (await send("GET", "/webhooks?limit=3")).body
    const second = (await send("GET", `/webhooks?limit=3&cursor=${first.next_cursor}`)).body
    expect([first.data.length, second.data.length, second.next_cursor]).toEqual([3, 2, undefined])
    expect([...first.data, ...second.data].map(({ name }: { name: string }) => name)).toEqual([
      "n0",
      "n1",
      "n2",
      "n3",
      "n4"
    ])
  })
  it("are refused with the invalid field", async () => {
    const good = { name: "n", url: "https://a.example/", events: ["*"] }
    const issue = async (change: Record<string, unknown>) => {
      const { body, status } = await send("POST", "/webhooks", { ...good, ...change })
      return [status, body.code, body.data?.issues?.[0]?.path]
    }
    const bad: ReadonlyArray<readonly [Record<string, unknown>, string]> = [
      [{ name: "" }, "name"],
      [{ name: "x".repeat(121) }, "name"],
      [{ name: 5 }, "name"],
      [{ name: "a\u0000b" }, "name"],
      [{ url: "ftp://a.example/" }, "url"],
      [{ url: "a.example" }, "url"],
      [{ url: `https://a.example/${"x".repeat(2_048)}` }, "url"],
      [{ url: "https://user:pass@a.example/" }, "url"],
      [{ events: [] }, "events"],
      [{ events: ["alert.fired", "nothing.here"] }, "events[1]"],
      [{ events: ["webhook.test"] }, "events[0]"],
      [{ events: ["experiment.winner_detected"] }, "events[0]"],
      [{ events: ["quality.regression"] }, "events[0]"],
      [{ events: ["event.replayed"] }, "events[0]"],
      [{ enabled: "yes" }, "enabled"],
      [{ secret: "whsec_mine" }, "secret"]
    ]
    for (const [change, path] of bad)
      expect(await issue(change), JSON.stringify(change).slice(0, 80)).toEqual([400, "BAD_REQUEST", path])
    expect(
      (
        await send("POST", "/webhooks", {
          ...good,
          name: "é".repeat(120),
          url: `https://a.example/${"x".repeat(2_030)}`
        })
      ).status
    ).toBe(201)
  })
  it("require a full key, and look up the endpoint before the body", async () => {
    const { id } = await endpoint("https://a.example/")
    const operations = [
      ["GET", "/webhooks"],
      ["POST", "/webhooks"],
      ["GET", `/webhooks/${id}`],
      ["PUT", `/webhooks/${id}`],
      ["DELETE", `/webhooks/${id}`],
      ["POST", `/webhooks/${id}/secret`],
      ["POST", `/webhooks/${id}/test`],
      ["GET", `/webhooks/${id}/deliveries`],
      ["GET", `/webhooks/${id}/deliveries/dlv_1`],
      ["POST", `/webhooks/${id}/deliveries/dlv_1/redeliver`],
      ["POST", `/webhooks/${id}/recover`]
    ] as const
    for (const [method, path] of operations) {
      expect(
        (await program.request(method, `/v1${path}`, { body: method === "GET" ? undefined : "not json" })).status,
        path
      ).toBe(401)
      expect(
        (
          await program.request(method, `/v1${path}`, {
            key: tenant.search_key,
            body: method === "GET" ? undefined : "not json"
          })
        ).status,
        path
      ).toBe(403)
      if (path !== "/webhooks") {
        const answer = await send(method, path.replace(id, "whk_none"), method === "GET" ? undefined : "not json")
        expect([answer.status, answer.body.code, answer.body.message], path).toEqual([
          404,
          "NOT_FOUND",
          "Webhook whk_none does not exist."
        ])
      }
    }
    expect((await send("GET", `/webhooks/${id}/deliveries/dlv_none`)).body).toMatchObject({
      status: 404,
      message: "Delivery dlv_none does not exist."
    })
    expect((await send("POST", `/webhooks/${id}/deliveries/dlv_none/redeliver`)).status).toBe(404)
    expect((await send("GET", `/webhooks/${id}/deliveries?limit=0`)).status).toBe(400)
    expect((await send("POST", `/webhooks/${id}/recover`, { since: "yesterday" })).body.data.issues[0].path).toBe(
      "since"
    )
    expect((await send("POST", `/webhooks/${id}/recover`, { since: -1 })).status).toBe(400)
  })
  it("are at most a hundred per organization, even when they are created at once", async () => {
    const statuses = (
      await Promise.all(
        Array.from({ length: 104 }, () =>
          send("POST", "/webhooks", { name: "n", url: "https://a.example/", events: ["*"] })
        )
      )
    ).map(({ status }) => status)
    expect([
      statuses.filter((status) => status === 201).length,
      statuses.filter((status) => status === 409).length
    ]).toEqual([100, 4])
    expect(
      (await send("POST", "/webhooks", { name: "n", url: "https://a.example/", events: ["*"] }, other)).status
    ).toBe(201)
  })
})

describe("deliveries", () => {
  it("carry the envelope, both signatures and the same id, for every subscribed event and no other", async () => {
    const [all, created, alerts] = [await receiverOf(), await receiverOf(), await receiverOf()]
    const made = {
      all: await endpoint(all.url),
      created: await endpoint(created.url, { events: ["api_key.created"] }),
      alerts: await endpoint(alerts.url, { events: ["alert.fired"] })
    }
    const keyId = await newKey("Storefront é 🗝")
    await send("DELETE", `/keys/${keyId}`)
    await all.until(2)
    await created.until(1)
    const [first] = created.received
    expect(first.json).toEqual({
      id: first.headers["x-svc-delivery"],
      event: "api_key.created",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      organization_id: tenant.organization_id,
      data: { key_id: keyId, scope: "search", description: "Storefront é 🗝" }
    })
    expect(Object.keys(first.json)).toEqual(["id", "event", "created_at", "organization_id", "data"])
    expect(first.headers).toMatchObject({
      "content-type": "application/json",
      "x-svc-event": "api_key.created",
      "x-svc-delivery": expect.stringMatching(/^dlv_/),
      "webhook-id": first.json.id
    })
    expect(Math.abs((verified(first, made.created.secret) ?? 0) - Date.now() / 1_000)).toBeLessThan(10)
    expect(verified(first, made.all.secret)).toBeUndefined()
    expect(new Webhook(made.created.secret).verify(first.body, { ...first.headers })).toEqual(first.json)
    expect(() => new Webhook(made.all.secret).verify(first.body, { ...first.headers })).toThrow()
    expect(all.received.map(({ json }) => json.event).sort()).toEqual(["api_key.created", "api_key.revoked"])
    await pause(200)
    expect([created.received.length, alerts.received.length]).toEqual([1, 0])
    const record = await delivery(made.created.id, settled)
    expect(record).toEqual({
      id: first.json.id,
      event: "api_key.created",
      status: "success",
      http_code: 200,
      attempts: 1,
      body: first.body,
      created_at: expect.any(Number),
      last_attempt_at: expect.any(Number),
      finished_at: expect.any(Number)
    })
    expect((await send("GET", `/webhooks/${made.created.id}/deliveries/${record.id}`)).body).toEqual(record)
    expect((await send("GET", `/webhooks/${made.created.id}/deliveries`)).body).toEqual({ data: [record] })
  })
  it("reach the endpoints of their organization only", async () => {
    const [mine, theirs] = [await receiverOf(), await receiverOf()]
    const [a, b] = [await endpoint(mine.url), await endpoint(theirs.url, {}, other)]
    await newKey("mine")
    await newKey("theirs", other)
    await mine.until(1)
    await theirs.until(1)
    await pause(100)
    expect(
      [mine, theirs].map(({ received }) => received.map(({ json }) => [json.organization_id, json.data.description]))
    ).toEqual([[[tenant.organization_id, "mine"]], [[other.organization_id, "theirs"]]])
    const { id } = await delivery(b.id, () => true, other)
    for (const [method, path] of [
      ["GET", `/webhooks/${b.id}`],
      ["DELETE", `/webhooks/${b.id}`],
      ["POST", `/webhooks/${b.id}/test`],
      ["POST", `/webhooks/${b.id}/secret`],
      ["GET", `/webhooks/${b.id}/deliveries/${id}`],
      ["POST", `/webhooks/${b.id}/deliveries/${id}/redeliver`]
    ] as const) {
      expect((await send(method, path)).status, path).toBe(404)
    }
    // The other's delivery through an endpoint of one's own.
    expect((await send("GET", `/webhooks/${a.id}/deliveries/${id}`)).status).toBe(404)
    expect((await send("POST", `/webhooks/${b.id}/recover`, { since: 0 })).status).toBe(404)
  })
  it("of the test action are sent to disabled endpoints too, and events are not", async () => {
    const receiver = await receiverOf()
    const { id, secret } = await endpoint(receiver.url, { enabled: false, events: ["alert.fired"] })
    await newKey("unheard")
    const sent = await send("POST", `/webhooks/${id}/test`)
    expect([sent.status, sent.body.event, sent.body.status]).toEqual([202, "webhook.test", "pending"])
    await receiver.until(1)
    expect(receiver.received[0].json).toMatchObject({
      id: sent.body.id,
      event: "webhook.test",
      organization_id: tenant.organization_id,
      data: { webhook_id: id }
    })
    expect(verified(receiver.received[0], secret)).toBeDefined()
    await pause(100)
    expect(receiver.received.length).toBe(1)
  })
  it("that fail permanently say why, and are sent again under their id by hand or by a recovery", async () => {
    const receiver = await receiverOf((response) => response.writeHead(404).end("no such hook\u0000here"))
    const { id } = await endpoint(receiver.url)
    await newKey("one")
    const failed = await delivery(id, settled)
    expect(failed).toMatchObject({
      status: "failed",
      http_code: 404,
      attempts: 1,
      error: "The receiver answered 404: no such hook here"
    })
    expect((await send("GET", `/webhooks/${id}`)).body.failing_since).toBe(failed.last_attempt_at)
    receiver.answer = 200
    const again = await send("POST", `/webhooks/${id}/deliveries/${failed.id}/redeliver`)
    expect([again.status, again.body.id, again.body.status]).toEqual([202, failed.id, "pending"])
    expect(await delivery(id, settled)).toMatchObject({
      id: failed.id,
      status: "success",
      http_code: 200,
      attempts: 2,
      body: failed.body
    })
    expect(receiver.received.map(({ body, headers }) => [headers["x-svc-delivery"], body])).toEqual([
      [failed.id, failed.body],
      [failed.id, failed.body]
    ])
    expect((await send("GET", `/webhooks/${id}`)).body.failing_since).toBeUndefined()
    // A successful delivery can be sent again as well.
    await send("POST", `/webhooks/${id}/deliveries/${failed.id}/redeliver`)
    await receiver.until(3)

    receiver.answer = 410
    for (const name of ["two", "three", "four"]) await newKey(name)
    await eventually(
      "three failures",
      async () =>
        (await send("GET", `/webhooks/${id}`)).body.deliveries.filter(
          ({ status }: { status: string }) => status === "failed"
        ).length === 3 || undefined
    )
    const ids = (await send("GET", `/webhooks/${id}`)).body.deliveries
      .filter(({ status }: { status: string }) => status === "failed")
      .map((one: { id: string }) => one.id) as Array<string>
    expect((await send("POST", `/webhooks/${id}/recover`, { since: Date.now() + 60_000 })).body).toEqual({
      recovered: 0
    })
    receiver.answer = 204
    const before = receiver.received.length
    const recovered = await send("POST", `/webhooks/${id}/recover`, { since: 0 })
    expect([recovered.status, recovered.body]).toEqual([202, { recovered: 3 }])
    await receiver.until(before + 3)
    expect(
      receiver.received
        .slice(before)
        .map(({ json }) => json.id)
        .sort()
    ).toEqual([...ids].sort())
    await eventually(
      "all delivered",
      async () =>
        (await send("GET", `/webhooks/${id}`)).body.deliveries.every(
          ({ status }: { status: string }) => status === "success"
        ) || undefined
    )
  })
  it("wait after 408, 429 and 5xx, and a redelivery sends at once", async () => {
    const receiver = await receiverOf(503)
    const { id } = await endpoint(receiver.url)
    await newKey("later")
    const waiting = await delivery(id, ({ attempts }) => attempts === 1)
    expect(waiting).toMatchObject({ status: "pending", http_code: 503, error: "The receiver answered 503" })
    expect(waiting.next_attempt_at - waiting.last_attempt_at).toBeGreaterThanOrEqual(0)
    expect(waiting.next_attempt_at - waiting.last_attempt_at).toBeLessThanOrEqual(30_000)
    receiver.answer = 200
    await send("POST", `/webhooks/${id}/deliveries/${waiting.id}/redeliver`)
    expect(await delivery(id, settled)).toMatchObject({ status: "success", attempts: 2 })
  })
  it("of a disabled or deleted endpoint are abandoned; disabled endpoints accept no redelivery", async () => {
    const receiver = await receiverOf(500)
    const { id } = await endpoint(receiver.url)
    await newKey("given up")
    await delivery(id, ({ attempts }) => attempts === 1)
    await send("PUT", `/webhooks/${id}`, { name: "Off", url: receiver.url, events: ["*"], enabled: false })
    const [given] = (await send("GET", `/webhooks/${id}`)).body.deliveries
    expect(given).toMatchObject({ status: "failed", error: "The endpoint was disabled while this delivery waited." })
    for (const [path, body] of [
      [`deliveries/${given.id}/redeliver`, undefined],
      ["recover", { since: 0 }]
    ] as const)
      expect((await send("POST", `/webhooks/${id}/${path}`, body)).body).toMatchObject({
        status: 409,
        code: "CONFLICT"
      })
    receiver.answer = 200
    await send("PUT", `/webhooks/${id}`, { name: "On", url: receiver.url, events: ["*"] })
    expect((await send("POST", `/webhooks/${id}/recover`, { since: 0 })).body).toEqual({ recovered: 1 })
    expect(await delivery(id, settled)).toMatchObject({ status: "success" })
  })
})

describe("secrets", () => {
  it("both sign after a rotation, in both schemes, and a fifth within a day is refused", async () => {
    const receiver = await receiverOf()
    const { id, secret: first } = await endpoint(receiver.url)
    const rotated = await send("POST", `/webhooks/${id}/secret`)
    expect(rotated.status).toBe(200)
    const second = rotated.body.secret as string
    expect(second).not.toBe(first)
    expect(rotated.body.previous_secret_valid_until - rotated.body.updated_at).toBe(24 * 3_600_000)
    await send("POST", `/webhooks/${id}/test`)
    const [received] = await receiver.until(1)
    expect(received.headers["x-svc-signature"]).toMatch(/^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/)
    for (const secret of [first, second]) {
      expect(verified(received, secret)).toBeDefined()
      expect(new Webhook(secret).verify(received.body, { ...received.headers })).toEqual(received.json)
    }
    for (const status of [200, 200, 409]) expect((await send("POST", `/webhooks/${id}/secret`)).status).toBe(status)
  })
})
