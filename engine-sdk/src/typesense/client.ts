/**
 * Requests to the nodes of a server, with a time limit, a bound on the size of a response, and failures by kind. A
 * request that is safe to repeat goes to the next node if one does not answer; any other is reported as lost.
 */
import { parseBounded, parseJson } from "../documents/json.ts"
import { boundedText } from "../error-text.ts"
import { type EngineError, fail, invalid, ok, type Result } from "../errors.ts"
import { Nodes } from "./nodes.ts"
import type { TypesenseOptions } from "./options.ts"

const TIMEOUT_MS = 30_000
const ANSWER_BYTES = 64 * 1_048_576
const ATTEMPTS_MAX = 3
const DEPTH_MAX = 100
/** Maximum objects and lists in one response: 50 searches of 250 hits with a few dozen each. */
const CONTAINERS_MAX = 2_000_000

interface ServerRequest {
  readonly method: "GET" | "PUT" | "POST" | "PATCH" | "DELETE"
  readonly path: string
  readonly body?: object | string
  /** Limit over all nodes tried; the client has a default. */ readonly timeout_ms?: number
  /** Limit for one node, as long as there is another to try. */ readonly attempt_ms?: number
  /** Whether sending it twice has the same effect as sending it once. */ readonly isRepeatable: boolean
  /** Called with the size of the response in bytes. */ readonly heard?: (bytes: number) => void
}
interface Failure {
  readonly error: EngineError
  /** Whether another node might answer. */ readonly isOfNode: boolean
  /** Nothing was executed: no node accepted the request, or the node reported that. */ readonly isUndone?: boolean
}
const UNKNOWN = "whether it did what was asked is not known"
const unavailable = (message: string): EngineError => ({ kind: "Unavailable", message })

export class ServerClient {
  readonly #nodes: Nodes
  readonly #headers: Readonly<Record<string, string>>
  readonly #timeout_ms: number
  readonly #bytes_max: number
  readonly #closing = new AbortController()

  constructor({ answerBytes_max = ANSWER_BYTES, apiKey, keyHeader, nodes, timeout_ms = TIMEOUT_MS }: TypesenseOptions) {
    this.#nodes = new Nodes(nodes)
    this.#headers = { [keyHeader ?? "x-typesense-api-key"]: apiKey }
    this.#timeout_ms = timeout_ms
    this.#bytes_max = answerBytes_max
  }

  /** Sends a request; returns the JSON response. */
  async ask(request: ServerRequest): Promise<Result<unknown>> {
    return this.#tried(request, async (response) => {
      const text = await this.#textOf(response, this.#bytes_max, request.heard)
      return typeof text === "string" ? parsed(text) : text
    })
  }
  /** Sends a request; returns the response as text. */
  async text(request: ServerRequest): Promise<Result<string>> {
    return this.#tried(request, async (response) => {
      const text = await this.#textOf(response, this.#bytes_max, request.heard)
      return typeof text === "string" ? ok(text) : text
    })
  }
  /** Returns the response body as a stream, which may be read without a time limit. */
  async stream(path: string): Promise<Result<ReadableStream<Uint8Array>>> {
    return this.#tried({ method: "GET", path, isRepeatable: true }, async (response) =>
      response.body === null
        ? fail({ error: unavailable("The search engine's server answers without a body."), isOfNode: true })
        : ok(response.body as ReadableStream<Uint8Array>)
    )
  }
  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }
  close(): void {
    this.#closing.abort()
  }

  async #tried<A>(
    request: ServerRequest,
    read: (response: Response) => Promise<Result<A, Failure>>
  ): Promise<Result<A>> {
    const until = performance.now() + (request.timeout_ms ?? this.#timeout_ms)
    let failure = unavailable("No node of the search engine's server is known.")
    const order = this.#nodes.order().slice(0, ATTEMPTS_MAX)
    for (const [i, node] of order.entries()) {
      const left_ms = until - performance.now()
      if (left_ms <= 0) break
      const isLast = i === order.length - 1 || !request.isRepeatable
      const attempt_ms = isLast ? left_ms : Math.min(left_ms, request.attempt_ms ?? left_ms / 2)
      const answer = await this.#askNode(node, request, attempt_ms, read)
      if (answer.ok) {
        this.#nodes.answered(node)
        return answer
      }
      failure = answer.error.error
      const { isOfNode, isUndone = false } = answer.error
      if (!isOfNode) this.#nodes.answered(node)
      else if (!this.isClosed) this.#nodes.failed(node)
      if (!isOfNode || !(request.isRepeatable || isUndone)) break
    }
    return fail(failure)
  }
  async #askNode<A>(
    node: string,
    { body, isRepeatable, method, path }: ServerRequest,
    left_ms: number,
    read: (response: Response) => Promise<Result<A, Failure>>
  ): Promise<Result<A, Failure>> {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), left_ms)
    const signal = AbortSignal.any([this.#closing.signal, limit.signal])
    try {
      const response = await fetch(node + path, {
        method,
        ...this.#sent(body, isRepeatable),
        redirect: "error",
        signal
      })
      if (response.ok) return await read(response)
      const text = await this.#textOf(response, 65_536)
      return fail(failureOf(response.status, typeof text === "string" ? messageOf(text) : ""))
    } catch (error) {
      return fail(this.#lost(error, limit.signal.aborted))
    } finally {
      clearTimeout(timer)
    }
  }
  #sent(body: ServerRequest["body"], isRepeatable: boolean): RequestInit {
    if (body === undefined) return { headers: this.#headers }
    const isText = typeof body === "string"
    const headers = { ...this.#headers, "content-type": isText ? "text/plain" : "application/json" }
    const text = isText ? body : JSON.stringify(body)
    // If the connection ends before a response, Deno resends a body that it holds entirely, but never a stream.
    return isRepeatable ? { headers, body: text } : ({ headers, body: streamed(text), duplex: "half" } as RequestInit)
  }
  async #textOf(
    response: Response,
    most = this.#bytes_max,
    heard?: (bytes: number) => void
  ): Promise<string | Result<never, Failure>> {
    if (response.body === null) return ""
    const decoder = new TextDecoder()
    let text = "",
      bytes = 0
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      bytes += chunk.length
      if (bytes > most)
        return fail({
          error: invalid(`The search engine's server answers with more than ${most} bytes; ask for less.`),
          isOfNode: false
        })
      text += decoder.decode(chunk, { stream: true })
    }
    heard?.(bytes)
    return text + decoder.decode()
  }
  #lost(error: unknown, isLate: boolean): Failure {
    if (this.isClosed) return { error: unavailable("The engine is closed."), isOfNode: false }
    if (isLate)
      return {
        error: { kind: "TimedOut", message: `The search engine's server did not answer in time; ${UNKNOWN}.` },
        isOfNode: true
      }
    const isUndone = isUnsent(error)
    return {
      error: unavailable(`No node of the search engine's server answers${isUndone ? "" : `; ${UNKNOWN}`}.`),
      isOfNode: true,
      isUndone
    }
  }
}
const streamed = (text: string): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(text))
      controller.close()
    }
  })
/** Whether no connection was made; Deno and Node report this differently. */
const isUnsent = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false
  const { code } = error as { readonly code?: string }
  return code === "ECONNREFUSED" || error.message.includes("client error (Connect)") || isUnsent(error.cause)
}

/** Parses untrusted JSON: bounded in depth and size, with long integers kept exact. */
const parsed = (text: string): Result<unknown, Failure> => {
  const body = parseBounded(text, DEPTH_MAX, parseJson, CONTAINERS_MAX)
  return typeof body === "object"
    ? ok(body.value)
    : fail({ error: unavailable("The search engine's server answers something that is no JSON."), isOfNode: true })
}
const messageOf = (text: string): string => {
  const body = parseBounded(text, DEPTH_MAX)
  const { message } =
    typeof body === "object" && typeof body.value === "object" && body.value !== null
      ? (body.value as { readonly message?: unknown })
      : {}
  return typeof message === "string" ? message : ""
}
const failureOf = (status: number, message: string): Failure => ({
  error: errorOf(status, message),
  isOfNode: status === 429 || status >= 500,
  // A node with this status has not started on the request.
  isUndone: status === 429 || status === 503
})
/** The error for a status of the server, for a request or one entry of it. */
export const errorOf = (status: number, serverMessage: string): EngineError => {
  const message = boundedText(serverMessage)
  switch (status) {
    case 400:
    case 413:
    case 422:
      return invalid(message === "" ? "The search engine's server refuses the request." : message)
    case 401:
    case 403:
      return unavailable("The search engine's server refuses the key that it was given.")
    case 404:
      return { kind: "NotFound", message: message === "" ? "Not Found" : message }
    case 408:
      return { kind: "TimedOut", message: "The search engine's server did not answer in time." }
    case 409:
      return { kind: "Conflict", message }
    case 429:
      return { kind: "Overloaded", message: "The search engine's server has too much to do.", retryAfterSeconds: 1 }
    default:
      return unavailable(`The search engine's server answers ${status}${message === "" ? "" : `: ${message}`}`)
  }
}
