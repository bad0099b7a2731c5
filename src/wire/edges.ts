/**
 * The edge below the router: what holds for every answer whatever happens above. Request ids, CORS on every answer
 * including errors, `OPTIONS` before authentication, and a 503 until the routes exist (a request accepted before that
 * would never be answered and would hold the shutdown).
 */
import { randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"

const exposed = "x-request-id, retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset"

/** Ours, or the caller's when it is short and harmless in a log line. */
const requestIdOf = (given: string | Array<string> | undefined): string =>
  typeof given === "string" && /^[\w.:-]{1,128}$/.test(given) ? given : `req_${randomBytes(12).toString("hex")}`

/** Answers what needs no route; false when the router has to see the request. */
const answersAtEdge = (server: Server, request: IncomingMessage, response: ServerResponse): boolean => {
  const id = requestIdOf(request.headers["x-request-id"])
  request.headers["x-request-id"] = id
  response.setHeader("x-request-id", id)
  response.setHeader("access-control-allow-origin", "*")
  response.setHeader("access-control-expose-headers", exposed)
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
  // Routes know GET; Node leaves the body out, because it remembers what was asked.
  if (request.method === "HEAD") request.method = "GET"
  if (server.listenerCount("request") === 0) {
    response.writeHead(503, { "retry-after": "1", "content-type": "application/json" })
    response.end(JSON.stringify({ message: "Starting" }))
    return true
  }
  return false
}

export const makeServer = (): Server => {
  const server = createServer({ keepAliveTimeout: 65_000, headersTimeout: 30_000, requestTimeout: 0, maxHeaderSize: 32 * 1024 })
  // A second `request` listener could not keep the router from answering again, so the event itself is taken.
  const emit = server.emit.bind(server) as (event: string, ...args: Array<unknown>) => boolean
  server.emit = ((event: string, ...args: Array<unknown>) =>
    event === "request" && answersAtEdge(server, args[0] as IncomingMessage, args[1] as ServerResponse) ? true : emit(event, ...args)) as typeof server.emit
  return server
}
