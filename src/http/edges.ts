/**
 * The edge below the router, which handles what applies to every response: request ids, CORS on every response
 * including errors, `OPTIONS` before authentication, and a 503 until the routes exist (a request accepted earlier
 * would never be answered and would delay the shutdown).
 */
import { randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { isInCidrs } from "../net/network-address.ts"
import { boundConnections, type ConnectionBounds } from "./connections.ts"
import { keepUpgrade } from "./upgrades.ts"

/** Idle timeout in either direction, so that a stalled body or response holds nothing for longer. */
const SILENCE_MS = 120_000

const exposed = "x-request-id, retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset"

/** Random bytes as hex for many ids, because requested one by one they take a hundredth of a small request. */
const ID_DIGITS = 24,
  IDS_AT_ONCE = 256
let digits = "",
  digitsAt = 0
const ownRequestId = (): string => {
  if (digitsAt >= digits.length) {
    digits = randomBytes((ID_DIGITS / 2) * IDS_AT_ONCE).toString("hex")
    digitsAt = 0
  }
  return `req_${digits.slice(digitsAt, (digitsAt += ID_DIGITS))}`
}
/** Our own id, or the caller's if it is short and harmless in a log line. */
const requestIdOf = (given: string | Array<string> | undefined): string =>
  typeof given === "string" && /^[\w.:-]{1,128}$/.test(given) ? given : ownRequestId()

/** Limit of a request's head: its request line and all its headers. */
const HEAD_BYTES_MAX = 32 * 1024

/** Sent with every response. An upgraded connection writes its own head, so routes add these to it (`route.ts`). */
export const edgeHeaders = (requestId: string): Readonly<Record<string, string>> => ({
  "x-request-id": requestId,
  "access-control-allow-origin": "*",
  "access-control-expose-headers": exposed,
  "x-content-type-options": "nosniff"
})

/** Headers in which proxies describe the request that they forward; lower case. */
const forwardedHeaders = ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded", "x-real-ip"]
export interface EdgeOptions extends ConnectionBounds {
  /** The header in which a trusted proxy names the visitor's country. */ readonly countryHeader?: string | undefined
}
/** Only trusted proxies may describe the client: these headers are removed from all other requests. */
const makeForget = ({ countryHeader, trustedProxies = [] }: EdgeOptions) => {
  const names = countryHeader === undefined ? forwardedHeaders : [...forwardedHeaders, countryHeader.toLowerCase()]
  return ({ headers, socket }: IncomingMessage): void => {
    for (const name of names) {
      if (headers[name] === undefined) continue
      if (trustedProxies.length > 0 && isInCidrs(socket.remoteAddress ?? "", trustedProxies)) return
      delete headers[name]
    }
  }
}

/**
 * Gives the request its id. An address that cannot be decoded is replaced by one that no operation has, and refused
 * like any unknown one.
 */
const named = (request: IncomingMessage): string => {
  const id = requestIdOf(request.headers["x-request-id"])
  request.headers["x-request-id"] = id
  const url = request.url ?? "/"
  if (!/[%;#]/.test(url)) return id
  const mark = url.indexOf("?")
  const path = mark < 0 ? url : url.slice(0, mark)
  // The router would end the path at these characters; they are part of it (RFC 3986), also to proxies in front.
  if (!isDecodable(path)) request.url = `${/^\/(?:(?:api|console)\/)?v1(?=\/)/.exec(path)?.[0] ?? ""}/%25`
  else if (/[;#]/.test(path)) request.url = path.replaceAll(";", "%3B").replaceAll("#", "%23") + url.slice(path.length)
  return id
}
const isDecodable = (path: string): boolean => {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** Responds to requests that need no route; false if the router must handle the request. */
const answersAtEdge = (server: Server, request: IncomingMessage, response: ServerResponse): boolean => {
  for (const [name, value] of Object.entries(edgeHeaders(named(request)))) response.setHeader(name, value)
  // A message without a host (RFC 9112), or with an unknown expectation (RFC 9110).
  if (request.headers.host === undefined && request.httpVersion === "1.1")
    return refuses(response, 400, "The request names no host.")
  if (request.headers.expect !== undefined && request.headers.expect.toLowerCase() !== "100-continue")
    return refuses(response, 417, "Only `100-continue` can be expected.")
  if (request.method === "OPTIONS") {
    response.writeHead(204, {
      "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
      "access-control-allow-headers": request.headers["access-control-request-headers"] ?? "*",
      "access-control-max-age": "86400",
      vary: "access-control-request-headers"
    })
    response.end()
    return true
  }
  // Routes only handle GET; Node omits the body, because it remembers the original method.
  if (request.method === "HEAD") request.method = "GET"
  if (server.listenerCount("request") === 0) {
    response.setHeader("retry-after", "1")
    return refuses(response, 503, "Starting")
  }
  return false
}
const refuses = (response: ServerResponse, status: number, message: string): true => {
  response.writeHead(status, { "content-type": "application/json", connection: "close" })
  response.end(JSON.stringify({ message }))
  return true
}

/**
 * A request that the parser rejects never becomes a request, so it is answered here, and the connection is closed
 * because its framing is in doubt.
 */
const answerUnparsed = (error: Error & { readonly code?: string }, socket: Duplex): void => {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy()
  const [status, message] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", `The head of a request is at most ${HEAD_BYTES_MAX} bytes.`]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "The request did not arrive in time."]
        : ["400 Bad Request", "This is not an HTTP request."]
  const body = JSON.stringify({ message })
  const headers = {
    ...edgeHeaders(requestIdOf(undefined)),
    "content-type": "application/json",
    "content-length": String(body.length),
    connection: "close"
  }
  socket.end(
    `HTTP/1.1 ${status}\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("")}\r\n${body}`
  )
}

/** Events that carry a request. Node does not emit `request` for the last two if somebody listens to them. */
const requestEvents: ReadonlySet<string> = new Set(["request", "checkContinue", "checkExpectation"])

export const makeServer =
  (options: EdgeOptions = {}) =>
  (): Server => {
    const forget = makeForget(options)
    const server = createServer({
      keepAliveTimeout: 65_000,
      headersTimeout: 30_000,
      requestTimeout: 0,
      maxHeaderSize: HEAD_BYTES_MAX,
      requireHostHeader: false
    })
    server.setTimeout(SILENCE_MS)
    boundConnections(server, options)
    server.on("clientError", answerUnparsed)
    server.on("checkExpectation", () => {})
    // A second `request` listener could not keep the router from responding again, so the event itself is intercepted.
    const emit = server.emit.bind(server) as (event: string, ...args: Array<unknown>) => boolean
    server.emit = ((event: string, ...args: Array<unknown>) => {
      if (event === "upgrade" || requestEvents.has(event)) forget(args[0] as IncomingMessage)
      if (event === "upgrade") {
        named(args[0] as IncomingMessage)
        keepUpgrade(args[0] as IncomingMessage, args[1] as Duplex, args[2] as Buffer)
      }
      return requestEvents.has(event) && answersAtEdge(server, args[0] as IncomingMessage, args[1] as ServerResponse)
        ? true
        : emit(event, ...args)
    }) as typeof server.emit
    return server
  }
