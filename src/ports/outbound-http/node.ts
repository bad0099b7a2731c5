/**
 * `OutboundHttp` on `node:http`. A name is resolved and its addresses are checked; the connection is made to the
 * address itself with the name in `Host` and in TLS, so that it does not matter if a name server changes its answer
 * between check and connect. The socket's remote address is checked once more.
 */
import { type Agent, Agent as HttpAgent } from "node:http"
import { Agent as HttpsAgent } from "node:https"
import { lookup } from "node:dns/promises"
import { isIP } from "node:net"
import { Effect, Layer, Stream } from "effect"
import { BoundedMap } from "@dowser/engine-sdk/host"
import { type OpenResponse, call, refusedAddress } from "./exchange.ts"
import { headersOf, pieces, wholeBody } from "./answer-body.ts"
import { openSocket, outboundSocket, socketAddress } from "./socket.ts"
import {
  CurrentOutbound,
  OutboundFailure,
  OutboundHttp,
  type OutboundRequest,
  type OutboundResponse
} from "./outbound-http.ts"
import { isPublicAddress } from "./public-address.ts"

interface OutboundHttpOptions {
  /** Private and loopback addresses are reached only when the operator allows it. */
  readonly allowPrivateAddresses: boolean
}

/** Connections kept open to one address, and how long an unused one is kept. */
const FREE_SOCKETS_MAX = 64
const FREE_SOCKET_MS = 4_000
/** A DNS look-up is cached for this long: a thousand deliveries to one name need one query. */
const NAME_KEPT_MS = 5_000
const NAMES_BYTES_MAX = 8_000_000,
  ADDRESSES_BYTES = 500
/** Maximum number of addresses of one name that are tried in turn. */
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
    // A failure is not cached: the next attempt queries again.
    addresses.catch(() => known.delete(host))
    return addresses
  }
}

const neverConnected = (error: { readonly code?: string }): boolean =>
  error.code !== undefined && /^(ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL|ETIMEDOUT)$/.test(error.code)

/** The addresses of a name to try, limited to those that calls may reach. */
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

interface Parts {
  readonly agents: { readonly "http:": Agent; readonly "https:": Agent }
  readonly namesOf: ReturnType<typeof makeNames>
  readonly isAllowed: (address: string) => boolean
}
type Asked = Pick<OutboundRequest, "method" | "url" | "headers" | "body">
/** Tries the addresses of the request's host in turn, until a connection succeeds; resolves at the status line. */
const answered = async (
  { agents, isAllowed, namesOf }: Parts,
  request: Asked,
  deadline: AbortSignal
): Promise<OpenResponse> => {
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
    const to = { url, host, address, agent: agents[url.protocol], deadline, isAllowed, request }
    try {
      return await call(to)
    } catch (error) {
      const { code, isReused } = error as { readonly code?: string; readonly isReused?: boolean }
      // A kept connection that the receiver had just closed reveals nothing about the receiver, so try once more on a
      // new one.
      if (isReused === true && (code === "ECONNRESET" || code === "EPIPE") && !deadline.aborted)
        return await call({ ...to, agent: false })
      last = error as Error
      if (!neverConnected(error as { readonly code?: string })) break
    }
  }
  throw last
}

/** Runs a call up to the result of its status line, within `timeout_ms`; interrupting it closes the connection. */
const within = <A>(
  timeout_ms: number,
  run: (ending: AbortSignal) => Promise<A>,
  /** Handles a result that arrives when nobody is waiting any longer. */ discard: (value: A) => void = () => {}
): Effect.Effect<A, OutboundFailure> =>
  Effect.callback<A, OutboundFailure>((resume) => {
    const ending = new AbortController()
    const timer = setTimeout(
      () => ending.abort(new OutboundFailure({ kind: "timeout", message: `No answer within ${timeout_ms / 1_000} s` })),
      timeout_ms
    )
    let isGivenUp = false
    run(ending.signal).then(
      (value) => {
        clearTimeout(timer)
        if (isGivenUp) discard(value)
        else resume(Effect.succeed(value))
      },
      (error: Error) => {
        clearTimeout(timer)
        resume(Effect.fail(failureOf(error)))
      }
    )
    return Effect.sync(() => {
      clearTimeout(timer)
      isGivenUp = true
      ending.abort(new OutboundFailure({ kind: "connection", message: "Given up" }))
    })
  })

const makeAgents = Effect.acquireRelease(
  Effect.sync(() => {
    const kept = { keepAlive: true, maxFreeSockets: FREE_SOCKETS_MAX, timeout: FREE_SOCKET_MS }
    return { "http:": new HttpAgent(kept), "https:": new HttpsAgent(kept) }
  }),
  (agents) =>
    Effect.sync(() => {
      for (const agent of Object.values(agents)) agent.destroy()
    })
)

export const layer = ({ allowPrivateAddresses }: OutboundHttpOptions): Layer.Layer<OutboundHttp> =>
  Layer.effect(
    OutboundHttp,
    Effect.gen(function* () {
      const parts: Parts = {
        agents: yield* makeAgents,
        namesOf: makeNames(),
        isAllowed: (address) => allowPrivateAddresses || isPublicAddress(address)
      }
      const times = yield* CurrentOutbound
      const noted = <A extends { readonly status: number }, R>(work: Effect.Effect<A, OutboundFailure, R>) =>
        Effect.suspend(() => {
          const began = performance.now()
          const note = (outcome: string) => Effect.sync(() => times.note(outcome, (performance.now() - began) / 1_000))
          return work.pipe(
            Effect.tap(({ status }) => note(`${Math.floor(status / 100)}xx`)),
            Effect.tapError(({ kind }) => note(kind))
          )
        })
      return OutboundHttp.of({
        send: (request) =>
          noted(
            within(request.timeout_ms, async (ending): Promise<OutboundResponse> => {
              const answer = await answered(parts, request, ending)
              return await wholeBody(answer, request.responseBytesMax, ending)
            })
          ),
        connect: (request) => {
          const opened = within(
            request.timeout_ms,
            async (ending) => {
              const { host, url } = socketAddress(request.url)
              const addresses = await addressesOf(parts.namesOf, parts.isAllowed, host)
              return await openSocket(request, url, host, addresses[0]!, ending)
            },
            (socket) => socket.terminate()
          )
          return Effect.map(
            Effect.acquireRelease(opened, (socket) => Effect.sync(() => socket.terminate()), { interruptible: true }),
            outboundSocket
          )
        },
        open: (request) =>
          noted(
            Effect.suspend(() => {
              const began = performance.now()
              return Effect.acquireRelease(
                within(
                  request.timeout_ms,
                  (ending) => answered(parts, request, ending),
                  ({ client }) => client.destroy()
                ),
                // If the body was read to its end, its socket has returned to the agent and must stay open.
                ({ client, received }) => Effect.sync(() => void (received.complete || client.destroy())),
                { interruptible: true }
              ).pipe(
                Effect.map((answer) => ({
                  status: answer.received.statusCode ?? 0,
                  headers: headersOf(answer.received),
                  body: Stream.fromAsyncIterable(pieces(answer, request, began), (error) => failureOf(error as Error))
                }))
              )
            })
          )
      })
    })
  )
