/**
 * Vectors of a model on a server: in batches as large as the server accepts, one after another. Each is retried if that
 * may help (429 and 5xx after `Retry-After`, a broken connection), and each has a time limit. The answer's body is
 * bounded, and so are an organization's concurrent requests.
 */
import { Clock, Data, Effect } from "effect"
import { OrganizationLines } from "../../organization-lines.ts"
import { OutboundHttp, type OutboundResponse } from "../../outbound-http/outbound-http.ts"
import { askedOf, batchMaxOf, type Purpose, type RemoteModel, tokensIn, vectorsIn } from "./providers.ts"

/** `isFinal`: repeating it would give the same answer; the person who chose the model has to change something. */
export class RemoteEmbeddingFailed extends Data.TaggedError("RemoteEmbeddingFailed")<{
  readonly message: string
  readonly isFinal: boolean
  /** The request was refused, possibly because of a single text. */ readonly isOfInput: boolean
}> {}

export interface RemoteOrder {
  readonly organizationId: string
  readonly model: RemoteModel
  readonly texts: ReadonlyArray<string>
  readonly purpose: Purpose
  /** Dimensions that vectors must have; undefined: those of the first. */ readonly dimensions: number | undefined
  /** Time limit of one try. */ readonly timeout_ms: number
  readonly tries: number
}

/** Room for 128 vectors of 3,072 numbers, each some 60 kB of JSON. */
const ANSWER_BYTES_MAX = 16_000_000
const TIMEOUT_MAX_MS = 120_000
const TRIES_MAX = 10
const WAIT_FIRST_MS = 250
const WAIT_MAX_MS = 10_000
/** Concurrent requests of one organization, over all models. */
const AT_ONCE_MAX = 4
const QUOTED_MAX = 200

const waitOf = (header: string | undefined, now: number, tried: number): number => {
  const byDefault = WAIT_FIRST_MS * 2 ** tried
  if (header === undefined) return Math.min(WAIT_MAX_MS, byDefault)
  const ms = /^\d{1,9}(?:\.\d+)?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now
  return Math.min(WAIT_MAX_MS, Number.isFinite(ms) ? Math.max(0, ms) : byDefault)
}
/** Statuses for a text that is too long, or that the server cannot read. */
const OF_INPUT: ReadonlySet<number> = new Set([400, 413, 422])
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500

/** The server's error on one line, without anything that looks like a credential. */
const quoted = ({ body }: OutboundResponse): string => {
  const text = new TextDecoder()
    .decode(body.subarray(0, 2_000))
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .replace(/[A-Za-z0-9_-]{24,}/g, "…")
    .trim()
  return text === "" ? "" : `: ${text.slice(0, QUOTED_MAX)}`
}
const failed = (model: RemoteModel, what: string, isFinal: boolean, isOfInput = false) =>
  new RemoteEmbeddingFailed({
    message: `The server of the model \`${model.kind}/${model.model}\` ${what}.`,
    isFinal,
    isOfInput
  })

type Try =
  | { readonly kind: "vectors"; readonly vectors: ReadonlyArray<Float32Array>; readonly tokens: number }
  | { readonly kind: "failed"; readonly error: RemoteEmbeddingFailed }
  | { readonly kind: "later"; readonly error: RemoteEmbeddingFailed; readonly retryAfter: string | undefined }

const judged = (order: RemoteOrder, texts: ReadonlyArray<string>, response: OutboundResponse): Try => {
  const { model } = order
  const { headers, isTruncated, status } = response
  if (isPassing(status))
    return {
      kind: "later",
      error: failed(model, `answered ${status}${quoted(response)}`, false),
      retryAfter: headers["retry-after"]
    }
  if (status === 401 || status === 403)
    return { kind: "failed", error: failed(model, `refused the credential (${status})`, true) }
  if (status < 200 || status >= 300)
    return {
      kind: "failed",
      error: failed(model, `answered ${status}${quoted(response)}`, true, OF_INPUT.has(status))
    }
  if (isTruncated) return { kind: "failed", error: failed(model, "answered more than 16 MB, or did not end", false) }
  let answer: unknown
  try {
    answer = JSON.parse(new TextDecoder().decode(response.body))
  } catch {
    return { kind: "failed", error: failed(model, "answered something that is not JSON", true) }
  }
  const vectors = vectorsIn(model, answer, texts.length, order.dimensions)
  return typeof vectors === "string"
    ? { kind: "failed", error: failed(model, vectors, true) }
    : { kind: "vectors", vectors, tokens: tokensIn(answer, texts) }
}

/** Queries model servers; every call goes through `OutboundHttp`. */
export const makeRemoteEmbedder = Effect.gen(function* () {
  const http = yield* OutboundHttp
  const clock = yield* Clock.Clock
  const lines = new OrganizationLines(AT_ONCE_MAX)

  const tryOnce = Effect.fnUntraced(function* (order: RemoteOrder, texts: ReadonlyArray<string>) {
    const { model } = order
    const asked = askedOf(model, texts, order.purpose)
    if (asked === undefined)
      return { kind: "failed", error: failed(model, "has no address: name a `url`", true) } as Try
    const sent = http.send({
      method: "POST",
      url: asked.url,
      headers: asked.headers,
      body: JSON.stringify(asked.body),
      timeout_ms: Math.min(TIMEOUT_MAX_MS, Math.max(1, order.timeout_ms)),
      responseBytesMax: ANSWER_BYTES_MAX
    })
    return yield* Effect.match(sent, {
      onSuccess: (response) => judged(order, texts, response),
      onFailure: ({ kind, message }): Try => {
        const isFinal = kind === "refused_address" || kind === "certificate"
        const error = failed(model, `cannot be asked (${message.replace(/\.$/, "")})`, isFinal)
        return isFinal ? { kind: "failed", error } : { kind: "later", error, retryAfter: undefined }
      }
    })
  })
  const batch = Effect.fnUntraced(function* (order: RemoteOrder, texts: ReadonlyArray<string>) {
    const tries = Math.min(TRIES_MAX, Math.max(1, order.tries))
    for (let tried = 0; ; tried++) {
      const outcome = yield* lines.of(order.organizationId).withPermits(1)(tryOnce(order, texts))
      if (outcome.kind === "vectors") return outcome
      if (outcome.kind === "failed" || tried + 1 >= tries) return yield* outcome.error
      yield* Effect.sleep(waitOf(outcome.retryAfter, clock.currentTimeMillisUnsafe(), tried))
    }
  })

  return {
    /** Returns a unit vector for each text, in order; equal texts are sent once. */
    embed: Effect.fnUntraced(function* (order: RemoteOrder) {
      const distinct = [...new Set(order.texts)]
      const found = new Map<string, Float32Array>()
      const size = batchMaxOf(order.model.kind)
      let dimensions = order.dimensions
      let inputTokens = 0
      for (let at = 0; at < distinct.length; at += size) {
        const texts = distinct.slice(at, at + size)
        const { tokens, vectors } = yield* batch({ ...order, dimensions }, texts)
        inputTokens += tokens
        texts.forEach((text, i) => found.set(text, vectors[i]!))
        dimensions ??= vectors[0]?.length
      }
      return { vectors: order.texts.map((text) => found.get(text)!), inputTokens }
    })
  }
})
export type RemoteEmbedder = Effect.Success<typeof makeRemoteEmbedder>
