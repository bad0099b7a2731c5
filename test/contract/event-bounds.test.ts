/** What a long or a compressed request may cost: the key's rate, the plan's bytes, and how far a text may expand. */
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
let tenant: Tenant
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Events")
})
afterAll(() => program.stop())

const NDJSON = { "content-type": "application/x-ndjson" }
const event = (i: number, more: object = {}) =>
  JSON.stringify({ type: "view", collection: "shop", document_id: `d${i}`, event_id: `e${i}`, ...more })
const lines = (count: number, from = 0) => Array.from({ length: count }, (_, i) => event(from + i)).join("\n")
const send = (key: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  program.request("POST", "/v1/events", { key, body, headers: { ...NDJSON, ...headers } })
const usage = async (of: Tenant) =>
  (await program.request("GET", "/v1/entitlement", { key: of.full_key })).body.usage.event_bytes_per_day as number

describe("a stream of events", () => {
  it("takes a token for each thousand lines, and reports what was accepted when there is none", async () => {
    const {
      body: { value: key }
    } = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: { description: "one", scope: "search", rate_limit_per_minute: 1 }
    })
    const answer = await send(key, lines(5_000))
    expect([answer.status, answer.body.code]).toEqual([429, "TOO_MANY_REQUESTS"])
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1)
    const { accepted, deduplicated, lines: dealtWith, rejected } = answer.body.data
    // A new minute may begin within ten seconds: then there is one more.
    expect([1_000, 2_000, 3_000]).toContain(dealtWith)
    expect([accepted, deduplicated, rejected]).toEqual([dealtWith, 0, []])
    expect(answer.body.message).toContain(`The first ${dealtWith} lines were dealt with`)
    // A key without a limit takes the rest from where the first ended, and recognizes events that are sent again.
    expect((await send(tenant.search_key, lines(5_000))).body).toEqual({
      accepted: 5_000 - dealtWith,
      deduplicated: dealtWith,
      rejected: []
    })
  })
  it("counts its bytes for the day, as batches do; a request refused as a whole counts nothing", async () => {
    const other = await program.tenant("Counted")
    expect(await usage(other)).toBe(0)
    const text = lines(3_000)
    expect((await send(other.search_key, gzipSync(text), { "content-encoding": "gzip" })).status).toBe(200)
    const counted = text.length - 2_999
    await expect.poll(() => usage(other), { timeout: 60_000 }).toBe(counted)
    const batch = JSON.stringify({ events: [JSON.parse(event(1))] })
    expect((await program.request("POST", "/v1/events", { key: other.search_key, body: batch })).status).toBe(200)
    expect(
      (
        await program.request("POST", "/v1/events", {
          key: other.search_key,
          body: { events: Array.from({ length: 1_001 }, () => 1) }
        })
      ).status
    ).toBe(400)
    await expect.poll(() => usage(other), { timeout: 60_000 }).toBe(counted + batch.length)
  })
})

describe("a compressed text", () => {
  /** 95 kB that become 61 MB. */
  const bomb = () => gzipSync(Buffer.from(`${event(1, { metadata: { x: "x".repeat(15_000) } })}\n`.repeat(4_000)))
  it("ends its stream of events with a reason if it expands to more than a hundred times its size", async () => {
    const answer = await send(tenant.search_key, bomb(), { "content-encoding": "gzip" })
    expect(answer.status).toBe(400)
    expect(answer.body.data.issues).toEqual([
      {
        path: "body",
        message: "The body could not be read: the compressed text decodes to more than 100 times what was sent"
      }
    ])
    // Earlier events are reported. Only what was decoded by then was stored.
    expect(answer.body.data.lines).toBeLessThan(1_500)
    expect(answer.body.data.accepted + answer.body.data.deduplicated).toBe(answer.body.data.lines)
  })
  it("is reported by an import, too, in its last line", async () => {
    expect(
      (
        await program.request("POST", "/v1/collections", {
          key: tenant.full_key,
          body: { name: "c", fields: [{ name: "title", type: "string" }] }
        })
      ).status
    ).toBe(201)
    const body = brotliCompressSync(Buffer.from(`${JSON.stringify({ title: "x".repeat(15_000) })}\n`.repeat(2_000)), {
      params: { [constants.BROTLI_PARAM_QUALITY]: 5 }
    })
    const answer = await program.request("POST", "/v1/collections/c/documents/import", {
      key: tenant.full_key,
      body,
      headers: { "content-encoding": "br" }
    })
    const verdicts = answer.text.split("\n").map((line) => JSON.parse(line))
    expect(verdicts.at(-1)).toEqual({
      code: 400,
      error: "The body could not be read: the compressed text decodes to more than 100 times what was sent",
      success: false
    })
    expect(verdicts.length).toBeLessThan(1_000)
  })
  it("of ordinary goods is accepted, whatever its length", async () => {
    const goods = Array.from({ length: 30_000 }, (_, i) =>
      JSON.stringify({ title: `Kettle ${i} ${(i * 7_919) % 1_000} in steel`, id: `k${i}` })
    ).join("\n")
    const answer = await program.request("POST", "/v1/collections/c/documents/import", {
      key: tenant.full_key,
      body: gzipSync(goods, { level: 9 }),
      headers: { "content-encoding": "gzip" }
    })
    expect(answer.text.split("\n").filter((line) => line !== '{"success":true}')).toEqual([])
  })
})
