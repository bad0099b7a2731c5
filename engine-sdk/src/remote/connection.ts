/** A process's connection to the engine of another process; it is re-established whenever it ends. */
import { createConnection, type Socket } from "node:net"
import { fail, type Result } from "../errors.ts"
import { Frames } from "./frames.ts"
import { type Call, type FromOwner, PROTOCOL, type Replies, type ToOwner } from "./messages.ts"
import type { Mirror } from "./mirror.ts"

const PING_MS = 500
const GIVEN_UP_MS = 20
const AGAIN_MS = 200
/** Maximum time without a message from the other side, or without a connection. */
const SILENCE_MS = 10_000

export interface ConnectOptions {
  readonly host: string
  readonly port: number
  readonly token: string
  /** Called when the engine can be reached again, and with the reason when it cannot. */ readonly onState?: (
    state: string | undefined
  ) => void
  /** Monotonic milliseconds. */ readonly now_ms?: () => number
}
export type Welcome = Extract<FromOwner, { readonly kind: "welcome" }>
interface Pending {
  readonly settle: (reply: Replies[keyof Replies]) => void
  readonly isGivenUp: (() => boolean) | undefined
  isGiveUpSent: boolean
}

const ABSENT = "The process that has the search engine cannot be reached at the moment."
const lost = (): Result<never> =>
  fail({ kind: "Unavailable", message: `${ABSENT} Whether it did what was asked is not known.` })
const absent = (): Result<never> => fail({ kind: "Unavailable", message: ABSENT })

export class Connection {
  readonly #options: ConnectOptions
  readonly #mirror: Mirror
  readonly #now_ms: () => number
  readonly #pending = new Map<number, Pending>()
  readonly #timers: ReadonlyArray<ReturnType<typeof setInterval>>
  #socket: Socket | undefined
  #frames: Frames<FromOwner, ToOwner> | undefined
  #welcome: Welcome | undefined
  #again: ReturnType<typeof setTimeout> | undefined
  #next = 1
  /** The ping that is waiting for its pong, and when it was sent. */ #ping: { id: number; sent_ms: number } | undefined
  #until_ms = 0
  #heard_ms = 0
  #seen = 0
  #isWhole = false
  #isClosed = false
  #first: { readonly resolve: (welcome: Welcome) => void; readonly reject: (error: Error) => void } | undefined
  /** Resolves when everything is known for the first time; rejects if the token is refused. */
  readonly ready: Promise<Welcome>

  constructor(mirror: Mirror, options: ConnectOptions) {
    this.#mirror = mirror
    this.#options = options
    this.#now_ms = options.now_ms ?? (() => performance.now())
    this.ready = new Promise((resolve, reject) => {
      this.#first = { resolve, reject }
    })
    const unheld = <T extends { readonly unref?: () => unknown }>(timer: T): T => {
      timer.unref?.()
      return timer
    }
    this.#timers = [
      unheld(setInterval(() => this.#beat(), PING_MS)),
      unheld(setInterval(() => this.#sendGiveUps(), GIVEN_UP_MS))
    ]
    this.#connect()
  }
  /** Why the known state may be out of date; undefined if it is current. */
  get absence(): string | undefined {
    return this.#isWhole && this.#now_ms() < this.#until_ms ? undefined : ABSENT
  }
  call<M extends Call["method"]>(
    namespace: string,
    call: Extract<Call, { readonly method: M }>,
    isGivenUp?: () => boolean
  ): Promise<Replies[M]> {
    const frames = this.#frames
    if (frames === undefined || !this.#isWhole) return Promise.resolve(absent() as Replies[M])
    const id = this.#next++
    return new Promise((resolve) => {
      this.#pending.set(id, { settle: (reply) => resolve(reply as Replies[M]), isGivenUp, isGiveUpSent: false })
      if (frames.send({ kind: "call", id, namespace, call })) return
      this.#pending.delete(id)
      resolve(lost() as Replies[M])
    })
  }
  close(): void {
    this.#isClosed = true
    for (const timer of this.#timers) clearInterval(timer)
    clearTimeout(this.#again)
    this.#socket?.destroy()
  }

  #connect(): void {
    const { host, port, token } = this.#options
    const socket = createConnection({ host, port })
    const frames = new Frames<FromOwner, ToOwner>(socket, (message) => this.#receive(message))
    this.#socket = socket
    this.#heard_ms = this.#now_ms()
    this.#mirror.begin()
    socket.on("connect", () => {
      this.#frames = frames
      frames.send({ kind: "hello", protocol: PROTOCOL, token })
    })
    // Every end of a connection emits `close`.
    socket.on("error", () => {})
    socket.on("close", () => this.#lost())
  }
  #lost(): void {
    const wasWhole = this.#isWhole
    this.#frames = undefined
    this.#ping = undefined
    this.#isWhole = false
    this.#until_ms = 0
    for (const { settle } of this.#pending.values()) settle(lost())
    this.#pending.clear()
    if (this.#isClosed) return
    if (wasWhole) this.#options.onState?.(ABSENT)
    this.#again = setTimeout(() => this.#connect(), AGAIN_MS)
  }
  #beat(): void {
    const now_ms = this.#now_ms()
    if (now_ms - this.#heard_ms > SILENCE_MS) return void this.#socket?.destroy()
    if (this.#frames === undefined || this.#ping !== undefined) return
    this.#ping = { id: this.#next++, sent_ms: now_ms }
    this.#frames.send({ kind: "ping", id: this.#ping.id })
  }
  #sendGiveUps(): void {
    for (const [id, pending] of this.#pending) {
      if (pending.isGiveUpSent || pending.isGivenUp?.() !== true) continue
      pending.isGiveUpSent = true
      this.#frames?.send({ kind: "give_up", id })
    }
  }

  #receive(message: FromOwner): void {
    this.#heard_ms = this.#now_ms()
    switch (message.kind) {
      case "welcome":
        this.#welcome = message
        this.#beat()
        return
      case "catalogue":
        this.#mirror.add(message.known, message.isLast)
        if (message.isLast) this.#whole()
        return
      case "changed":
        this.#mirror.change(message.change)
        this.#see(message.version)
        return
      case "pong":
        if (this.#ping?.id !== message.id) return
        this.#until_ms = this.#ping.sent_ms + this.#welcome!.lease_ms
        this.#ping = undefined
        this.#current()
        return
      case "reply": {
        const pending = this.#pending.get(message.id)
        this.#pending.delete(message.id)
        pending?.settle(message.reply)
        return
      }
      case "refused":
        this.#first?.reject(new Error(message.message))
        this.#options.onState?.(message.message)
    }
  }
  /** Changes that arrive together are confirmed once. */
  #see(version: number): void {
    if (this.#seen === 0)
      queueMicrotask(() => {
        this.#frames?.send({ kind: "seen", version: this.#seen })
        this.#seen = 0
      })
    this.#seen = version
  }
  #whole(): void {
    this.#isWhole = true
    this.#current()
  }
  #current(): void {
    if (this.absence !== undefined) return
    this.#first?.resolve(this.#welcome!)
    this.#options.onState?.(undefined)
  }
}
