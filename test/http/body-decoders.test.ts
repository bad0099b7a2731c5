/**
 * Decoders hold native memory that the garbage collector does not see: counts how many a body creates, and that each is
 * closed.
 */
import { createServer, request, type Server } from "node:http"
import { type AddressInfo, connect } from "node:net"
import type { Transform } from "node:stream"
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { bodyBytes, bodyStream } from "../../src/http/body.ts"
import { RequestMemory } from "../../src/http/request-memory.ts"

const counts = vi.hoisted(() => ({ streams: 0, open: 0, whole: 0 }))
vi.mock("node:zlib", async (original) => {
  const zlib = await original<Record<string, unknown>>()
  const streamed = (create: () => Transform) => () => {
    counts.streams++
    counts.open++
    return create().once("close", () => {
      counts.open--
    })
  }
  const whole =
    (decode: (...args: ReadonlyArray<unknown>) => unknown) =>
    (...args: ReadonlyArray<unknown>) => {
      counts.whole++
      return decode(...args)
    }
  const counted: Record<string, unknown> = { ...zlib }
  for (const [name, made] of Object.entries(zlib)) {
    if (/^create(Gunzip|Inflate|BrotliDecompress|ZstdDecompress)$/.test(name))
      counted[name] = streamed(made as () => Transform)
    if (/^(gunzip|inflate|brotliDecompress|zstdDecompress)Sync$/.test(name))
      counted[name] = whole(made as () => unknown)
  }
  return counted
})

const memory = new RequestMemory()
const held = () => memory.open("")
let server: Server
let port: number
beforeAll(async () => {
  server = createServer((request, response) => {
    const read =
      request.url === "/streamed"
        ? Effect.flatMap(bodyStream(request, held), (stream) =>
            Effect.promise(async () => {
              try {
                let size = 0
                for await (const chunk of stream) size += (chunk as Buffer).length
                return String(size)
              } catch (error) {
                return String(error)
              }
            })
          )
        : Effect.map(bodyBytes(request, 200_000, held), (bytes) => String(bytes.length))
    void Effect.runPromise(
      Effect.match(read, {
        onSuccess: (text) => text,
        onFailure: (error) => (error._tag === "Throttled" ? error.message : error.issues[0]!.message)
      })
    ).then((text) => response.end(text))
  })
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const send = (path: string, bytes: Buffer, encoding: string, isChunked: boolean) =>
  new Promise<string>((settle, reject) => {
    const sent = request(
      {
        port,
        path,
        method: "POST",
        headers: { "content-encoding": encoding, ...(isChunked ? {} : { "content-length": bytes.length }) }
      },
      (response) => {
        let text = ""
        response
          .on("data", (chunk: Buffer) => {
            text += chunk.toString()
          })
          .on("end", () => settle(text))
      }
    ).on("error", reject)
    if (isChunked) sent.write(bytes)
    sent.end(isChunked ? undefined : bytes)
  })
const plain = Buffer.from("0123456789".repeat(10_000))
const large = Buffer.alloc(30_000_000)
const counting = async (run: () => Promise<unknown>) => {
  const { streams, whole } = counts
  const answer = await run()
  await expect.poll(() => counts.open, { timeout: 60_000 }).toBe(0)
  return { answer, streams: counts.streams - streams, whole: counts.whole - whole }
}

describe("decoders of a compressed body", () => {
  for (const [encoding, compress] of [
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", (bytes: Buffer) => brotliCompressSync(bytes, { params: { 0: 0, 1: 3 } })]
  ] as const) {
    it(`of ${encoding} are one, in one piece where its length is known and small, and closed however it ends`, async () => {
      const bytes = compress(plain),
        bomb = compress(large)
      expect(await counting(() => send("/", bytes, encoding, false))).toEqual({
        answer: "100000",
        streams: 0,
        whole: 1
      })
      expect(await counting(() => send("/", bytes, encoding, true))).toEqual({ answer: "100000", streams: 1, whole: 0 })
      expect(await counting(() => send("/streamed", bytes, encoding, false))).toEqual({
        answer: "100000",
        streams: 1,
        whole: 0
      })
      expect(await counting(() => send("/", bytes.subarray(0, -3), encoding, true))).toMatchObject({
        answer: expect.stringMatching(/could not be read/),
        streams: 1
      })
      expect(await counting(() => send("/streamed", bytes.subarray(0, -3), encoding, true))).toMatchObject({
        answer: expect.stringMatching(/Error/),
        streams: 1
      })
      expect(await counting(() => send("/", Buffer.from("no such text".repeat(100)), encoding, true))).toMatchObject({
        answer: expect.stringMatching(/could not be read/),
        streams: 1
      })
      expect(await counting(() => send("/", bomb, encoding, true))).toMatchObject({
        answer: expect.stringMatching(/larger than/),
        streams: 1
      })
    })
    it(`of ${encoding} are closed when the sender disconnects`, async () => {
      const bytes = compress(plain)
      const { streams } = await counting(async () => {
        const { streams } = counts
        for (const path of ["/", "/streamed"]) {
          const socket = connect(port, "127.0.0.1", () =>
            socket.write(
              Buffer.concat([
                Buffer.from(
                  `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-encoding: ${encoding}\r\ncontent-length: 100000\r\n\r\n`
                ),
                bytes.subarray(0, bytes.length >> 1)
              ])
            )
          )
          socket.on("error", () => {})
          await expect.poll(() => counts.streams - streams).toBe(path === "/" ? 1 : 2)
          socket.destroy()
        }
      })
      expect(streams).toBe(2)
    })
  }
})
