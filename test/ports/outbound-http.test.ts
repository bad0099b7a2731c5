/**
 * Outbound calls: what may be reached, what an answer may cost, and the outcome for every kind of receiver. Receivers
 * are real servers on loopback.
 */
import { it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net"
import { describe, expect, it as plain } from "vitest"
import { OutboundHttp } from "../../src/ports/outbound-http/outbound-http.ts"
import { layer } from "../../src/ports/outbound-http/node.ts"
import { isPublicAddress } from "../../src/ports/outbound-http/public-address.ts"
import { type Behaviour, startReceiver } from "../support/receiver.ts"

const allowing = layer({ allowPrivateAddresses: true })
const strict = layer({ allowPrivateAddresses: false })
const call = (url: string, timeout_ms = 5_000) =>
  Effect.flatMap(OutboundHttp, (http) =>
    http.send({
      method: "POST",
      url,
      headers: { "content-type": "text/plain" },
      body: "hello",
      timeout_ms,
      responseBytesMax: 1_000
    })
  )
const receiver = (answer: number | Behaviour = 200) =>
  Effect.acquireRelease(
    Effect.promise(() => startReceiver(answer)),
    (running) => Effect.promise(running.stop)
  )
const tcp = (onSocket: (socket: Socket) => void) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<{ readonly server: ReturnType<typeof createTcpServer>; readonly sockets: Array<Socket> }>(
            (settle) => {
              const sockets: Array<Socket> = []
              const server = createTcpServer((socket) => {
                sockets.push(socket)
                socket.on("error", () => {})
                onSocket(socket)
              })
              server.listen(0, "127.0.0.1", () => settle({ server, sockets }))
            }
          )
      ),
      ({ server, sockets }) =>
        Effect.promise(
          () =>
            new Promise((settle) => {
              for (const socket of sockets) socket.destroy()
              server.close(settle)
            })
        )
    ),
    ({ server }) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  )

describe("addresses", () => {
  plain("that only this machine or its network can reach are not public, in any notation", () => {
    const refused = [
      "127.0.0.1",
      "127.255.255.255",
      "0.0.0.0",
      "10.1.2.3",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
      "169.254.169.254",
      "100.64.0.1",
      "192.0.0.1",
      "192.0.2.1",
      "198.18.0.1",
      "198.51.100.1",
      "203.0.113.1",
      "224.0.0.1",
      "255.255.255.255",
      "::",
      "::1",
      "fe80::1",
      "fe80::1%eth0",
      "fc00::1",
      "fd12::1",
      "ff02::1",
      "::ffff:127.0.0.1",
      "::ffff:7f00:1",
      "::ffff:10.0.0.1",
      "::127.0.0.1",
      "64:ff9b::127.0.0.1",
      "64:ff9b::a00:1",
      "64:ff9b:1::1",
      "2002:7f00:1::",
      "2002:a00:1::1",
      "2002:c0a8:101::1",
      "2001::1",
      "2001:db8::1",
      "3fff::1",
      "100::1",
      "4000::1",
      "",
      "localhost",
      "1.2.3",
      "999.1.1.1"
    ]
    expect(refused.filter(isPublicAddress)).toEqual([])
    const allowed = [
      "1.1.1.1",
      "8.8.8.8",
      "172.15.0.1",
      "172.32.0.1",
      "100.63.255.255",
      "100.128.0.1",
      "169.253.0.1",
      "223.255.255.255",
      "2606:4700::1111",
      "2a00:1450:4001::1",
      "::ffff:8.8.8.8",
      "64:ff9b::808:808",
      "2002:808:808::1"
    ]
    expect(allowed.filter((address) => !isPublicAddress(address))).toEqual([])
  })
  it.live("are refused before anything is sent, as literals, in other spellings and behind names", () =>
    Effect.gen(function* () {
      const target = yield* receiver()
      const { port } = new URL(target.url)
      for (const host of [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "127.1",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "localhost",
        "169.254.169.254",
        "0.0.0.0",
        "[::]"
      ]) {
        const failure = yield* Effect.flip(call(`http://${host}:${port}/`))
        expect([host, failure.kind]).toEqual([host, "refused_address"])
      }
      expect((yield* Effect.flip(call(`http://localhost:${port}/`))).message).toMatch(
        /^localhost is at (127\.0\.0\.1|::1), a private or reserved address/
      )
      expect(target.received).toEqual([])
    }).pipe(Effect.scoped, Effect.provide(strict))
  )
})

describe("answers", () => {
  it.live("of any status are answers; redirects are not followed; the body is read up to the requested length", () =>
    Effect.gen(function* () {
      const second = yield* receiver()
      const target = yield* receiver((response) => response.writeHead(307, { location: second.url }).end("moved"))
      const redirected = yield* call(target.url)
      expect([
        redirected.status,
        redirected.headers.location,
        Buffer.from(redirected.body).toString(),
        redirected.isTruncated
      ]).toEqual([307, second.url, "moved", false])
      expect(second.received).toEqual([])
      for (const status of [200, 204, 404, 408, 429, 500, 503]) {
        target.answer = status
        expect((yield* call(target.url)).status).toBe(status)
      }
      expect(target.received[0]).toMatchObject({ headers: { host: new URL(target.url).host, "content-length": "5" } })
      // An endless body: the requested part is kept, and the connection is closed.
      target.answer = (response) => {
        const more = () => {
          while (response.writable && response.write(Buffer.alloc(65_536, 120)));
          response.once("drain", more)
        }
        response.writeHead(200)
        more()
      }
      const huge = yield* call(target.url)
      expect([huge.status, huge.body.length, huge.isTruncated]).toEqual([200, 1_000, true])
      // The status arrives but the body never ends: when the time is up, the answer counts.
      target.answer = (response) => {
        response.writeHead(202)
        response.write("part")
      }
      const hanging = yield* call(target.url, 300)
      expect([hanging.status, Buffer.from(hanging.body).toString(), hanging.isTruncated]).toEqual([202, "part", true])
    }).pipe(Effect.scoped, Effect.provide(allowing))
  )
  it.live("that never come are failures of a certain kind, in time", () =>
    Effect.gen(function* () {
      const kindOf = (url: string, timeout_ms?: number) =>
        Effect.map(Effect.flip(call(url, timeout_ms)), ({ kind }) => kind)
      const silent = yield* receiver(() => {})
      const began = performance.now()
      expect(yield* kindOf(silent.url, 300)).toBe("timeout")
      expect(performance.now() - began).toBeLessThan(2_000)
      expect(yield* kindOf(yield* tcp(() => {}), 300)).toBe("timeout")
      expect(yield* kindOf(yield* tcp((socket) => socket.resetAndDestroy()))).toBe("connection")
      expect(yield* kindOf(yield* tcp((socket) => socket.end("this is no HTTP\r\n\r\n")))).toBe("connection")
      expect(yield* kindOf(yield* tcp((socket) => socket.once("data", () => socket.end())))).toBe("connection")
      expect(yield* kindOf("http://127.0.0.1:1/")).toBe("connection")
      expect(yield* kindOf("http://no-such-name.invalid/")).toBe("name")
      expect(["certificate", "connection"]).toContain(yield* kindOf((yield* receiver()).url.replace("http:", "https:")))
    }).pipe(Effect.scoped, Effect.provide(allowing))
  )
  it.live("that are late cause no second delivery, on a kept connection either", () =>
    Effect.gen(function* () {
      let received = 0
      const running = yield* receiver((response) => {
        received++
        if (received === 1) response.end("kept")
      })
      expect((yield* call(running.url)).status).toBe(200)
      expect((yield* Effect.flip(call(running.url, 100))).kind).toBe("timeout")
      // The runtime would repeat the request at once.
      yield* Effect.sleep(300)
      expect(received).toBe(2)
    }).pipe(Effect.scoped, Effect.provide(allowing))
  )
  it.live("of a receiver that closed a kept connection meanwhile cost no attempt", () =>
    Effect.gen(function* () {
      const target = yield* receiver((response) => {
        response.end("ok")
        setTimeout(() => response.socket?.destroy(), 5)
      })
      for (let i = 0; i < 40; i++) {
        expect((yield* call(target.url)).status).toBe(200)
        yield* Effect.sleep(i % 10)
      }
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(allowing)))
  )
})
