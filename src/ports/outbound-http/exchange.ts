/** One request to one address, from its first byte to the status line. */
import { type Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"
import { isIP, type Socket } from "node:net"
import { OutboundFailure, type OutboundRequest } from "./outbound-http.ts"

interface Call {
  readonly url: URL
  readonly host: string
  readonly address: string
  readonly agent: Agent | false
  readonly deadline: AbortSignal
  readonly isAllowed: (address: string) => boolean
  readonly request: Pick<OutboundRequest, "method" | "headers" | "body">
}
/** The status line and headers have arrived; the body waits for its reader. */
export interface OpenResponse {
  readonly client: ClientRequest
  readonly received: IncomingMessage
}

export const refusedAddress = (host: string, address: string) =>
  new OutboundFailure({
    kind: "refused_address",
    message:
      host === address
        ? `${address} is a private or reserved address; calls go to public addresses only`
        : `${host} is at ${address}, a private or reserved address; calls go to public addresses only`
  })

class Exchange {
  readonly #call: Call
  readonly #client: ClientRequest
  readonly #settle: (answer: OpenResponse) => void
  readonly #reject: (error: Error) => void
  #isDone = false
  /** Whether the connection was kept from an earlier request. */ #isReused = false

  constructor(call: Call, settle: (answer: OpenResponse) => void, reject: (error: Error) => void) {
    this.#call = call
    this.#settle = settle
    this.#reject = reject
    const body = call.request.body === undefined ? undefined : Buffer.from(call.request.body as string)
    this.#client = open(call, body)
    this.#client.on("socket", (socket) => {
      this.#isReused = this.#client.reusedSocket
      // Deno itself repeats a request whose kept connection closes before an answer, even if it was closed here on
      // time-out: a message would be received twice. The caller decides whether to repeat.
      this.#client.reusedSocket = false
      this.#check(socket)
    })
    this.#client.on("response", (received) => this.#receive(received))
    this.#client.on("error", (error) => this.#fail(Object.assign(error, { isReused: this.#isReused })))
    this.#client.on("close", () => {
      const error = new Error("The connection was closed without an answer")
      this.#fail(Object.assign(error, { code: "ECONNRESET", isReused: this.#isReused }))
    })
    if (call.deadline.aborted) this.#onDeadline()
    else {
      call.deadline.addEventListener("abort", this.#onDeadline)
      this.#client.end(body)
    }
  }

  /** Checks the address that the socket reports it is connected to. */
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
    // The reader of the body gets the error; an error before that must not crash the process.
    received.on("error", () => {})
    if (!this.#end()) return
    this.#settle({ client: this.#client, received })
  }

  readonly #onDeadline = (): void => this.#fail(this.#call.deadline.reason as Error)

  #end(): boolean {
    if (this.#isDone) return false
    this.#isDone = true
    this.#call.deadline.removeEventListener("abort", this.#onDeadline)
    return true
  }
  #fail(error: Error): void {
    if (!this.#end()) return
    this.#client.destroy()
    this.#reject(error)
  }
}

/** Opens the request without sending it: to the address itself, with the name in `Host` and in TLS. */
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

/** Rejects with whatever failed before the status line. */
export const call = (to: Call): Promise<OpenResponse> =>
  new Promise((settle, reject) => void new Exchange(to, settle, reject))
