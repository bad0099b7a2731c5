/**
 * Media over HTTP: content that is uploaded once, read whole and in part, refused before it is read, counted exactly.
 */
import { createHash, randomBytes } from "node:crypto"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { preparePostgres } from "../support/prepared-postgres.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually, type Receiver, startReceiver } from "../support/receiver.ts"

let program: Program, tenant: Tenant, other: Tenant, folder: string, receiver: Receiver
const send = (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
  key = tenant.full_key
) => program.request(method, path, { key, headers, ...(body === undefined ? {} : { body }) })
const made = async (body: object = {}, key = tenant.full_key): Promise<string> => {
  const answer = await send("POST", "/v1/media", body, {}, key)
  expect(answer.status, answer.text).toBe(201)
  return answer.body.id
}
const put = (id: string, bytes: Uint8Array, headers: Record<string, string> = {}, key = tenant.full_key) =>
  send("PUT", `/v1/media/${id}/content`, bytes, headers, key)
const read = async (id: string, headers: Record<string, string> = {}, key = tenant.full_key) => {
  const answer = await fetch(`${program.base}/v1/media/${id}/content`, {
    headers: { "x-svc-api-key": key, ...headers }
  })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}
const filesOf = ({ organization_id }: Tenant) => {
  try {
    return readdirSync(join(folder, "data", "media", organization_id))
  } catch {
    return []
  }
}
/** Sends only the head; returns the status of the answer. */
const asked = (id: string, headers: Record<string, string>) =>
  new Promise<number>((settle, reject) => {
    const request = httpRequest(`${program.base}/v1/media/${id}/content`, {
      method: "PUT",
      headers: { "x-svc-api-key": tenant.full_key, ...headers }
    })
    request.on("response", (response) => {
      settle(response.statusCode!)
      request.destroy()
    })
    request.on("error", reject)
    request.flushHeaders()
  })

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dowser-media-"))
  await preparePostgres(join(folder, "data", "postgres"))
  program = await startProgram({ dataFolder: join(folder, "data"), allowPrivateAddresses: true })
  tenant = await program.tenant("Media")
  other = await program.tenant("Other")
  receiver = await startReceiver()
})
afterAll(async () => {
  await program.stop()
  await receiver.stop()
  rmSync(folder, { recursive: true, force: true })
})

it("an asset is empty, gets its content once, is read as it was sent, and sends an event", async () => {
  await send("POST", "/v1/webhooks", { name: "w", url: receiver.url, events: ["media.uploaded"] })
  const created = await send("POST", "/v1/media", { filename: "lamp.png", content_type: "Image/PNG" })
  expect([created.status, created.body]).toMatchObject([
    201,
    { kind: "file", status: "empty", filename: "lamp.png", content_type: "image/png", size: 0, sha256: null }
  ])
  const { id } = created.body
  expect(id).toMatch(/^med_[0-9A-Z]{26}$/)
  expect((await read(id)).status).toBe(404)
  const bytes = randomBytes(700_001)
  const sha256 = createHash("sha256").update(bytes).digest("hex")
  const ready = await put(id, bytes)
  expect([ready.status, ready.body]).toMatchObject([200, { id, status: "ready", size: 700_001, sha256 }])
  expect(await put(id, bytes)).toMatchObject({ status: 409, body: { code: "CONFLICT" } })
  const whole = await read(id)
  expect([whole.status, whole.bytes.equals(bytes)]).toEqual([200, true])
  expect(Object.fromEntries(whole.headers)).toMatchObject({
    etag: `"${sha256}"`,
    "content-type": "image/png",
    "content-length": "700001",
    "accept-ranges": "bytes",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "content-disposition": "inline; filename=\"lamp.png\"; filename*=UTF-8''lamp.png"
  })
  const [event] = await receiver.until(1)
  expect(event!.json).toMatchObject({ data: { media_id: id, content_type: "image/png", size: 700_001 } })
  expect((await send("GET", `/v1/media/${id}`)).body).toEqual(ready.body)
})

it("is read in part by a client that has nothing of it, and not again by one that has it", async () => {
  const id = await made({ content_type: "video/mp4" })
  const bytes = randomBytes(300_000)
  const { sha256 } = (await put(id, bytes)).body
  const part = await read(id, { range: "bytes=100000-199999" })
  expect([part.status, part.headers.get("content-range"), part.bytes.equals(bytes.subarray(100_000, 200_000))]).toEqual(
    [206, "bytes 100000-199999/300000", true]
  )
  expect((await read(id, { range: "bytes=-1" })).bytes.equals(bytes.subarray(299_999))).toBe(true)
  const beyond = await read(id, { range: "bytes=300000-" })
  expect([beyond.status, beyond.headers.get("content-range"), JSON.parse(beyond.bytes.toString())]).toMatchObject([
    416,
    "bytes */300000",
    { defined: true, code: "BAD_REQUEST", status: 416, size: 300_000 }
  ])
  expect((await read(id, { range: "bytes=0-1", "if-range": '"other"' })).status).toBe(200)
  const known = await read(id, { "if-none-match": `"${sha256}"` })
  expect([known.status, known.bytes.length]).toEqual([304, 0])
})

it("content that a browser would execute is downloaded, whatever its name", async () => {
  for (const [content_type, sent] of [
    ["text/html", undefined],
    ["image/svg+xml", undefined],
    [undefined, "text/html"],
    [undefined, undefined]
  ] as const) {
    const id = await made(content_type === undefined ? {} : { content_type })
    await put(id, Buffer.from("<script>1</script>"), sent === undefined ? {} : { "content-type": sent })
    const answer = await read(id)
    expect(answer.headers.get("content-disposition"), String(content_type)).toBe("attachment")
    expect(answer.headers.get("content-security-policy")).toBe("default-src 'none'; sandbox")
    expect(answer.headers.get("content-type")).toBe(content_type ?? sent ?? "application/octet-stream")
  }
})

it("content too long, or without a declared length, is refused before it is read; a wrong length after", async () => {
  const id = await made()
  expect(await asked(id, { "transfer-encoding": "chunked" })).toBe(411)
  expect(await asked(id, { "content-length": "100000001" })).toBe(413)
  expect(await asked(id, { "content-length": "10", "content-encoding": "gzip" })).toBe(400)
  expect(await asked("med_none", { "content-length": "100000001" })).toBe(404)
  // A body that ends before its length: the connection is half closed.
  const { hostname, port } = new URL(program.base)
  const answer = await new Promise<string>((settle) => {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    let text = ""
    socket.on("data", (piece) => (text += piece.toString()))
    socket.on("close", () => settle(text))
    socket.on("error", () => settle(text))
    socket.end(
      `PUT /v1/media/${id}/content HTTP/1.1\r\nhost: x\r\nx-svc-api-key: ${tenant.full_key}\r\ncontent-length: 100\r\n\r\nshort`
    )
  })
  expect(answer === "" || answer.startsWith("HTTP/1.1 400")).toBe(true)
  expect((await send("GET", `/v1/media/${id}`)).body).toMatchObject({ status: "empty", size: 0 })
  // The refused upload left nothing behind: the asset accepts its content.
  await eventually("the claim's end", async () =>
    (await put(id, Buffer.from("right"))).status === 200 ? true : undefined
  )
})

it("names and types are limited to what headers can carry, all errors at once", async () => {
  const refused = await send("POST", "/v1/media", { filename: "a/b", content_type: "png", size: 3 })
  expect([refused.status, refused.body.data.issues.map(({ path }: { path: string }) => path).sort()]).toEqual([
    400,
    ["content_type", "filename", "size"]
  ])
  for (const filename of ["", " ", "a\u0000b", "a\nb", "x".repeat(256)])
    expect((await send("POST", "/v1/media", { filename })).status, filename).toBe(400)
})

it("lists by id, page by page, one organization's alone", async () => {
  const ids: Array<string> = []
  for (const n of [1, 2, 3, 4, 5]) ids.push(await made({ filename: `${n}.txt` }, other.full_key))
  const first = await send("GET", "/v1/media?limit=3", undefined, {}, other.full_key)
  const second = await send("GET", `/v1/media?limit=3&cursor=${first.body.next_cursor}`, undefined, {}, other.full_key)
  expect([...first.body.data, ...second.body.data].map(({ id }: { id: string }) => id)).toEqual([...ids].sort())
  expect(second.body.next_cursor).toBeUndefined()
  for (const path of [`/v1/media/${ids[0]}`, `/v1/media/${ids[0]}/content`])
    expect((await send("GET", path)).status).toBe(404)
  expect((await put(ids[0]!, Buffer.from("x"))).status).toBe(404)
  expect((await send("DELETE", `/v1/media/${ids[0]}`)).status).toBe(404)
  expect((await send("GET", "/v1/media", undefined, {}, tenant.search_key)).status).toBe(403)
})

it("deleting removes the bytes, including those being uploaded", async () => {
  const mine = await program.tenant("Deleting")
  const id = await made({}, mine.full_key)
  await put(id, randomBytes(1_000), {}, mine.full_key)
  expect(filesOf(mine)).toHaveLength(1)
  expect((await send("DELETE", `/v1/media/${id}`, undefined, {}, mine.full_key)).body).toEqual({ id })
  expect(filesOf(mine)).toEqual([])
  expect((await send("DELETE", `/v1/media/${id}`, undefined, {}, mine.full_key)).status).toBe(404)
  const slow = await made({}, mine.full_key)
  const request = httpRequest(`${program.base}/v1/media/${slow}/content`, {
    method: "PUT",
    headers: { "x-svc-api-key": mine.full_key, "content-length": "10" }
  })
  const status = new Promise<number>((settle) => void request.on("response", (answer) => settle(answer.statusCode!)))
  request.write("12345")
  await eventually("the first bytes", () => (filesOf(mine).length > 0 ? true : undefined))
  // No other caller may send it in the meantime.
  expect((await put(slow, Buffer.from("other"), {}, mine.full_key)).status).toBe(409)
  expect((await send("DELETE", `/v1/media/${slow}`, undefined, {}, mine.full_key)).status).toBe(200)
  request.end("67890")
  expect(await status).toBe(404)
  expect(filesOf(mine)).toEqual([])
})

it("a plan's bytes are counted from when they are announced, however many arrive at once", async () => {
  const free = await program.tenant("Free")
  await program.request("POST", `/console/v1/organizations/${free.organization_id}/plan`, {
    headers: { authorization: `Bearer ${program.operatorToken}` },
    body: { plan: "free" }
  })
  const ids: Array<string> = []
  for (let i = 0; i < 7; i++) ids.push(await made({}, free.full_key))
  // Announced, and nothing more is sent: five of a hundred megabytes are all that the free plan has.
  const requests = ids.map((id) => {
    const request = httpRequest(`${program.base}/v1/media/${id}/content`, {
      method: "PUT",
      headers: { "x-svc-api-key": free.full_key, "content-length": "100000000" }
    })
    request.on("error", () => {})
    const refusal = new Promise<number>((settle) => void request.on("response", (answer) => settle(answer.statusCode!)))
    request.write("x")
    return { request, refusal }
  })
  const refused: Array<number> = []
  for (const { refusal } of requests) void refusal.then((status) => refused.push(status))
  await eventually("two refusals", () => (refused.length === 2 ? true : undefined))
  expect(refused).toEqual([403, 403])
  await eventually("five under way", () => (filesOf(free).length === 5 ? true : undefined))
  for (const { request } of requests) request.destroy()
  // Aborted uploads release their room.
  await eventually("no file", () => (filesOf(free).length === 0 ? true : undefined))
  const answer = await eventually("room again", async () => {
    const put = await send("PUT", `/v1/media/${ids[0]}/content`, Buffer.alloc(3_000_000), {}, free.full_key)
    return put.status === 200 ? put : undefined
  })
  expect(answer.body.size).toBe(3_000_000)
})

it("the console reads what the API stores", async () => {
  const id = await made({ filename: "logo.png", content_type: "image/png" })
  await put(id, Buffer.from("logo"))
  const organization = `/console/v1/organizations/${tenant.organization_id}`
  const headers = { authorization: `Bearer ${program.operatorToken}` }
  const listed = await program.request("GET", `${organization}/media?limit=250`, { headers })
  expect(listed.body.data.map((asset: { id: string }) => asset.id)).toContain(id)
  const content = await fetch(`${program.base}${organization}/media/${id}/content`, { headers })
  expect([content.status, await content.text()]).toEqual([200, "logo"])
})
