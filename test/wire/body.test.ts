/** Bodies that end badly, on a server of their own: what is told, that nothing waits for ever, that nothing ends the process. */
import { createServer, type Server } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Effect } from "effect"
import { bodyBytes, bodyStream, isStorable, unstorablePath } from "../../src/wire/body.ts"

let server: Server
let port: number
beforeAll(async () => {
  server = createServer((request, response) => {
    // A handler that takes the stream and looks at it later, or never.
    if (request.url === "/unread") return void Effect.runPromise(bodyStream(request)).then(() => setTimeout(() => response.end("{}"), 50))
    void Effect.runPromise(Effect.match(bodyBytes(request, 1_000, { time_ms: 200, lingers_ms: 200 }), { onSuccess: (bytes) => String(bytes.length), onFailure: (error) => error.issues[0]!.message })).then((text) => response.end(text))
  })
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  port = (server.address() as AddressInfo).port
})
afterAll(() => { server.closeAllConnections(); server.close() })

const post = async (path: string, body: Uint8Array, headers: Record<string, string> = {}) => (await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body: body as unknown as string, headers })).text()
/** Sends a head, then `drip` again and again; everything that came until the other side closed. */
const dripping = (drip: string, length: number) => new Promise<string>((settle) => {
  let text = ""
  const socket = connect(port, "127.0.0.1", () => socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n`))
  const timer = setInterval(() => socket.write(drip), 20)
  socket.on("data", (chunk: Buffer) => { text += chunk.toString() })
  socket.on("error", () => {})
  socket.on("close", () => { clearInterval(timer); settle(text) })
})

describe("a body", () => {
  it("that is truncated is told so, and one that nobody reads ends nothing", async () => {
    const whole = gzipSync("x".repeat(500))
    expect(await post("/", whole, { "content-encoding": "gzip" })).toBe("500")
    for (const size of [0, 1, 12, whole.length - 1]) {
      expect(await post("/", whole.subarray(0, size), { "content-encoding": "gzip" })).toMatch(/could not be read|ended early/)
      expect(await post("/unread", whole.subarray(0, size), { "content-encoding": "gzip" })).toBe("{}")
    }
    expect(await post("/", Buffer.alloc(1_000))).toBe("1000")
  })
  it("that does not arrive in its time is refused, and its connection closed", async () => {
    expect(await dripping("x", 900)).toContain("The body did not arrive within 0.2 seconds")
  })
  it("that is larger than its bound is refused at once, and not read for ever", async () => {
    expect(await dripping("x".repeat(2_000), 100_000_000)).toContain("The body is larger than 1000 bytes")
    expect(await post("/", gzipSync(Buffer.alloc(50_000_000)), { "content-encoding": "gzip" })).toBe("The body is larger than 1000 bytes")
  })
})

describe("texts that cannot be stored", () => {
  it("are found with their path, in values and in keys", () => {
    expect(unstorablePath({ a: ["fine", { b: "x\u0000" }] })).toBe("a[1].b")
    expect(unstorablePath({ a: { "k\ud800": 1 } })).toBe("a.k\ufffd")
    expect(unstorablePath("\udc00")).toBe("")
    expect(unstorablePath({ a: ["👍", null, 1, true, {}] })).toBeUndefined()
    expect([isStorable("👍 é"), isStorable("a\u0000"), isStorable("\ud83d")]).toEqual([true, false, false])
  })
})
