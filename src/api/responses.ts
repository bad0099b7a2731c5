/** Results, failures and defects as HTTP responses. */
import type { IncomingMessage } from "node:http"
import { Readable } from "node:stream"
import { Cause, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { edgeHeaders } from "../http/edges.ts"
import { InternalError } from "../http/errors.ts"
import type { Operation } from "../http/operation.ts"
import { originOf } from "../http/origin.ts"
import type { Plane } from "../http/plane.ts"
import type { DeclaredError } from "../http/declared.ts"
import { render } from "../http/render.ts"
import { Reply } from "../http/reply.ts"
import { FREE_BYTES, type HeldMemory } from "../http/request-memory.ts"
import { IN_PIECES_CHARS, textInPieces } from "../http/text-in-pieces.ts"
import type { Caller } from "../identity/caller.ts"
import type { KeyRecord } from "../identity/key-record.ts"

const isDeclared = (error: unknown): error is DeclaredError =>
  typeof error === "object" &&
  error !== null &&
  typeof (error as { readonly _tag?: unknown })._tag === "string" &&
  typeof (error as { readonly message?: unknown }).message === "string"

const errorResponse = (
  error: DeclaredError,
  plane: Plane,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse => {
  const rendered = render(error, plane)
  return HttpServerResponse.text(JSON.stringify(rendered.body), {
    status: rendered.status,
    headers: { ...headers, ...rendered.headers },
    contentType: "application/json"
  })
}

/**
 * Turns a cause into a response: a declared failure gets its format; anything else is logged with its request id and
 * becomes a 500.
 */
export const causeResponse = (
  cause: Cause.Cause<unknown>,
  plane: Plane,
  requestId: string,
  place: string,
  headers: Readonly<Record<string, string>>
) => {
  const failure = cause.reasons.find((reason) => reason._tag === "Fail")
  if (failure !== undefined && isDeclared(failure.error))
    return Effect.succeed(errorResponse(failure.error, plane, headers))
  if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
  return Effect.as(
    Effect.logError(`${place} failed (${requestId})`, cause),
    errorResponse(new InternalError({ message: "Unexpected error.", requestId }), plane, headers)
  )
}

/** For every page: it loads from and connects only to us, and may not be framed. A page may restrict this further. */
const pageHeaders = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "referrer-policy": "same-origin"
}
interface TextOptions {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly contentType: string
}
const textResponse = (
  text: string,
  { contentType, headers, status }: TextOptions
): HttpServerResponse.HttpServerResponse =>
  text.length < IN_PIECES_CHARS
    ? HttpServerResponse.text(text, { status, headers, contentType })
    : HttpServerResponse.raw(textInPieces(text), {
        status,
        headers: { ...headers, "content-type": contentType, "content-length": String(Buffer.byteLength(text)) }
      })
export const toResponse = (
  operation: Operation,
  answer: unknown,
  headers: Readonly<Record<string, string>>,
  held: () => HeldMemory
): HttpServerResponse.HttpServerResponse => {
  const owing = <A extends string | Uint8Array>(body: A): A => {
    if (body.length > FREE_BYTES) held().accountResponse(body.length)
    return body
  }
  if (!(answer instanceof Reply))
    return textResponse(owing(JSON.stringify(answer)), {
      status: operation.success.status,
      headers,
      contentType: "application/json"
    })
  const options = {
    status: answer.status,
    headers: { ...headers, ...(answer.type.startsWith("text/html") ? pageHeaders : {}), ...answer.headers },
    contentType: answer.type
  }
  if (typeof answer.body === "string") return textResponse(owing(answer.body), options)
  if (answer.body instanceof Readable)
    return HttpServerResponse.raw(answer.body, {
      status: answer.status,
      headers: { ...headers, ...answer.headers, "content-type": answer.type }
    })
  return HttpServerResponse.uint8Array(owing(answer.body), options)
}

export interface IdentifiedKey {
  readonly key: Pick<KeyRecord, "origins">
  readonly rate: Caller["rate"]
}
/** For every response to a known key, including refusals. */
export const headersOf = (known: IdentifiedKey | undefined, node: IncomingMessage): Record<string, string> => {
  const origin = originOf(node.headers)
  const headers: Record<string, string> =
    node.headers.upgrade === undefined ? {} : { ...edgeHeaders(String(node.headers["x-request-id"])) }
  if (known === undefined) return headers
  const { key, rate } = known
  if (rate !== undefined) {
    headers["x-ratelimit-limit"] = String(rate.limit)
    headers["x-ratelimit-remaining"] = String(rate.remaining)
    headers["x-ratelimit-reset"] = new Date(rate.resets_at).toISOString()
  }
  if (key.origins.length > 0 && origin !== undefined) {
    headers["access-control-allow-origin"] = origin
    headers.vary = "origin"
  }
  return headers
}
