/**
 * Fetching a page: with the token as bearer, conditionally where the page was had before. What may pass (an answer of
 * 429 or 5xx, a connection that fails) is tried again after a while, and after what `Retry-After` says.
 */
import { Clock, Effect, Schema, Stream } from "effect"
import { version } from "../../config.ts"
import { ACCEPTED_ENCODINGS, decoded } from "../../ports/outbound-http/decode.ts"
import { type FollowedStream, openFollowing } from "../../ports/outbound-http/follow.ts"
import { OutboundFailure, OutboundHttp } from "../../ports/outbound-http/outbound-http.ts"
import { type Page, PageUnfit, readPage } from "./page.ts"

/** As much as a push: it is parsed in one piece. */
export const PAGE_BYTES_MAX = 5_000_000
const ANSWER_TIMEOUT_MS = 30_000
const PAGE_TIMEOUT_MS = 120_000
const RETRY_AFTER_MS = [1_000, 2_000, 4_000, 8_000] as const
/** A shop system that asks for more is asked again with the next run. */
const WAIT_MAX_MS = 120_000
const ACCEPT = "application/json, application/x-ndjson, application/jsonl;q=0.9, */*;q=0.1"

/** The page cannot be had; the message is for the connector's owner. */
export class PageFailed extends Schema.TaggedError<PageFailed>()("PageFailed", { message: Schema.String }) {}

/** What a server says of a page so that it can be asked whether it changed. */
export interface Validators {
  readonly etag?: string | undefined
  readonly last_modified?: string | undefined
}
interface Asked {
  readonly url: string
  readonly token: string | undefined
  readonly known: Validators | undefined
}
type Fetched =
  | { readonly kind: "unchanged" }
  | { readonly kind: "page"; readonly page: Page; readonly validators: Validators }

const requestOf = ({ known, token, url }: Asked) => ({
  url,
  timeout_ms: ANSWER_TIMEOUT_MS,
  silence_ms: ANSWER_TIMEOUT_MS,
  total_ms: PAGE_TIMEOUT_MS,
  responseBytesMax: PAGE_BYTES_MAX,
  headers: {
    accept: ACCEPT,
    "accept-encoding": ACCEPTED_ENCODINGS,
    "user-agent": `Dowser-Connectors/${version}`,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(known?.etag === undefined ? {} : { "if-none-match": known.etag }),
    ...(known?.last_modified === undefined ? {} : { "if-modified-since": known.last_modified })
  }
})
const VALIDATOR_CHARACTERS_MAX = 512
const validatorsOf = ({ headers }: FollowedStream): Validators => {
  const kept = (text: string | undefined) =>
    text === undefined || text.length > VALIDATOR_CHARACTERS_MAX ? undefined : text
  return { etag: kept(headers.etag), last_modified: kept(headers["last-modified"]) }
}
/** Seconds or a date; undefined where nothing is said. */
const waitOf = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
type Judged =
  | Fetched
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "later"; readonly message: string; readonly after_ms: number | undefined }

/** What the status says; undefined: there is a page to be read. */
const judged = (url: string, { headers, status }: FollowedStream, now: number): Judged | undefined => {
  const at = `${new URL(url).pathname} answered ${status}`
  if (status === 304) return { kind: "unchanged" }
  if (status === 429 || status === 408 || status >= 500)
    return { kind: "later", message: at, after_ms: waitOf(headers["retry-after"], now) }
  if (status === 401 || status === 403) return { kind: "failed", message: `${at}: the token is missing or not taken` }
  return status === 200 ? undefined : { kind: "failed", message: at }
}
const read = (url: string, answer: FollowedStream, body: Uint8Array): Judged => {
  try {
    const page = readPage({ url, from: answer.url, headers: answer.headers, body })
    return { kind: "page", page, validators: validatorsOf(answer) }
  } catch (error) {
    if (!(error instanceof PageUnfit)) throw error
    return { kind: "failed", message: `${new URL(url).pathname}: ${error.message}` }
  }
}
const FINAL: ReadonlySet<OutboundFailure["kind"]> = new Set(["refused_address", "refused_redirect", "undecodable"])
const judgedFailure = ({ kind, message }: OutboundFailure): Judged =>
  kind === "too_large"
    ? { kind: "failed", message: `A page has at most ${PAGE_BYTES_MAX} bytes; ask for fewer products a page` }
    : FINAL.has(kind)
      ? { kind: "failed", message }
      : { kind: "later", message, after_ms: undefined }

export const makeFetchPage = Effect.gen(function* () {
  const http = yield* OutboundHttp
  const once = (asked: Asked) =>
    Effect.scoped(
      Effect.gen(function* () {
        const answer = yield* openFollowing(http, requestOf(asked))
        const known = judged(asked.url, answer, yield* Clock.currentTimeMillis)
        if (known !== undefined) return known
        const body = decoded(answer.body, { encoding: answer.headers["content-encoding"], bytesMax: PAGE_BYTES_MAX })
        return read(asked.url, answer, Buffer.concat(yield* Stream.runCollect(body)))
      })
    ).pipe(Effect.catch((failure) => Effect.succeed(judgedFailure(failure))))
  return Effect.fnUntraced(function* (asked: Asked): Effect.fn.Return<Fetched, PageFailed> {
    for (let attempt = 0; ; attempt++) {
      const found = yield* once(asked)
      if (found.kind === "page" || found.kind === "unchanged") return found
      if (found.kind === "failed") return yield* new PageFailed({ message: found.message })
      const pause_ms = RETRY_AFTER_MS[attempt]
      if (pause_ms === undefined || (found.after_ms ?? 0) > WAIT_MAX_MS)
        return yield* new PageFailed({ message: `${found.message} (tried ${attempt + 1} times)` })
      yield* Effect.sleep(Math.max(pause_ms, found.after_ms ?? 0))
    }
  })
})
