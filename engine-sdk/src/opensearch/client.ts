/**
 * Requests to a cluster over REST, with rotation over nodes, a time limit, a bound on the size of a response, and
 * failures by kind. A request that is safe to repeat goes to the next node if one does not answer; a write whose
 * response was lost is reported as such.
 */
import { parseJson } from "../documents/json.ts"
import { type EngineError, fail, invalid, ok, type Result } from "../errors.ts"
import type { OpensearchOptions } from "./options.ts"

const TIMEOUT_MS = 30_000
const ANSWER_BYTES = 64 * 1_048_576
/** How long a node that did not answer is tried last. */
const ASIDE_MS = 5_000
const ATTEMPTS_MAX = 3
/** How long a node may take to accept a connection. */
const THERE_MS = 2_000
/** Retries on nodes that are reachable but cannot answer, with growing pauses. */
const ROUNDS_MAX = 6,
  PAUSE_MS = 50

interface ClusterRequest {
  readonly method: "GET" | "PUT" | "POST" | "DELETE"
  readonly path: string
  /** A string is sent as newline-delimited JSON. */ readonly body?: object | string
  readonly timeout_ms?: number
  /** Whether sending it twice has the same effect as sending it once. */ readonly isRepeatable: boolean
}
interface Failure {
  readonly error: EngineError
  /** Whether another node might answer. */ readonly isOfNode: boolean
  /** The node is reachable, but reports that it cannot answer now. */ readonly isReady?: false
  /** No part of the request reached a node. */ readonly isUnsent?: boolean
}

export class ClusterClient {
  readonly #nodes: ReadonlyArray<string>
  readonly #authorization: string | undefined
  readonly #timeout_ms: number
  readonly #bytes_max: number
  /** Until when each node is tried last. */ readonly #aside = new Map<string, number>()
  readonly #closing = new AbortController()
  #turn = 0

  constructor({ nodes, credentials, timeout_ms = TIMEOUT_MS, answerBytes_max = ANSWER_BYTES }: OpensearchOptions) {
    this.#nodes = nodes.map((node) => node.replace(/\/+$/, ""))
    this.#timeout_ms = timeout_ms
    this.#bytes_max = answerBytes_max
    this.#authorization =
      credentials === undefined
        ? undefined
        : "apiKey" in credentials
          ? `ApiKey ${credentials.apiKey}`
          : `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${credentials.username}:${credentials.password}`)))}`
  }

  async ask<A>(request: ClusterRequest): Promise<Result<A>> {
    const until = performance.now() + Math.min(request.timeout_ms ?? Infinity, this.#timeout_ms)
    let failure: EngineError = { kind: "Unavailable", message: "No node of the search cluster is known." }
    for (let round = 0; round < ROUNDS_MAX; round++) {
      let isReturning = false
      for (const node of this.#order().slice(0, ATTEMPTS_MAX)) {
        const left_ms = until - performance.now()
        if (left_ms <= 0) return fail(failure)
        const answer = await this.#askNode<A>(node, request, left_ms)
        if (answer.ok) {
          this.#aside.delete(node)
          return answer
        }
        failure = answer.error.error
        const { isOfNode, isReady, isUnsent = false } = answer.error
        if (isOfNode) this.#aside.set(node, performance.now() + ASIDE_MS)
        if (!isOfNode) return fail(failure)
        if (!request.isRepeatable && !isUnsent) return fail(await this.#lostBy(node, failure))
        isReturning ||= isReady === false
      }
      // Nodes that are electing a leader, or moving a lost shard, recover soon.
      if (!isReturning) break
      await this.#pause(Math.min(PAUSE_MS * 2 ** round, until - performance.now()))
    }
    return fail(failure)
  }
  /** The failure of a write whose response was lost. If another node answers, only this node was lost (`isThere`). */
  async #lostBy(lost: string, failure: EngineError): Promise<EngineError> {
    if (failure.kind !== "Unavailable" && failure.kind !== "TimedOut") return failure
    const others = this.#nodes.filter((node) => node !== lost)
    const asked = await Promise.all(
      others.map((node) => this.#askNode(node, { method: "GET", path: "/", isRepeatable: true }, THERE_MS))
    )
    return asked.some((answer) => answer.ok) ? { ...failure, isThere: true } : failure
  }
  #pause(time_ms: number): Promise<void> {
    return new Promise((settle) => setTimeout(settle, Math.max(0, time_ms)))
  }
  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }
  close(): void {
    this.#closing.abort()
  }

  /** The nodes in rotation; those that recently failed to answer come last. */
  #order(): string[] {
    const first = this.#turn++ % Math.max(1, this.#nodes.length)
    const all = [...this.#nodes.slice(first), ...this.#nodes.slice(0, first)]
    const now = performance.now()
    const isAside = (node: string): boolean => (this.#aside.get(node) ?? 0) > now
    return [...all.filter((node) => !isAside(node)), ...all.filter(isAside)]
  }
  async #askNode<A>(node: string, request: ClusterRequest, left_ms: number): Promise<Result<A, Failure>> {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(Math.ceil(left_ms))])
    try {
      const response = await fetch(node + request.path, { ...this.#sent(request), signal })
      const text = await this.#textOf(response)
      if (text === undefined)
        return refused(invalid(`The search cluster answers with more than ${this.#bytes_max} bytes; ask for less.`))
      // Some responses are empty, and a proxy in front of the cluster may respond with an HTML page.
      const body = text === "" || !isJson(response) ? undefined : parseJson(text)
      return response.ok ? ok(body as A) : fail(failureOf(response.status, body))
    } catch (error) {
      return fail(this.#lost(error))
    }
  }
  #sent({ method, body }: ClusterRequest): RequestInit {
    const headers: Record<string, string> = {}
    if (this.#authorization !== undefined) headers.authorization = this.#authorization
    if (body === undefined) return { method, headers }
    headers["content-type"] = typeof body === "string" ? "application/x-ndjson" : "application/json"
    return { method, headers, body: typeof body === "string" ? body : JSON.stringify(body) }
  }
  /** undefined if the response is too large. */
  async #textOf(response: Response): Promise<string | undefined> {
    if (response.body === null) return ""
    const decoder = new TextDecoder()
    let text = "",
      bytes = 0
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      bytes += chunk.length
      if (bytes > this.#bytes_max) return undefined
      text += decoder.decode(chunk, { stream: true })
    }
    return text + decoder.decode()
  }
  #lost(error: unknown): Failure {
    if (this.#closing.signal.aborted)
      return { error: { kind: "Unavailable", message: "The engine is closed." }, isOfNode: false }
    if (error instanceof Error && error.name === "TimeoutError")
      return { error: { kind: "TimedOut", message: "The search cluster did not answer in time." }, isOfNode: true }
    if (error instanceof SyntaxError)
      return { error: { kind: "Unavailable", message: "The search cluster answered no JSON." }, isOfNode: true }
    return {
      error: { kind: "Unavailable", message: "No node of the search cluster answers." },
      isOfNode: true,
      isUnsent: isUnsent(error)
    }
  }
}
/** Whether no connection was made; Deno and Node report this differently. */
const isUnsent = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false
  const { code } = error as { readonly code?: string }
  return code === "ECONNREFUSED" || error.message.includes("client error (Connect)") || isUnsent(error.cause)
}

const isJson = (response: Response): boolean => (response.headers.get("content-type") ?? "").includes("json")
const refused = (error: EngineError): Result<never, Failure> => fail({ error, isOfNode: false })

interface ErrorBody {
  readonly error?: string | { readonly type?: string; readonly reason?: string; readonly root_cause?: unknown }
}
const reasonOf = (body: unknown): { readonly type: string; readonly reason: string } => {
  const error = (body as ErrorBody | undefined)?.error
  return typeof error === "object"
    ? { type: error.type ?? "", reason: error.reason ?? "" }
    : { type: "", reason: error ?? "" }
}
const failureOf = (status: number, body: unknown): Failure => {
  const { type, reason } = reasonOf(body)
  const isOfNode = status === 502 || status === 503 || status === 504
  return { error: errorOf(status, type, reason), isOfNode, ...(status === 503 ? { isReady: false } : {}) }
}
/** The error for a status and error type of the cluster, for a request or one entry of it. */
export const errorOf = (status: number, type: string, reason: string): EngineError => {
  // A full disk or a read-only index: the cluster is reachable and accepts writes again once this is resolved.
  if (type === "index_create_block_exception")
    return { kind: "Overloaded", message: `The search cluster takes no new indices: ${reason}`, retryAfterSeconds: 10 }
  if (type.endsWith("_block_exception") && status !== 503)
    return { kind: "Overloaded", message: `The search cluster takes no writes: ${reason}`, retryAfterSeconds: 10 }
  switch (status) {
    case 400:
    case 413:
      return invalid(`The search cluster refuses the request: ${reason}`)
    case 401:
    case 403:
      return { kind: "Unavailable", message: "The search cluster refuses the credentials it was given." }
    case 404:
      return { kind: "NotFound", message: reason === "" ? "Not found" : reason }
    case 408:
    case 504:
      return { kind: "TimedOut", message: "The search cluster did not answer in time." }
    case 409:
      return { kind: "Conflict", message: reason }
    case 429:
      return { kind: "Overloaded", message: "The search cluster has too much to do.", retryAfterSeconds: 1 }
    default:
      return { kind: "Unavailable", message: `The search cluster answers ${status}: ${reason}` }
  }
}
