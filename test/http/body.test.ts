/**
 * Bodies that end badly, on a server of their own: checks the error, that nothing waits for ever, and that the process
 * survives.
 */
import { createServer, request, type Server } from "node:http"
import { type AddressInfo, connect } from "node:net"
import type { Transform } from "node:stream"
import * as zlib from "node:zlib"
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Effect } from "effect"
import { bodyBytes, bodyStream, isStorable, textOf, unstorablePath } from "../../src/http/body.ts"
import { RequestMemory } from "../../src/http/request-memory.ts"

const memory = new RequestMemory()
const held = () => memory.open("")
let server: Server
let port: number
beforeAll(async () => {
  server = createServer((request, response) => {
    // A handler that takes the stream and reads it later, or never.
    if (request.url === "/streamed") {
      return void Effect.runPromise(bodyStream(request, held))
        .then(async (stream) => {
          let size = 0
          for await (const chunk of stream) size += (chunk as Buffer).length
          response.end(String(size))
        })
        .catch((error: Error) => response.end(`failed: ${error.message}`))
    }
    if (request.url === "/silent") {
      return void Effect.runPromise(bodyStream(request, held, { silence_ms: 300 }))
        .then(async (stream) => {
          for await (const chunk of stream) silent.push(String(chunk))
          response.end("{}")
        })
        .catch((error: Error) => {
          silent.push(`failed: ${error.message}`)
        })
    }
    if (request.url === "/unread")
      return void Effect.runPromise(bodyStream(request, held)).then(() => setTimeout(() => response.end("{}"), 50))
    void Effect.runPromise(
      Effect.match(
        bodyBytes(request, request.url === "/large" ? 1_000_000 : 1_000, held, { time_ms: 200, lingers_ms: 200 }),
        {
          onSuccess: (bytes) => String(bytes.length),
          onFailure: (error) => (error._tag === "Throttled" ? error.message : error.issues[0]!.message)
        }
      )
    ).then((text) => response.end(text))
  })
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** What `/silent` has read. */
const silent: Array<string> = []
const post = async (path: string, body: Uint8Array, headers: Record<string, string> = {}) =>
  (await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body: body as unknown as string, headers })).text()
/** Sends the head, then `drip` repeatedly; returns everything that was received until the other side closed. */
const dripping = (drip: string, length: number, { every_ms = 20, path = "/", times = Infinity } = {}) =>
  new Promise<string>((settle) => {
    let text = "",
      left = times,
      timer: ReturnType<typeof setInterval> | undefined
    // The first drip follows the head, however long connecting takes.
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n`)
      timer = setInterval(() => {
        if (left-- > 0) socket.write(drip)
      }, every_ms)
    })
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString()
    })
    socket.on("error", () => {})
    socket.on("close", () => {
      clearInterval(timer)
      settle(text)
    })
  })

const { zstdCompressSync } = zlib as { readonly zstdCompressSync?: (bytes: Uint8Array) => Buffer }
const text = Buffer.from(
  Array.from({ length: 60 }, (_, n) => `{"id":"d${n}","n":${Math.imul(n, 2654435761)}}`).join("\n")
).subarray(0, 990)
const compressed: ReadonlyArray<readonly [string, Buffer]> = [
  ["gzip", gzipSync(text)],
  ["deflate", deflateSync(text)],
  ["br", brotliCompressSync(text)],
  ...(zstdCompressSync === undefined ? [] : [["zstd", zstdCompressSync(text)] as const])
]
/** Sends each part in its own write, chunked, so that no header says how much will come. */
const postParts = (path: string, parts: ReadonlyArray<Uint8Array>, encoding: string) =>
  new Promise<string>((settle, reject) => {
    const sent = request({ port, path, method: "POST", headers: { "content-encoding": encoding } }, (response) => {
      let text = ""
      response
        .on("data", (chunk: Buffer) => {
          text += chunk.toString()
        })
        .on("end", () => settle(text))
    }).on("error", reject)
    for (const part of parts) sent.write(part)
    sent.end()
  })
const halves = (bytes: Buffer) =>
  bytes.length < 2
    ? [bytes].filter(({ length }) => length > 0)
    : [bytes.subarray(0, bytes.length >> 1), bytes.subarray(bytes.length >> 1)]

describe("a compressed body", () => {
  for (const [encoding, whole] of compressed) {
    it(`in ${encoding} is refused wherever it was cut, in one piece and as a stream`, async () => {
      expect(await post("/", whole, { "content-encoding": encoding })).toBe("990")
      for (const path of ["/", "/streamed"]) expect(await postParts(path, halves(whole), encoding)).toBe("990")
      for (let cut = 0; cut < whole.length; cut += cut < 20 || cut > whole.length - 20 ? 1 : 17) {
        const part = whole.subarray(0, cut)
        expect(await post("/", part, { "content-encoding": encoding }), `whole, ${cut} of ${whole.length}`).toMatch(
          /^The body could not be read/
        )
        expect(await postParts("/", halves(part), encoding), `in parts, ${cut} of ${whole.length}`).toMatch(
          /^The body could not be read/
        )
        expect(await postParts("/streamed", halves(part), encoding), `streamed, ${cut} of ${whole.length}`).toMatch(
          /^failed: /
        )
      }
    })
    it(`in ${encoding} loses nothing that follows its end`, async () => {
      for (const more of [Buffer.from("junk"), Buffer.from("\n"), whole]) {
        const both = Buffer.concat([whole, more])
        // Several gzip members or zstd frames in a row are one text.
        const isText = (encoding === "gzip" || encoding === "zstd") && more === whole
        for (const path of ["/", "/streamed"]) {
          for (const parts of [[both], [whole, more], halves(both)]) {
            const answer = await postParts(path, parts, encoding)
            if (isText) expect(answer).toBe(path === "/" ? "The body is larger than 1000 bytes" : "1980")
            else expect(answer).toMatch(/^The body could not be read|^failed: /)
          }
        }
        expect(await post("/", both, { "content-encoding": encoding })).toMatch(
          isText ? /is larger/ : /^The body could not be read/
        )
      }
    })
  }
  it.skipIf(zstdCompressSync === undefined)(
    "in zstd is refused where its decoder would have to keep more than 8 MB",
    async () => {
      const { createZstdCompress } = zlib as { readonly createZstdCompress?: (options: object) => Transform }
      const { ZSTD_c_windowLog } = zlib.constants as unknown as { readonly ZSTD_c_windowLog: number }
      for (const [windowLog, isTaken] of [
        [23, true],
        [24, false],
        [27, false]
      ] as const) {
        const compress = createZstdCompress!({ params: { [ZSTD_c_windowLog]: windowLog } })
        // The encoder must not know the length, or the frame would declare a window of only that size.
        compress.write(text)
        await new Promise<void>((settle) =>
          (compress as unknown as { readonly flush: (done: () => void) => void }).flush(settle)
        )
        compress.end()
        const parts: Array<Buffer> = []
        for await (const part of compress) parts.push(part as Buffer)
        const told = isTaken ? /^990$/ : /could not be read|^failed: /
        expect(await post("/", Buffer.concat(parts), { "content-encoding": "zstd" })).toMatch(told)
        expect(await postParts("/streamed", parts, "zstd")).toMatch(told)
      }
    }
  )
  it("that is cut off with its connection fails where it is read", async () => {
    for (const [encoding, whole] of compressed) {
      const large = Buffer.concat([whole, Buffer.alloc(200_000)])
      await new Promise<void>((settle) => {
        const socket = connect(port, "127.0.0.1", () => {
          socket.write(
            Buffer.concat([
              Buffer.from(
                `POST /streamed HTTP/1.1\r\nhost: a\r\ncontent-encoding: ${encoding}\r\ncontent-length: ${large.length}\r\n\r\n`
              ),
              whole
            ]),
            () => {
              socket.destroy()
              settle()
            }
          )
        })
        socket.on("error", () => {})
      })
    }
    expect(await post("/", Buffer.alloc(10))).toBe("10")
  })
})

describe("a body", () => {
  it("that is truncated is refused as such, and one that nobody reads ends nothing", async () => {
    const whole = gzipSync("x".repeat(500))
    expect(await post("/", whole, { "content-encoding": "gzip" })).toBe("500")
    for (const size of [0, 1, 12, whole.length - 1]) {
      expect(await post("/", whole.subarray(0, size), { "content-encoding": "gzip" })).toMatch(
        /could not be read|ended early/
      )
      expect(await post("/unread", whole.subarray(0, size), { "content-encoding": "gzip" })).toBe("{}")
    }
    expect(await post("/", Buffer.alloc(1_000))).toBe("1000")
  })
  it("that arrives at 16 kB a second gets the time that it needs", async () => {
    // By then 40,000 bytes have arrived, which grants more than two additional seconds.
    const answer = dripping("x".repeat(40_000), 120_000, { path: "/large", every_ms: 150, times: 3 })
    expect(await answer).toContain("120000")
  })
  it("that is read as a stream fails when its sender goes silent, and not while pieces arrive", async () => {
    const text = dripping("abc", 900, { path: "/silent", every_ms: 100, times: 10 })
    await text
    expect(silent.slice(0, -1).join("")).toBe("abc".repeat(10))
    expect(silent.at(-1)).toContain("no more of it arrived within 0.3 seconds")
  })
  it("that does not arrive in its time is refused, and its connection closed", async () => {
    expect(await dripping("x", 900)).toContain("The body did not arrive within 0.2 seconds")
  })
  it("that is larger than its bound is refused at once, and not read for ever", async () => {
    expect(await dripping("x".repeat(2_000), 100_000_000)).toContain("The body is larger than 1000 bytes")
    expect(await post("/", gzipSync(Buffer.alloc(50_000_000)), { "content-encoding": "gzip" })).toBe(
      "The body is larger than 1000 bytes"
    )
  })
  it("is read as the same text as before, whatever its bytes", () => {
    let seed = 7
    const byte = () => (seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0) >>> 24
    const parts = ["\ufeff", "é", "\ud83d\ude00", "{", "a", "\u2028"].map((part) => Buffer.from(part))
    for (let round = 0; round < 3_000; round++) {
      const bytes = Buffer.concat(
        Array.from({ length: byte() % 12 }, () =>
          byte() < 128 ? parts[byte() % parts.length]! : Buffer.from([byte()])
        )
      )
      expect(textOf(bytes)).toBe(bytes.toString("utf8"))
    }
  })
})

describe("bodies that arrive at the same time", () => {
  it("are each refused in their own time, and those that arrive are not", async () => {
    const slow = Array.from({ length: 5 }, () => dripping("x", 900))
    const quick = await Promise.all(Array.from({ length: 20 }, () => post("/", Buffer.alloc(500))))
    expect(new Set(quick)).toEqual(new Set(["500"]))
    for (const answer of await Promise.all(slow)) expect(answer).toContain("did not arrive within 0.2 seconds")
    expect(await post("/", Buffer.alloc(9))).toBe("9")
  })
})

describe("texts that cannot be stored", () => {
  it("are found with their path, in values and in keys", () => {
    expect(unstorablePath({ a: ["fine", { b: "x\u0000" }] })).toBe("a[1].b")
    expect(unstorablePath({ a: { "k\ud800": 1 } })).toBe("a.k\ufffd")
    expect(unstorablePath("\udc00")).toBe("")
    expect(unstorablePath({ a: [1, { b: Infinity }] })).toBe("a[1].b")
    expect(unstorablePath({ a: ["👍", null, 1, -1.7e308, true, {}] })).toBeUndefined()
    expect([isStorable("👍 é"), isStorable("a\u0000"), isStorable("\ud83d")]).toEqual([true, false, false])
  })
})
