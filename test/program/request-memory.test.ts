/**
 * The memory that requests hold together, in a program with a low bound: one organization that takes as much as it can
 * does not affect the others or its own small requests, and all memory is freed afterwards.
 */
import { randomBytes } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { brotliCompressSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { launchPrepared, type Launched } from "../support/launched.ts"

const MEGABYTE = 1024 * 1024
const BOUND_MB = 16
let folder: string
let program: Launched
let greedy: string, other: string
const sockets: Array<Socket> = []
const start = async (name: string, bound_mb: number) => {
  const data = join(folder, name)
  program = await launchPrepared(data, ["--no-demo", "--request-megabytes-max", String(bound_mb)])
  const operator = readFileSync(join(data, "operator.token"), "utf8").trim()
  const organization = async (name: string) => {
    const made = await fetch(`http://127.0.0.1:${program.port}/console/v1/organizations`, {
      method: "POST",
      headers: { authorization: `Bearer ${operator}` },
      body: JSON.stringify({ name, plan: "unlimited" })
    })
    const { full_key } = (await made.json()) as { readonly full_key: string }
    expect(
      (
        await send(
          full_key,
          "POST",
          "/collections",
          JSON.stringify({ name: "goods", fields: [{ name: "title", type: "string" }] })
        )
      ).status
    ).toBe(201)
    return full_key
  }
  greedy = await organization("Greedy")
  other = await organization("Other")
}
const stop = async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  program.signal("SIGTERM")
  await program.exited
}
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dowser-request-memory-"))
  await start("data", BOUND_MB)
})
afterAll(async () => {
  await stop()
  rmSync(folder, { recursive: true, force: true })
})

const send = async (
  key: string,
  method: string,
  path: string,
  body?: string | Buffer,
  headers: Record<string, string> = {}
) => {
  const response = await fetch(`http://127.0.0.1:${program.port}/v1${path}`, {
    method,
    headers: { "x-svc-api-key": key, ...headers },
    ...(body === undefined ? {} : { body: body as string })
  })
  return { status: response.status, retryAfter: response.headers.get("retry-after"), text: await response.text() }
}
const ownMemoryMb = () =>
  Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${program.pid()}/status`, "utf8"))?.[1]) / 1024
/** Starts a request: sends its head and then `more`, as far as the other side reads it. */
const begin = (key: string, line: string, ...more: ReadonlyArray<string | Buffer>) =>
  new Promise<Socket>((settle) => {
    const socket = connect(program.port, "127.0.0.1", () => {
      socket.write(`${line} HTTP/1.1\r\nhost: a\r\nx-svc-api-key: ${key}\r\n`)
      for (const part of more) socket.write(part)
      settle(socket)
    })
    socket.on("error", () => {})
    sockets.push(socket)
  })
const document = (id: string, bytes: number) => JSON.stringify({ id, title: "a", padding: "x".repeat(bytes) })
const verdicts = (text: string) =>
  text.split("\n").map((line) => (JSON.parse(line) as { readonly success: boolean }).success)
const until = async (isSo: () => boolean | Promise<boolean>) => {
  while (!(await isSo())) await new Promise((settle) => setTimeout(settle, 50))
}
const upsert = (key: string, body: string) => send(key, "POST", "/collections/goods/documents?action=upsert", body)

describe("bodies that never end", () => {
  it("fill the share of their organization, and nothing else", async () => {
    const before = ownMemoryMb()
    const half = Buffer.concat([Buffer.from('{"id":"never","title":"'), Buffer.alloc(10 * MEGABYTE, "x")])
    const held = await Promise.all(
      Array.from({ length: 40 }, () =>
        begin(greedy, "POST /v1/collections/goods/documents/import", `content-length: ${20 * MEGABYTE}\r\n\r\n`, half)
      )
    )
    await until(async () => (await upsert(greedy, document("large", 3 * MEGABYTE))).status === 429)
    const refused = await upsert(greedy, document("large", 3 * MEGABYTE))
    expect([refused.status, refused.retryAfter, JSON.parse(refused.text)]).toEqual([
      429,
      "1",
      { message: expect.stringContaining("memory") }
    ])
    // Small requests of the same organization still work, and so does an import of ordinary lines.
    expect((await upsert(greedy, document("small", 10_000))).status).toBe(201)
    const lines = Array.from({ length: 3_000 }, (_, i) => document(`line-${i}`, 300)).join("\n")
    expect(
      verdicts((await send(greedy, "POST", "/collections/goods/documents/import", lines)).text).every(
        (isStored) => isStored
      )
    ).toBe(true)
    // Other organizations are not affected.
    expect((await upsert(other, document("large", 3 * MEGABYTE))).status).toBe(201)
    const events = await send(
      other,
      "POST",
      "/events",
      JSON.stringify({
        events: Array.from({ length: 500 }, (_, i) => ({
          type: "click",
          collection: "goods",
          document_id: "large",
          q: "a",
          session_id: `s${i}`,
          event_id: `e${i}`,
          note: "x".repeat(1_000)
        }))
      })
    )
    expect([events.status, JSON.parse(events.text)]).toEqual([200, expect.objectContaining({ accepted: 500 })])
    // The clients sent 400 MB.
    expect(ownMemoryMb() - before).toBeLessThan(200)
    for (const socket of held) socket.destroy()
    await until(async () => (await upsert(greedy, document("large", 3 * MEGABYTE))).status === 201)
  })
  it("that are compressed count the memory of their decoders", async () => {
    // Each body is 40 MB of blanks after some noise that costs its sender real bytes: only the decoder's window of it
    // is held.
    const noise = document("noise", 0).replace('""', `"${randomBytes(0.4 * MEGABYTE).toString("base64")}"`)
    const body = brotliCompressSync(
      Buffer.concat([
        Buffer.from(`${noise}\n`),
        Buffer.alloc(40 * MEGABYTE, "\n"),
        Buffer.from('{"id":"after","title":"a"}\n')
      ]),
      { params: { 1: 1 } }
    )
    const answers = await Promise.all(
      Array.from({ length: 6 }, () =>
        send(greedy, "POST", "/collections/goods/documents/import", body, { "content-encoding": "br" })
      )
    )
    const told = answers.map(({ text }) => text)
    // The window of one decoder is 16 MB at most, more than the share of 8.
    expect(
      told.every((text) => text.includes("memory")),
      told.join("\n")
    ).toBe(true)
    // A decoder frees its memory a moment after its answer.
    await until(async () => (await upsert(greedy, document("large", 3 * MEGABYTE))).status === 201)
  })
})

describe("answers that nobody reads", () => {
  beforeAll(async () => {
    await stop()
    // An answer that no socket reads, and the documents it is made of, take a quarter.
    await start("answers", 4 * BOUND_MB)
  })
  it("are cut off, oldest first, and clients that read get every answer completely", async () => {
    for (let i = 0; i < 3; i++) expect((await upsert(greedy, document(`answer-${i}`, 4 * MEGABYTE))).status).toBe(201)
    const path =
      "/collections/goods/documents/search?q=a&query_by=title&filter_by=id:[answer-0,answer-1,answer-2]&exclude_fields=search_time_ms"
    const whole = await send(greedy, "GET", path)
    expect([whole.status, whole.text.length > 12 * MEGABYTE]).toEqual([200, true])
    const closed: Array<number> = []
    for (let i = 0; i < 6; i++) {
      const socket = await begin(greedy, `GET /v1${path}`, "\r\n")
      socket.pause()
      socket.on("close", () => closed.push(i))
      // Waits, so that they are sent in order.
      await until(() => socket.bytesWritten > 0)
      await new Promise((settle) => setTimeout(settle, 200))
    }
    const unread = sockets.slice(-6)
    for (const socket of unread) socket.resume()
    await until(() => closed.length >= 5)
    expect(closed.every((i) => i < 5)).toBe(true)
    // Read or not, the memory of each is freed; a loop of answers that are read is never refused.
    for (let i = 0; i < 5; i++) expect((await send(greedy, "GET", path)).text.length).toBe(whole.text.length)
    for (const socket of unread) socket.destroy()
    await until(async () => (await upsert(greedy, document("large", 3 * MEGABYTE))).status === 201)
    expect(program.stderr()).toContain("one of")
  })
})
