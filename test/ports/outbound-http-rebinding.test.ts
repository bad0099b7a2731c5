/**
 * The second check of an address: a name that is public when it is checked, but leads to this machine when it is
 * connected to. Name server and route are simulated; the receiver is a real server on loopback.
 */
import { it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Socket } from "node:net"
import { afterEach, beforeEach, describe, expect, vi } from "vitest"
import { OutboundHttp } from "../../src/ports/outbound-http/outbound-http.ts"
import { layer } from "../../src/ports/outbound-http/node.ts"
import { startReceiver } from "../support/receiver.ts"

const PUBLIC = "93.184.216.34",
  LOOPBACK = "127.0.0.1",
  NAME = "rebinding.example"
/** The name server's answers in order; the last one repeats. */
const answers: Array<string> = []
let asked = 0
vi.mock("node:dns/promises", () => ({
  lookup: () => Promise.resolve([{ address: answers[Math.min(asked++, answers.length - 1)]!, family: 4 }])
}))

/**
 * The hosts that sockets were asked to connect to. Each connection leads to the receiver, as with a hostile route or
 * resolver.
 */
const connected: Array<string> = []
const connect = Socket.prototype.connect
beforeEach(() => {
  asked = 0
  connected.length = 0
  Socket.prototype.connect = function (this: Socket, ...given: ReadonlyArray<unknown>) {
    // As `net.connect` calls it: the arguments are in a list, or passed directly.
    const [options, ...rest] = (Array.isArray(given[0]) ? given[0] : given) as [
      { host?: string; port?: number },
      ...ReadonlyArray<unknown>
    ]
    connected.push(options.host ?? "")
    return Reflect.apply(connect, this, [
      { ...options, host: LOOPBACK, lookup: undefined },
      ...rest.filter((more) => typeof more === "function")
    ]) as Socket
  } as typeof connect
})
afterEach(() => {
  Socket.prototype.connect = connect
})

const call = (url: string) =>
  Effect.flatMap(OutboundHttp, (http) =>
    http.send({ method: "POST", url, headers: {}, body: "hello", timeout_ms: 5_000, responseBytesMax: 1_000 })
  )
/** The status of an answer, or the reason for its absence. */
const outcome = (url: string) =>
  Effect.match(call(url), {
    onSuccess: ({ status }) => [String(status)],
    onFailure: ({ kind, message }) => [kind, message]
  })
const receiver = Effect.acquireRelease(
  Effect.promise(() => startReceiver(200)),
  (running) => Effect.promise(running.stop)
)
const through = (allowPrivateAddresses: boolean) => Effect.provide(Layer.fresh(layer({ allowPrivateAddresses })))

describe("a name that is public when it is checked and private when it is connected to", () => {
  it.live(
    "is refused by the second check, before the receiver gets anything; if private addresses are allowed, the call arrives",
    () =>
      Effect.gen(function* () {
        const target = yield* receiver
        const url = `http://${NAME}:${new URL(target.url).port}/`
        answers.splice(0, answers.length, PUBLIC, LOOPBACK)
        expect(yield* through(false)(outcome(url))).toEqual([
          "refused_address",
          `${NAME} is at ${LOOPBACK}, a private or reserved address; calls go to public addresses only`
        ])
        expect(connected).toEqual([PUBLIC])
        yield* Effect.sleep(50)
        expect(target.received).toEqual([])
        asked = 0
        expect(yield* through(true)(outcome(url))).toEqual(["200"])
        expect(target.received.length).toBe(1)
      }).pipe(Effect.scoped)
  )
  it.live("is refused by the same check if the answer is read in pieces", () =>
    Effect.gen(function* () {
      const target = yield* receiver
      const url = `http://${NAME}:${new URL(target.url).port}/`
      const opened = Effect.scoped(
        Effect.flatMap(OutboundHttp, (http) =>
          http.open({
            method: "GET",
            url,
            headers: {},
            timeout_ms: 5_000,
            total_ms: 5_000,
            silence_ms: 5_000,
            responseBytesMax: 1_000
          })
        )
      )
      answers.splice(0, answers.length, PUBLIC, LOOPBACK)
      expect((yield* through(false)(Effect.flip(opened))).kind).toBe("refused_address")
      yield* Effect.sleep(50)
      expect(target.received).toEqual([])
      asked = 0
      expect((yield* through(true)(opened)).status).toBe(200)
    }).pipe(Effect.scoped)
  )
  it.live(
    "is connected to at the checked address, not by its name, and not at all if the first check finds it private",
    () =>
      Effect.gen(function* () {
        const target = yield* receiver
        const { port } = new URL(target.url)
        answers.splice(0, answers.length, PUBLIC, LOOPBACK)
        yield* through(false)(outcome(`http://${NAME}:${port}/`))
        expect([connected, asked]).toEqual([[PUBLIC], 1])
        answers.splice(0, answers.length, LOOPBACK)
        for (const host of [NAME, LOOPBACK, "169.254.169.254", "[::1]"])
          expect((yield* through(false)(outcome(`http://${host}:${port}/`)))[0]).toBe("refused_address")
        expect(connected).toEqual([PUBLIC])
      }).pipe(Effect.scoped)
  )
})
