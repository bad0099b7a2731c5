/**
 * Entries that `POST /events` refused: kept with their reasons, listed, resubmitted after a fix, and visible to one
 * tenant only.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

let program: Program
let tenant: Tenant
let other: Tenant
beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Failed")
  other = await program.tenant("Other")
})
afterAll(() => program.stop())

const HOUR = 3_600_000
interface Failed {
  readonly id: string
  readonly reason: string
  readonly entry?: Record<string, unknown>
  readonly text?: string
  readonly attempts: number
  readonly received_at: number
  readonly last_retried_at?: number
}
const list = async (query = "", key = tenant.full_key) =>
  (await program.request("GET", `/v1/events/failed?${query}`, { key })).body as {
    readonly data: ReadonlyArray<Failed>
    readonly next_cursor?: string
  }
const listed = async (count: number, key = tenant.full_key) => {
  for (let waited = 0; waited < 60_000; waited += 20) {
    const answer = await list("limit=250", key)
    if (answer.data.length === count) return answer.data
    await new Promise((settle) => setTimeout(settle, 20))
  }
  return (await list("limit=250", key)).data
}
const retry = (body: unknown, key = tenant.full_key) =>
  program.request("POST", "/v1/events/failed/retry", { key, body })
/** Waits until exactly that many events are counted. */
const counted = async (events: number) => {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10)
  const read = async () =>
    (
      (
        await program.request(
          "GET",
          `/v1/analytics/metrics/overview?from=${day(Date.now() - 24 * HOUR)}&to=${day(Date.now() + 24 * HOUR)}`,
          { key: tenant.full_key }
        )
      ).body as { readonly events: number }
    ).events
  for (let waited = 0; waited < 60_000 && (await read()) < events; waited += 20)
    await new Promise((settle) => setTimeout(settle, 20))
  expect(await read()).toBe(events)
}

describe("failed events", () => {
  const purchase = (i: number) => ({ type: "purchase", collection: "shop", document_id: `d${i}`, colour: "red" })
  it("keeps refused entries with their reason, from batches and lines, newest first", async () => {
    const sentAt = Date.now()
    const sent = await program.request("POST", "/v1/events", {
      key: tenant.search_key,
      body: { events: [purchase(1), { type: "view", collection: "shop", document_id: "d" }, purchase(2), "no object"] }
    })
    expect(sent.body).toMatchObject({ accepted: 1, rejected: [{ index: 0 }, { index: 2 }, { index: 3 }] })
    const lines = [
      JSON.stringify(purchase(3)),
      "{broken",
      JSON.stringify({ type: "walk", collection: "shop", note: "x".repeat(9_000) })
    ].join("\n")
    await program.request("POST", "/v1/events", {
      key: tenant.search_key,
      body: lines,
      headers: { "content-type": "application/x-ndjson" }
    })
    await program.request("POST", "/v1/events", {
      key: other.search_key,
      body: { events: [{ type: "walk", collection: "secret" }] }
    })
    const data = await listed(6)
    expect(data.map(({ entry, text }) => entry ?? text?.slice(0, 20)).reverse()).toEqual([
      purchase(1),
      purchase(2),
      "no object",
      "{broken",
      purchase(3),
      '{"type":"walk","coll'
    ])
    for (const { attempts, id, reason, received_at } of data) {
      expect(id).toMatch(/^rej_[0-9A-Z]{26}$/)
      expect(reason.length).toBeGreaterThan(5)
      expect(attempts).toBe(0)
      expect(Math.abs(received_at - sentAt)).toBeLessThan(60_000)
    }
    const first = await list("limit=4")
    const second = await list(`limit=4&cursor=${first.next_cursor}`)
    expect([...first.data, ...second.data]).toEqual(data)
    expect(second.next_cursor).toBeUndefined()
  })
  it("accepts them after a fix, once, at their original time; those refused again keep the new reason", async () => {
    // The one accepted entry of the previous batch.
    await counted(1)
    const answer = await retry({ set: { revenue: 10, colour: null } })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ retried: 6, accepted: 3, deduplicated: 0 })
    expect((answer.body as { rejected: ReadonlyArray<unknown> }).rejected).toHaveLength(3)
    const left = await listed(3)
    for (const { attempts, last_retried_at } of left) {
      expect(attempts).toBe(1)
      expect(last_retried_at).toBeGreaterThan(0)
    }
    expect(left.filter(({ reason }) => reason.includes("send it again"))).toHaveLength(2)
    await counted(4)
    expect((await retry({})).body).toMatchObject({ retried: 3, accepted: 0 })
  })
  it("processes many in pages and by name", async () => {
    const key = other.search_key
    const events = Array.from({ length: 1_000 }, (_, i) => ({
      type: "purchase",
      collection: i % 2 === 0 ? "even" : "odd",
      document_id: `d${i}`,
      event_id: `e${i}`
    }))
    await program.request("POST", "/v1/events", { key, body: { events } })
    await program.request("POST", "/v1/events", {
      key,
      body: { events: events.slice(0, 100).map((event) => ({ ...event, event_id: `${event.event_id}-again` })) }
    })
    for (let waited = 0; waited < 60_000; waited += 20) {
      const even = (await list("limit=250&collection=even", other.full_key)).data
      if (even.some(({ entry }) => entry?.event_id === "e98-again")) break
      await new Promise((settle) => setTimeout(settle, 20))
    }
    const [named] = (await list("limit=1&collection=odd", other.full_key)).data
    expect((await retry({ ids: [named!.id], set: { revenue: 1 } }, other.full_key)).body).toMatchObject({
      retried: 1,
      accepted: 1
    })
    const first = (await retry({ set: { revenue: 1 } }, other.full_key)).body as {
      accepted: number
      next_cursor: string
    }
    const second = (await retry({ set: { revenue: 1 }, cursor: first.next_cursor }, other.full_key)).body as {
      accepted: number
      next_cursor?: string
    }
    expect(first.accepted + second.accepted).toBe(1_099)
    expect(second.next_cursor).toBeUndefined()
    // The walk of the first test is refused permanently.
    expect((await list("", other.full_key)).data).toHaveLength(1)
  })
  it("names what is wrong, and shows a key for some collections only theirs", async () => {
    for (const [body, path] of [
      [{ ids: [] }, "ids"],
      [{ ids: Array.from({ length: 1_001 }, (_, i) => `${i}`) }, "ids"],
      [{ ids: "x" }, "ids"],
      [{ colour: 1 }, "colour"],
      [{ set: [] }, "set"]
    ] as const) {
      const answer = await retry(body)
      expect(answer.status, JSON.stringify(body)).toBe(400)
      expect((answer.body as { data: { issues: ReadonlyArray<{ path: string }> } }).data.issues[0]!.path).toBe(path)
    }
    expect((await program.request("GET", "/v1/events/failed?limit=251", { key: tenant.full_key })).status).toBe(400)
    expect(
      (await program.request("GET", "/v1/events/failed?cursor=%00", { key: tenant.full_key })).body.data.issues
    ).toMatchObject([{ path: "cursor" }])
    expect((await program.request("GET", "/v1/events/failed", { key: tenant.search_key })).status).toBe(403)
    const { value } = (
      await program.request("POST", "/v1/keys", {
        key: tenant.full_key,
        body: { description: "odd", scope: "full", collections: ["odd"] }
      })
    ).body as { value: string }
    expect((await program.request("GET", "/v1/events/failed", { key: value })).status).toBe(403)
    expect((await program.request("GET", "/v1/events/failed?collection=shop", { key: value })).status).toBe(403)
    expect((await program.request("POST", "/v1/events/failed/retry", { key: value, body: {} })).status).toBe(403)
    expect((await program.request("GET", "/v1/events/failed?collection=odd", { key: value })).status).toBe(200)
  })
})
