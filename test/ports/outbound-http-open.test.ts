/**
 * Answers that are read in pieces: what they may cost, what a redirect may do, and how large a small compressed answer
 * may become. Receivers are real servers on loopback.
 */
import { it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { describe, expect } from "vitest"
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { decoded } from "../../src/ports/outbound-http/decode.ts"
import { openFollowing } from "../../src/ports/outbound-http/follow.ts"
import { layer } from "../../src/ports/outbound-http/node.ts"
import { OutboundHttp, type OutboundOpening } from "../../src/ports/outbound-http/outbound-http.ts"
import { type Behaviour, startReceiver } from "../support/receiver.ts"

const allowing = layer({ allowPrivateAddresses: true })
const receiver = (answer: number | Behaviour = 200) =>
  Effect.acquireRelease(
    Effect.promise(() => startReceiver(answer)),
    (running) => Effect.promise(running.stop)
  )
const BOUNDS = { timeout_ms: 5_000, total_ms: 10_000, silence_ms: 2_000, responseBytesMax: 100_000_000 }
const opening = (url: string, more: Partial<OutboundOpening> = {}): OutboundOpening => ({
  method: "GET",
  url,
  headers: {},
  ...BOUNDS,
  ...more
})
const open = (url: string, more: Partial<OutboundOpening> = {}) =>
  Effect.flatMap(OutboundHttp, (http) => http.open(opening(url, more)))
const follow = (url: string, headers: Record<string, string> = {}) =>
  Effect.flatMap(OutboundHttp, (http) => openFollowing(http, { url, headers, ...BOUNDS }))
const textOf = <E>(body: Stream.Stream<Uint8Array, E>) =>
  Effect.map(Stream.runCollect(body), (pieces) => Buffer.concat([...pieces]).toString())
const sizeOf = <E>(body: Stream.Stream<Uint8Array, E>) =>
  Stream.runFold(
    body,
    () => 0,
    (sum, { length }) => sum + length
  )
/** Writes without end, as fast as the other side reads, and counts what it wrote. */
const endless = (headers: Record<string, string> = {}) => {
  const counted = { bytes: 0, isClosed: false }
  const answer: Behaviour = (response) => {
    response.on("close", () => {
      counted.isClosed = true
    })
    response.writeHead(200, headers)
    const piece = Buffer.alloc(65_536, 120)
    const more = () => {
      do counted.bytes += piece.length
      while (response.writable && response.write(piece))
      if (response.writable) response.once("drain", more)
    }
    more()
  }
  return { answer, counted }
}

describe("an answer in pieces", () => {
  it.live("arrives whole, with status and headers, and its connection serves the next call", () =>
    Effect.gen(function* () {
      const sockets = new Set<unknown>()
      const target = yield* receiver((response, _received, request) => {
        sockets.add(request.socket)
        response.writeHead(203, { "x-kind": "page" })
        response.write("one ")
        setTimeout(() => response.end("two"), 20)
      })
      for (let i = 0; i < 3; i++) {
        const got = yield* Effect.scoped(
          Effect.flatMap(open(target.url), ({ body, headers, status }) =>
            Effect.map(textOf(body), (text) => [status, headers["x-kind"], text])
          )
        )
        expect(got).toEqual([203, "page", "one two"])
        yield* Effect.sleep(20)
      }
      expect(sockets.size).toBe(1)
    }).pipe(Effect.scoped, Effect.provide(allowing))
  )
  it.live("is read no faster than it is consumed, and not beyond its scope", () =>
    Effect.gen(function* () {
      const { answer, counted } = endless()
      const target = yield* receiver(answer)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { body } = yield* open(target.url)
          expect(yield* sizeOf(Stream.take(body, 1))).toBeGreaterThan(0)
        })
      )
      yield* Effect.sleep(200)
      expect(counted.isClosed).toBe(true)
      yield* Effect.scoped(
        Effect.gen(function* () {
          counted.bytes = 0
          counted.isClosed = false
          yield* open(target.url)
          yield* Effect.sleep(500)
          // The buffers of two sockets hold this much, and no more is written.
          expect(counted.bytes).toBeLessThan(20_000_000)
          expect(counted.isClosed).toBe(false)
        })
      )
      yield* Effect.sleep(200)
      expect(counted.isClosed).toBe(true)
    }).pipe(Effect.scoped, Effect.provide(allowing))
  )
  it.live("fails at its bound of bytes, of silence and of time, and where it breaks off", () =>
    Effect.gen(function* () {
      const { answer, counted } = endless()
      const target = yield* receiver(answer)
      const outcome = (more: Partial<OutboundOpening> = {}) =>
        Effect.scoped(
          Effect.flatMap(open(target.url, more), ({ body, status }) =>
            Effect.map(Effect.flip(sizeOf(body)), ({ kind, message }) => [status, kind, message])
          )
        )
      expect(yield* outcome({ responseBytesMax: 1_000_000 })).toEqual([
        200,
        "too_large",
        "The answer has more than 1000000 bytes"
      ])
      yield* Effect.sleep(100)
      expect(counted.isClosed).toBe(true)
      target.answer = (response) => {
        response.writeHead(200)
        response.write("part")
      }
      expect(yield* outcome({ silence_ms: 200 })).toEqual([200, "timeout", "The answer stood still for 0.2 s"])
      // An occasional byte prevents the timeout for silence, but not the one for the whole answer.
      target.answer = (response) => {
        response.writeHead(200)
        const timer = setInterval(() => response.write("."), 20)
        response.on("close", () => clearInterval(timer))
      }
      const began = performance.now()
      expect(yield* outcome({ silence_ms: 200, total_ms: 600 })).toEqual([
        200,
        "timeout",
        "The answer did not end within 0.6 s"
      ])
      expect(performance.now() - began).toBeLessThan(2_000)
      target.answer = (response) => {
        response.writeHead(200, { "content-length": "1000" })
        response.write("part")
        setTimeout(() => response.socket?.destroy(), 20)
      }
      expect((yield* outcome()).slice(0, 2)).toEqual([200, "connection"])
    }).pipe(Effect.scoped, Effect.provide(allowing))
  )
  it.live("of an absent server, or of an address that must not be called, has no status", () =>
    Effect.gen(function* () {
      const silent = yield* receiver(() => {})
      expect((yield* Effect.flip(Effect.scoped(open(silent.url, { timeout_ms: 200 })))).kind).toBe("timeout")
      expect(
        (yield* Effect.flip(Effect.scoped(open(silent.url))).pipe(
          Effect.provide(layer({ allowPrivateAddresses: false }))
        )).kind
      ).toBe("refused_address")
      expect(silent.received.length).toBe(1)
    }).pipe(Effect.scoped, Effect.provide(allowing))
  )
})

describe("redirects that are followed", () => {
  it.live("lead on five times, each checked, and credentials stay with the first origin", () =>
    Effect.gen(function* () {
      const away = yield* receiver((response) => response.end("away"))
      const home = yield* receiver((response, _received, request) => {
        const step = Number(request.url?.slice(1))
        if (request.url === "/away") response.writeHead(302, { location: away.url }).end()
        else if (step > 0) response.writeHead(301, { location: `/${step - 1}` }).end("moved")
        else response.end("there")
      })
      const origin = new URL(home.url).origin
      const own = { authorization: "Bearer x", "user-agent": "Crawler", "if-none-match": '"1"' }
      const there = yield* Effect.scoped(
        Effect.flatMap(follow(`${origin}/5`, own), ({ body, url }) => Effect.map(textOf(body), (text) => [url, text]))
      )
      expect(there).toEqual([`${origin}/0`, "there"])
      expect(home.received.map(({ headers }) => [headers.authorization, headers["if-none-match"]])).toEqual([
        ["Bearer x", '"1"'],
        ...Array.from({ length: 5 }, () => ["Bearer x", undefined])
      ])
      expect((yield* Effect.flip(Effect.scoped(follow(`${origin}/6`)))).message).toMatch(/^More than 5 redirects/)
      yield* Effect.scoped(follow(`${origin}/away`, own))
      expect(away.received.map(({ headers }) => [headers.authorization, headers["user-agent"]])).toEqual([
        [undefined, "Crawler"]
      ])
    }).pipe(Effect.scoped, Effect.provide(allowing))
  )
  it.live("are refused if they lead to no web address, to a URL with a password, or in circles", () =>
    Effect.gen(function* () {
      const target = yield* receiver()
      const { host } = new URL(target.url)
      for (const location of ["file:///etc/passwd", "http://", `http://user:secret@${host}/`, "/again"]) {
        target.answer = (response) => response.writeHead(302, { location }).end()
        expect([location, (yield* Effect.flip(Effect.scoped(follow(target.url)))).kind]).toEqual([
          location,
          "refused_redirect"
        ])
      }
      expect((yield* Effect.flip(Effect.scoped(follow(`http://user:secret@${host}/`)))).kind).toBe("refused_redirect")
    }).pipe(Effect.scoped, Effect.provide(allowing))
  )
})

describe("a compressed answer", () => {
  const packed = (bytes: Uint8Array, encoding: string | undefined, bytesMax = 10_000_000, unpacksFiles = false) =>
    decoded(Stream.fromIterable([bytes.subarray(0, 1), bytes.subarray(1)]), { encoding, bytesMax, unpacksFiles })
  it.live("is decompressed as its sender declares, or by its first bytes where a file may be compressed", () =>
    Effect.gen(function* () {
      const text = "Lamps, ".repeat(100)
      for (const [encoding, bytes] of [
        [undefined, Buffer.from(text)],
        ["identity", Buffer.from(text)],
        ["gzip", gzipSync(text)],
        ["X-GZIP", gzipSync(text)],
        ["deflate", deflateSync(text)],
        ["br", brotliCompressSync(text)]
      ] as const)
        expect([encoding, yield* textOf(packed(bytes, encoding))]).toEqual([encoding, text])
      expect(
        yield* textOf(decoded(Stream.succeed(deflateRawSync(text)), { encoding: "deflate", bytesMax: 10_000 }))
      ).toBe(text)
      expect(yield* textOf(packed(gzipSync(text), undefined, 10_000, true))).toBe(text)
      expect(yield* textOf(packed(gzipSync(gzipSync(text)), "gzip", 10_000, true))).toBe(text)
      expect(yield* textOf(packed(Buffer.alloc(0), "gzip"))).toBe("")
    })
  )
  it.live("is a failure if it cannot be decompressed, and ends at both bounds", () =>
    Effect.gen(function* () {
      const failed = (body: ReturnType<typeof packed>) =>
        Effect.map(Effect.flip(sizeOf(body)), ({ kind, message }) => `${kind}: ${message}`)
      expect(yield* failed(packed(Buffer.from("no gzip at all"), "gzip"))).toMatch(/^undecodable: /)
      expect(yield* failed(packed(gzipSync("cut off".repeat(90)).subarray(0, 20), "gzip"))).toMatch(/^undecodable: /)
      expect(yield* failed(packed(Buffer.from("x"), "zip"))).toMatch(/^undecodable: .*packed as zip/)
      expect(yield* failed(packed(gzipSync("x"), "gzip, gzip"))).toMatch(/^undecodable: /)
      const bomb = gzipSync(Buffer.alloc(200_000_000))
      expect(bomb.length).toBeLessThan(210_000)
      const before = process.memoryUsage().rss
      expect(yield* failed(packed(bomb, "gzip", 1_000_000_000))).toBe(
        "too_large: The answer is more than 100 times as long unpacked as it was sent"
      )
      expect(yield* failed(packed(bomb, "gzip", 500_000))).toBe(
        "too_large: Unpacked, the answer has more than 500000 bytes"
      )
      expect(yield* failed(packed(bomb, undefined, 500_000, true))).toMatch(/^too_large: /)
      expect((process.memoryUsage().rss - before) / 1e6).toBeLessThan(100)
      // A text of one repeated letter is not a bomb while it is short.
      expect(yield* sizeOf(packed(gzipSync("a".repeat(900_000)), "gzip"))).toBe(900_000)
    })
  )
})
