/**
 * One engine for several processes: its process answers the calls of others, and sends them every change of a
 * collection, so that each of them knows all schemas without a request.
 *
 * A change is answered only once every other process knows of it. Another process knows that it is current by a lease:
 * a ping that was answered lets it rely on its knowledge for `lease_ms` from when it sent the ping, and everything sent
 * before the answer has arrived before it. So a process that is silent delays a change by one lease, once; one that
 * confirms it, by a round trip.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import { createServer, type Server, type Socket } from "node:net"
import type { SearchEngine } from "../engine.ts"
import { fail } from "../errors.ts"
import { warn } from "../warning.ts"
import { answerCall } from "./answer-calls.ts"
import { Frames, MESSAGE_BYTES_MAX } from "./frames.ts"
import { type Call, type Change, type FromOwner, type RemoteCollection, PROTOCOL, type ToOwner } from "./messages.ts"

const LEASE_MS = 2_000
/** Margin, because two clocks do not run at the same speed. */
const DRIFT_MS = 100
/** Longer than the lease; after this time, a process that does not confirm a change is disconnected. */
const SILENCE_MS = 30_000
/** A greeting must arrive within this time, and is short. */
const GREETING_MS = 5_000
const GREETING_BYTES_MAX = 4_096
const CONNECTIONS_MAX = 256
/** Maximum concurrent calls of one process. */
const RUNNING_MAX = 1_024
const CATALOGUE_PART = 500

interface ShareOptions {
  readonly host: string
  /** 0: any free port. */ readonly port: number
  /** A process that does not know it is refused. */ readonly token: string
  readonly lease_ms?: number
  /** Monotonic milliseconds. */ readonly now_ms?: () => number
}
export interface SharedEngine {
  /** Use this in place of the given engine: changes made through it are known everywhere when they are answered. */
  readonly engine: SearchEngine
  readonly port: number
  /** Ends connections; the engine itself continues. */ readonly close: () => Promise<void>
}

const hashed = (token: string): Uint8Array => createHash("sha256").update(token).digest()
const knownOf = (engine: SearchEngine, namespace: string, name: string): RemoteCollection | undefined => {
  const info = engine.describeCollection(namespace, name)
  return info === undefined ? undefined : { namespace, info, usage: engine.usage(namespace, name) }
}

/** A connected process. */
class Peer {
  readonly #socket: Socket
  readonly #frames: Frames<ToOwner, FromOwner>
  readonly #shared: Sharing
  readonly #running = new Map<number, { isGivenUp: boolean }>()
  readonly #waiting: Array<{ readonly version: number; readonly seen: () => void }> = []
  /** Until then it may rely on what it knew before. */ #until = 0
  #isGreeted = false
  constructor(socket: Socket, shared: Sharing) {
    this.#socket = socket
    this.#shared = shared
    this.#frames = new Frames<ToOwner, FromOwner>(socket, (message) => this.#receive(message), GREETING_BYTES_MAX)
    const greeting = setTimeout(() => {
      if (!this.#isGreeted) socket.destroy()
    }, GREETING_MS)
    greeting.unref?.()
    socket.on("error", () => socket.destroy())
    socket.on("close", () => {
      clearTimeout(greeting)
      for (const running of this.#running.values()) running.isGivenUp = true
      shared.left(this)
    })
  }
  end(): void {
    this.#socket.destroy()
  }
  /** Resolves when the change is known there, or when that process no longer answers anything. */
  notify(version: number, change: Change): Promise<void> {
    this.#frames.send({ kind: "changed", version, change })
    const left_ms = this.#until - this.#shared.now_ms()
    if (left_ms < -SILENCE_MS && this.#until > 0) this.end()
    return new Promise((resolve) => {
      // The answer to a later ping arrives after the change, so it does not extend the earlier lease.
      const timer = setTimeout(resolve, Math.max(0, left_ms))
      this.#waiting.push({
        version,
        seen: () => {
          clearTimeout(timer)
          resolve()
        }
      })
    })
  }

  #receive(message: ToOwner): void {
    if (message.kind === "hello") return this.#greet(message)
    if (!this.#isGreeted) return this.end()
    switch (message.kind) {
      case "ping":
        // Messages arrive in order, so whoever gets the pong knows everything that was sent before it.
        this.#until = this.#shared.now_ms() + this.#shared.lease_ms + DRIFT_MS
        this.#frames.send({ kind: "pong", id: message.id })
        return
      case "seen":
        while (this.#waiting.length > 0 && this.#waiting[0]!.version <= message.version) this.#waiting.shift()!.seen()
        return
      case "give_up": {
        const running = this.#running.get(message.id)
        if (running !== undefined) running.isGivenUp = true
        return
      }
      case "call":
        void this.#answer(message.id, message.namespace, message.call)
    }
  }
  #greet({ protocol, token }: Extract<ToOwner, { readonly kind: "hello" }>): void {
    const isKnown = typeof token === "string" && timingSafeEqual(hashed(token), this.#shared.token)
    if (!isKnown || protocol !== PROTOCOL || this.#isGreeted) {
      const message = isKnown ? `The engine speaks version ${PROTOCOL} of its protocol.` : "The token is another one."
      this.#frames.send({ kind: "refused", message })
      this.#socket.end()
      return
    }
    this.#isGreeted = true
    this.#frames.bytes_max = MESSAGE_BYTES_MAX
    for (const message of this.#shared.welcome()) this.#frames.send(message)
    this.#shared.joined(this)
  }
  async #answer(id: number, namespace: string, call: Call): Promise<void> {
    const running = { isGivenUp: false }
    if (this.#running.size >= RUNNING_MAX) {
      const message = "More calls of this process are under way than the engine takes."
      this.#frames.send({ kind: "reply", id, reply: fail({ kind: "Overloaded", message, retryAfterSeconds: 1 }) })
      return
    }
    this.#running.set(id, running)
    try {
      const reply = await answerCall(this.#shared.engine, namespace, call, () => running.isGivenUp)
      this.#frames.send({ kind: "reply", id, reply })
    } catch (error) {
      warn("a call of another process failed", error)
      const message = "The engine failed; what came of it is not known."
      this.#frames.send({ kind: "reply", id, reply: fail({ kind: "Unavailable", message }) })
    } finally {
      this.#running.delete(id)
    }
  }
}

class Sharing {
  readonly token: Uint8Array
  readonly lease_ms: number
  readonly now_ms: () => number
  readonly engine: SearchEngine
  readonly #given: SearchEngine
  readonly #connected = new Set<Peer>()
  /** Processes that receive changes, and those that left but may still believe that they are connected. */
  readonly #peers = new Set<Peer>()
  #version = 0
  constructor(engine: SearchEngine, { lease_ms = LEASE_MS, now_ms = () => performance.now(), token }: ShareOptions) {
    this.token = hashed(token)
    this.lease_ms = lease_ms
    this.now_ms = now_ms
    this.#given = engine
    this.engine = this.#notifyingEngine()
  }
  connected(socket: Socket): void {
    if (this.#connected.size >= CONNECTIONS_MAX) socket.destroy()
    else this.#connected.add(new Peer(socket, this))
  }
  joined(peer: Peer): void {
    this.#peers.add(peer)
  }
  left(peer: Peer): void {
    this.#connected.delete(peer)
    setTimeout(() => this.#peers.delete(peer), this.lease_ms + DRIFT_MS).unref?.()
  }
  end(): void {
    for (const peer of this.#connected) peer.end()
  }
  *welcome(): Generator<FromOwner> {
    const { lease_ms } = this
    const engine = this.#given
    const capabilities = { ...engine.capabilities(), searchesOnCaller: false }
    yield { kind: "welcome", capabilities, lease_ms }
    const known = (engine.namespaces?.() ?? []).flatMap((namespace) =>
      engine
        .listCollections(namespace)
        .map((info): RemoteCollection => ({ namespace, info, usage: engine.usage(namespace, info.schema.name) }))
    )
    for (let from = 0; from < known.length; from += CATALOGUE_PART)
      yield { kind: "catalogue", known: known.slice(from, from + CATALOGUE_PART), isLast: false }
    yield { kind: "catalogue", known: [], isLast: true }
  }

  /** Also sent if it failed, because a part of it may have been applied. */
  async #runAndNotify<A>(namespace: string, name: string, isRemoval: boolean, run: () => Promise<A>): Promise<A> {
    try {
      return await run()
    } finally {
      await this.#notify(namespace, name, isRemoval)
    }
  }
  async #notify(namespace: string, name: string, isRemoval: boolean): Promise<void> {
    if (this.#peers.size === 0) return
    const version = ++this.#version
    const known = knownOf(this.#given, namespace, name)
    const change: Change = { namespace, name, isRemoval, ...(known === undefined ? {} : { known }) }
    await Promise.all([...this.#peers].map((peer) => peer.notify(version, change)))
  }
  #notifyingEngine(): SearchEngine {
    const engine = this.#given
    return {
      ...delegated(engine),
      createCollection: (namespace, schema, ...rest) =>
        this.#runAndNotify(namespace, schema.name, false, () => engine.createCollection(namespace, schema, ...rest)),
      alterCollection: (namespace, name, ...rest) =>
        this.#runAndNotify(namespace, name, false, () => engine.alterCollection(namespace, name, ...rest)),
      dropCollection: (namespace, name) =>
        this.#runAndNotify(namespace, name, true, () => engine.dropCollection(namespace, name)),
      write: (namespace, name, operations, options) => {
        const isRemoval = operations.some(({ kind }) => kind === "delete")
        return this.#runAndNotify(namespace, name, isRemoval, () => engine.write(namespace, name, operations, options))
      }
    }
  }
}
/** All calls that change nothing, bound to an engine that may be a class instance. */
const delegated = (engine: SearchEngine): SearchEngine => ({
  capabilities: () => engine.capabilities(),
  createCollection: (...given) => engine.createCollection(...given),
  alterCollection: (...given) => engine.alterCollection(...given),
  dropCollection: (...given) => engine.dropCollection(...given),
  listCollections: (...given) => engine.listCollections(...given),
  describeCollection: (...given) => engine.describeCollection(...given),
  write: (...given) => engine.write(...given),
  search: (...given) => engine.search(...given),
  union: (...given) => engine.union(...given),
  scan: (...given) => engine.scan(...given),
  get: (...given) => engine.get(...given),
  usage: (...given) => engine.usage(...given),
  ...(engine.namespaces === undefined ? {} : { namespaces: () => engine.namespaces!() }),
  ...(engine.words === undefined ? {} : { words: (...given) => engine.words!(...given) }),
  ...(engine.setDictionary === undefined ? {} : { setDictionary: (...given) => engine.setDictionary!(...given) }),
  ...(engine.damaged === undefined ? {} : { damaged: () => engine.damaged!() }),
  health: () => engine.health(),
  close: () => engine.close()
})

const listening = (server: Server, { host, port }: ShareOptions): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(port, host, () => resolve((server.address() as { readonly port: number }).port))
  })

/**
 * Rejects if it cannot listen there.
 *
 * @example
 * ```ts
 * import { createEngine, createSearch } from "@dowser/engine-sdk"
 * import { shareEngine } from "@dowser/engine-sdk/remote"
 *
 * const shared = await shareEngine(createEngine(), { host: "127.0.0.1", port: 7700, token: "secret" })
 * const products = createSearch({ engine: shared.engine })
 * ```
 */
export const shareEngine = async (engine: SearchEngine, options: ShareOptions): Promise<SharedEngine> => {
  const sharing = new Sharing(engine, options)
  const server = createServer((socket) => sharing.connected(socket))
  const port = await listening(server, options)
  return {
    engine: sharing.engine,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        sharing.end()
      })
  }
}
