/**
 * Uploaded feeds: raw, and resumable by the stock tus client over a connection that breaks; what is refused before a
 * byte of the body is read; what is left on disk afterwards.
 */
import { createHash } from "node:crypto"
import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, expect, it } from "vitest"
import { preparePostgres } from "../support/prepared-postgres.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

let program: Program, tenant: Tenant, folder: string
const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  program.request(method, path, { key: tenant.full_key, headers, ...(body === undefined ? {} : { body }) })
const over = (id: string) =>
  eventually(`the end of ${id}`, async () => {
    const { body } = await send("GET", `/v1/ingest/jobs/${id}`)
    return body.finished_at === undefined ? undefined : body
  })
const files = () => {
  try {
    return readdirSync(join(folder, "data", "feeds"))
  } catch {
    return []
  }
}
const count = async (name: string) => (await send("GET", `/v1/collections/${name}`)).body.num_documents
const lines = (n: number) =>
  Array.from({ length: n }, (_, i) => JSON.stringify({ id: `d${i}`, title: `Thing ${i} ${"x".repeat(80)}` })).join("\n")
const V = { "tus-resumable": "1.0.0" }

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dowser-uploads-"))
  await preparePostgres(join(folder, "data", "postgres"))
  program = await startProgram({ dataFolder: join(folder, "data") })
  tenant = await program.tenant("Uploads")
  for (const name of ["raw", "resumed", "parts"])
    await send("POST", "/v1/collections", { name, fields: [{ name: "title", type: "string" }] })
})
afterAll(async () => {
  await program.stop()
  rmSync(folder, { recursive: true, force: true })
})

it("turns a feed in one body into a job, plain or compressed, and leaves no file", async () => {
  for (const [body, headers] of [
    [lines(2_000), {}],
    [gzipSync(lines(2_100)), {}],
    [gzipSync(lines(2_200)), { "content-encoding": "gzip" }]
  ] as const) {
    const answer = await send("POST", "/v1/ingest/feeds?collection=raw&format=jsonl&name=Raw", body, headers)
    expect([answer.status, answer.body.source, answer.body.name]).toEqual([202, "jsonl", "Raw"])
    expect((await over(answer.body.id)).status).toBe("ready")
  }
  expect(await count("raw")).toBe(2_200)
  await eventually("no file", () => Promise.resolve(files().length === 0 ? true : undefined))
})

it("refuses a body that is too long, or does not declare its length, before it is read", async () => {
  /** Sends only the head; returns the status of the answer. */
  const asked = (headers: Record<string, string>, path = "/v1/ingest/feeds?collection=raw&format=csv") =>
    new Promise<number>((settle, reject) => {
      const request = httpRequest(`${program.base}${path}`, {
        method: "POST",
        headers: { "x-svc-api-key": tenant.full_key, ...headers }
      })
      request.on("response", (response) => {
        settle(response.statusCode!)
        request.destroy()
      })
      request.on("error", reject)
      request.flushHeaders()
    })
  expect(await asked({ "transfer-encoding": "chunked" })).toBe(411)
  expect(await asked({ "content-length": "500000001" })).toBe(413)
  expect(await asked({ "content-length": "10" }, "/v1/ingest/feeds?collection=nowhere&format=csv")).toBe(404)
  expect(await asked({ "content-length": "10" }, "/v1/ingest/feeds?collection=raw&format=xls")).toBe(400)
  const begun = (length: string) =>
    send("POST", "/v1/ingest/uploads?collection=raw&format=csv", undefined, { ...V, "upload-length": length })
  expect((await begun("500000001")).status).toBe(413)
  // Four of half a gigabyte are all that an organization may announce.
  const kept = await Promise.all([1, 2, 3, 4, 5].map(() => begun("500000000")))
  expect(kept.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 409])
  for (const { headers, status } of kept)
    if (status === 201) expect((await send("DELETE", headers.get("location")!, undefined, V)).status).toBe(204)
  expect((await begun("5")).status).toBe(201)
})

it("leaves neither a job nor a file of a body that breaks off", async () => {
  const before = (await send("GET", "/v1/ingest/jobs")).body.data.length
  const socket = connect(Number(new URL(program.base).port), "127.0.0.1")
  socket.write(
    `POST /v1/ingest/feeds?collection=raw&format=jsonl HTTP/1.1\r\nhost: x\r\nx-svc-api-key: ${tenant.full_key}\r\ncontent-length: 100000\r\n\r\n${"x".repeat(5_000)}`
  )
  await eventually("the file", () => Promise.resolve(files().length > 0 ? true : undefined))
  socket.destroy()
  await eventually("no file", () => Promise.resolve(files().length === 0 ? true : undefined))
  expect((await send("GET", "/v1/ingest/jobs")).body.data.length).toBe(before)
})

it("reports a complete upload as such until it is removed, however soon its job is over", async () => {
  const body = "title\nx\n"
  for (let round = 0; round < 10; round++) {
    const begun = await send("POST", "/v1/ingest/uploads?collection=raw&format=csv", undefined, {
      ...V,
      "upload-length": String(body.length)
    })
    const path = begun.headers.get("location")!
    const headers = { ...V, "upload-offset": "0", "content-type": "application/offset+octet-stream" }
    const sent = await send("PATCH", path, body, headers)
    expect([sent.status, sent.headers.get("x-ingest-job")]).toEqual([204, expect.stringMatching(/^job_/)])
    for (let answer = await send("GET", path); answer.status !== 404; answer = await send("GET", path))
      expect([answer.status, answer.body.offset, answer.body.job_id]).toEqual([
        200,
        body.length,
        sent.headers.get("x-ingest-job")
      ])
  }
})

it("resumes an upload of the stock client whose connection breaks, and one job imports it once", async () => {
  const target = Number(new URL(program.base).port)
  let breaks = 3
  const open = new Set<Socket>()
  const proxy = createServer((near) => {
    const far = connect(target, "127.0.0.1")
    open.add(near).add(far)
    let passed = 0,
      isBroken = false
    const end = () => {
      near.destroy()
      far.destroy()
    }
    near.on("data", (piece: Buffer) => {
      far.write(piece)
      passed += piece.length
      if (passed > 100_000 && breaks > 0 && !isBroken) {
        isBroken = true
        breaks--
        // Data already passed on is delivered first.
        setTimeout(end, 50)
        near.pause()
      }
    })
    far.on("data", (piece) => near.write(piece))
    for (const each of [near, far]) each.on("error", end).on("close", end)
  })
  await new Promise<void>((settle) => proxy.listen(0, "127.0.0.1", settle))
  const { port } = proxy.address() as { port: number }
  const file = join(folder, "goods.jsonl")
  writeFileSync(file, lines(8_000))
  const client = spawn("node", [
    fileURLToPath(new URL("../support/tus-upload.mjs", import.meta.url)),
    `http://127.0.0.1:${port}/v1/ingest/uploads?collection=resumed&format=jsonl`,
    tenant.full_key,
    file
  ])
  let said = ""
  client.stdout.on("data", (piece: Buffer) => (said += piece.toString()))
  await new Promise((settle) => client.on("close", settle))
  const { job_id: jobId, retried } = JSON.parse(said)
  expect([breaks, retried]).toEqual([0, expect.any(Number)])
  expect(retried).toBeGreaterThanOrEqual(3)
  const ended = await over(jobId)
  expect(ended).toMatchObject({ status: "ready", stats: { imported: 8_000, failed: 0 } })
  expect(await count("resumed")).toBe(8_000)
  for (const socket of open) socket.destroy()
  await new Promise((settle) => proxy.close(settle))
})

it("holds parts to the protocol: version, offset, checksum, and the last one starts the job", async () => {
  const text = lines(50)
  const half = 2_000
  const query = "/v1/ingest/uploads?collection=parts&format=jsonl"
  expect((await send("POST", query, undefined, { "upload-length": "9" })).status).toBe(412)
  expect((await send("POST", query, undefined, V)).status).toBe(411)
  const begun = await send("POST", query, undefined, {
    ...V,
    "upload-length": String(text.length),
    "upload-metadata": "a Yg=="
  })
  const path = begun.headers.get("location")!
  const patch = (offset: number, body: string, headers: Record<string, string> = {}) =>
    send("PATCH", path, body, {
      ...V,
      "upload-offset": String(offset),
      "content-type": "application/offset+octet-stream",
      ...headers
    })
  const head = async () => {
    const answer = await fetch(`${program.base}${path}`, {
      method: "HEAD",
      headers: { "x-svc-api-key": tenant.full_key, ...V }
    })
    return [
      answer.status,
      answer.headers.get("upload-offset"),
      answer.headers.get("cache-control"),
      answer.headers.get("upload-metadata")
    ]
  }
  expect(await head()).toEqual([200, "0", "no-store", "a Yg=="])
  expect((await patch(5, "x")).status).toBe(409)
  const sha1 = (body: string) => `sha1 ${createHash("sha1").update(body).digest("base64")}`
  expect((await patch(0, text.slice(0, half), { "upload-checksum": sha1("other") })).status).toBe(460)
  expect((await head())[1]).toBe("0")
  expect((await patch(0, text.slice(0, half), { "upload-checksum": sha1(text.slice(0, half)) })).status).toBe(204)
  expect((await head())[1]).toBe(String(half))
  expect((await patch(half, `${text.slice(half)}and more`)).status).toBe(413)
  expect((await head())[1]).toBe(String(half))
  const last = await patch(half, text.slice(half))
  expect([last.status, last.headers.get("upload-offset")]).toEqual([204, String(text.length)])
  const jobId = last.headers.get("x-ingest-job")!
  expect((await over(jobId)).stats.imported).toBe(50)
  expect(
    (await send("GET", `/v1/ingest/jobs?limit=250`)).body.data.filter(({ collection }: any) => collection === "parts")
      .length
  ).toBe(1)
})

it("bounds announced uploads in bytes and number, for each organization separately", async () => {
  const large = await program.tenant("Large feeds")
  const many = await program.tenant("Many feeds")
  const announce = async (owner: Tenant, length: number) => {
    const headers = { ...V, "upload-length": String(length) }
    const path = "/v1/ingest/uploads?collection=fresh&format=csv&create_collection=true"
    const { status } = await program.request("POST", path, { key: owner.full_key, headers })
    return status
  }
  const statuses: Array<number> = []
  for (let i = 0; i < 5; i++) statuses.push(await announce(large, 500_000_000))
  expect(statuses).toEqual([201, 201, 201, 201, 409])
  for (let i = 0; i < 200; i++) expect(await announce(many, 1)).toBe(201)
  expect(await announce(many, 1)).toBe(409)
})
