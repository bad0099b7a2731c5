/**
 * `OutboundHttp` on `node:http`. A name is looked up by us, its addresses are checked, and the connection goes to the
 * address itself with the name in `Host` and in TLS, so that an answer of a name server that changes between check and
 * connect changes nothing. What the socket says it is connected to is checked once more.
 */
import {
  type Agent,
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as requestHttp
} from "node:http"
import { Agent as HttpsAgent, request as requestHttps } from "node:https"
import { lookup } from "node:dns/promises"
import { isIP, type Socket } from "node:net"
import { Effect, Layer } from "effect"
import { BoundedMap } from "@dowser/engine-sdk/host"
import {
  CurrentOutbound,
  OutboundFailure,
  OutboundHttp,
  type OutboundRequest,
  type OutboundResponse
} from "./outbound-http.ts"
import { isPublicAddress } from "./public-address.ts"

interface OutboundHttpOptions {
  /** Contract part 7: private and loopback addresses only when the operator says so. */
  readonly allowPrivateAddresses: boolean
}

/** Connections kept open to one address, and for how long unused. */
const FREE_SOCKETS_MAX = 64
const FREE_SOCKET_MS = 4_000
/** One look-up serves everybody for that long: a thousand deliveries to one name are one question. */
const NAME_KEPT_MS = 5_000
const NAMES_BYTES_MAX = 8_000_000,
  ADDRESSES_BYTES = 500
/** Addresses of one name that are tried in turn. */
const ADDRESSES_MAX = 3

const certificateCodes = /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS_|ERR_SSL_|EPROTO)|certificate/i
const failureOf = (error: Error & { readonly code?: string }): OutboundFailure =>
  error instanceof OutboundFailure
    ? error
    : certificateCodes.test(`${error.code ?? ""} ${error.message}`) && error.code !== "ECONNRESET"
      ? new OutboundFailure({ kind: "certificate", message: `TLS failed: ${error.message}` })
      : new OutboundFailure({
          kind: "connection",
          message: error.message === "" ? (error.code ?? "The connection failed") : error.message
        })

const refusedAddress = (host: string, address: string) =>
  new OutboundFailure({
    kind: "refused_address",
    message:
      host === address
        ? `${address} is a private or reserved address; calls go to public addresses only`
        : `${host} is at ${address}, a private or reserved address; calls go to public addresses only`
  })

const makeNames = () => {
  const known = new BoundedMap<string, { readonly until: number; readonly addresses: Promise<ReadonlyArray<string>> }>({
    bytes_max: NAMES_BYTES_MAX,
    bytesOf: (host) => ADDRESSES_BYTES + 2 * host.length
  })
  return (host: string): Promise<ReadonlyArray<string>> => {
    const now = performance.now()
    const found = known.get(host)
    if (found !== undefined && found.until > now) return found.addresses
    const addresses = lookup(host, { all: true }).then((all) => all.map(({ address }) => address))
    known.set(host, { until: now + NAME_KEPT_MS, addresses })
    // A failure is not kept: the next attempt asks again.
    addresses.catch(() => known.delete(host))
    return addresses
  }
}

interface Call {
  readonly url: URL
  readonly host: string
  readonly address: string
  readonly agent: Agent | false
  readonly deadline: AbortSignal
  readonly isAllowed: (address: string) => boolean
  readonly request: OutboundRequest
}

/** One request to one address, from its first byte to its answer. */
class Exchange {
  readonly #call: Call
  readonly #client: ClientRequest
  readonly #settle: (response: OutboundResponse) => void
  readonly #reject: (error: Error) => void
  readonly #chunks: Array<Buffer> = []
  #response: IncomingMessage | undefined
  #size = 0
  #isDone = false

  constructor(call: Call, settle: (response: OutboundResponse) => void, reject: (error: Error) => void) {
    this.#call = call
    this.#settle = settle
    this.#reject = reject
    const body = call.request.body === undefined ? undefined : Buffer.from(call.request.body as string)
    this.#client = open(call, body)
    this.#client.on("socket", (socket) => this.#check(socket))
    this.#client.on("response", (received) => this.#receive(received))
    this.#client.on("error", (error) =>
      this.#response === undefined
        ? this.#fail(Object.assign(error, { isReused: this.#client.reusedSocket }))
        : this.#finish(true)
    )
    this.#client.on("close", () => {
      if (this.#response !== undefined) return
      const error = new Error("The connection was closed without an answer")
      this.#fail(Object.assign(error, { code: "ECONNRESET", isReused: this.#client.reusedSocket }))
    })
    if (call.deadline.aborted) this.#onDeadline()
    else {
      call.deadline.addEventListener("abort", this.#onDeadline)
      this.#client.end(body)
    }
  }

  /** The address that the socket says it is connected to. */
  #check(socket: Socket): void {
    const { host, isAllowed } = this.#call
    const check = () => {
      if (socket.remoteAddress !== undefined && !isAllowed(socket.remoteAddress))
        this.#fail(refusedAddress(host, socket.remoteAddress))
    }
    if (socket.connecting) socket.once("connect", check)
    else check()
  }

  #receive(received: IncomingMessage): void {
    const { responseBytesMax } = this.#call.request
    this.#response = received
    received.on("data", (chunk: Buffer) => {
      this.#size += chunk.length
      if (this.#size - chunk.length < responseBytesMax) this.#chunks.push(chunk)
      if (this.#size > responseBytesMax) this.#finish(true)
    })
    received.on("end", () => this.#finish(false))
    // The status is there; a body that breaks off changes nothing about it.
    received.on("error", () => this.#finish(true))
    received.on("close", () => this.#finish(true))
  }

  readonly #onDeadline = (): void =>
    this.#response === undefined ? this.#fail(this.#call.deadline.reason as Error) : this.#finish(true)

  #finish(isTruncated: boolean): void {
    if (this.#isDone || this.#response === undefined) return
    this.#isDone = true
    this.#call.deadline.removeEventListener("abort", this.#onDeadline)
    if (isTruncated) this.#client.destroy()
    const headers = Object.fromEntries(
      Object.entries(this.#response.headers).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.join(", ") : (value ?? "")
      ])
    )
    this.#settle({
      status: this.#response.statusCode ?? 0,
      headers,
      body: Buffer.concat(this.#chunks).subarray(0, this.#call.request.responseBytesMax),
      isTruncated
    })
  }

  #fail(error: Error): void {
    if (this.#isDone) return
    this.#isDone = true
    this.#call.deadline.removeEventListener("abort", this.#onDeadline)
    this.#client.destroy()
    this.#reject(error)
  }
}

/** The request, not sent yet: to the address itself, with the name in `Host` and in TLS. */
const open = ({ address, agent, host, request, url }: Call, body: Buffer | undefined): ClientRequest => {
  const isSecure = url.protocol === "https:"
  return (isSecure ? requestHttps : requestHttp)({
    agent,
    host: address,
    port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
    method: request.method,
    path: url.pathname + url.search,
    setHost: false,
    ...(isSecure && isIP(host) === 0 ? { servername: host } : {}),
    headers: {
      ...request.headers,
      host: url.host,
      ...(body === undefined ? {} : { "content-length": String(body.length) })
    }
  })
}

/** Rejects with what went wrong before the status line; after it, resolves. */
const sendTo = (call: Call): Promise<OutboundResponse> =>
  new Promise((settle, reject) => void new Exchange(call, settle, reject))

const neverConnected = (error: { readonly code?: string }): boolean =>
  error.code !== undefined && /^(ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL|ETIMEDOUT)$/.test(error.code)

/** The addresses of a name that calls may go to, those that are tried. */
const addressesOf = async (
  namesOf: ReturnType<typeof makeNames>,
  isAllowed: (address: string) => boolean,
  host: string
): Promise<ReadonlyArray<string>> => {
  const all =
    isIP(host) > 0
      ? [host]
      : await namesOf(host).catch((error: Error) => {
          throw new OutboundFailure({
            kind: "name",
            message: `The name ${host} has no address: ${error.message}`
          })
        })
  const allowed = all.filter(isAllowed)
  if (allowed.length === 0)
    throw all.length === 0
      ? new OutboundFailure({ kind: "name", message: `The name ${host} has no address` })
      : refusedAddress(host, all[0]!)
  return allowed.slice(0, ADDRESSES_MAX)
}

interface SendParts {
  readonly agents: { readonly "http:": Agent; readonly "https:": Agent }
  readonly namesOf: ReturnType<typeof makeNames>
  readonly isAllowed: (address: string) => boolean
}
/** Tries the addresses of the request's host in turn, until one can be connected to. */
const send = async (
  { agents, isAllowed, namesOf }: SendParts,
  request: OutboundRequest,
  deadline: AbortSignal
): Promise<OutboundResponse> => {
  const url = new URL(request.url)
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new OutboundFailure({ kind: "refused_address", message: `${url.protocol} is not http or https` })
  const host = url.hostname.replace(/^\[|\]$/g, "")
  const late = new Promise<never>((_, reject) =>
    deadline.addEventListener("abort", () => reject(deadline.reason as Error), { once: true })
  )
  late.catch(() => {})
  let last: Error = new OutboundFailure({ kind: "connection", message: "The connection failed" })
  for (const address of await Promise.race([addressesOf(namesOf, isAllowed, host), late])) {
    const call = { url, host, address, agent: agents[url.protocol], deadline, isAllowed, request }
    try {
      return await sendTo(call)
    } catch (error) {
      const { code, isReused } = error as { readonly code?: string; readonly isReused?: boolean }
      // A kept connection that the receiver had just closed says nothing about the receiver: once more on a new
      // one.
      if (isReused === true && (code === "ECONNRESET" || code === "EPIPE") && !deadline.aborted)
        return await sendTo({ ...call, agent: false })
      last = error as Error
      if (!neverConnected(error as { readonly code?: string })) break
    }
  }
  throw last
}

export const layer = ({ allowPrivateAddresses }: OutboundHttpOptions): Layer.Layer<OutboundHttp> =>
  Layer.effect(
    OutboundHttp,
    Effect.gen(function* () {
      const kept = { keepAlive: true, maxFreeSockets: FREE_SOCKETS_MAX, timeout: FREE_SOCKET_MS }
      const agents = { "http:": new HttpAgent(kept), "https:": new HttpsAgent(kept) }
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          for (const agent of Object.values(agents)) agent.destroy()
        })
      )
      const isAllowed = (address: string) => allowPrivateAddresses || isPublicAddress(address)
      const parts: SendParts = { agents, namesOf: makeNames(), isAllowed }

      const times = yield* CurrentOutbound
      return OutboundHttp.of({
        send: (request) =>
          Effect.callback<OutboundResponse, OutboundFailure>((resume) => {
            const began = performance.now()
            const note = (outcome: string) => times.note(outcome, (performance.now() - began) / 1_000)
            const ending = new AbortController()
            const timer = setTimeout(
              () =>
                ending.abort(
                  new OutboundFailure({ kind: "timeout", message: `No answer within ${request.timeout_ms / 1_000} s` })
                ),
              request.timeout_ms
            )
            send(parts, request, ending.signal).then(
              (response) => {
                clearTimeout(timer)
                note(`${Math.floor(response.status / 100)}xx`)
                resume(Effect.succeed(response))
              },
              (error: Error) => {
                clearTimeout(timer)
                const failure = failureOf(error)
                note(failure.kind)
                resume(Effect.fail(failure))
              }
            )
            return Effect.sync(() => {
              clearTimeout(timer)
              ending.abort(new OutboundFailure({ kind: "connection", message: "Given up" }))
            })
          })
      })
    })
  )
