/**
 * Fetching a page: with the token as bearer, conditionally where the page was had before. What may pass (an answer of
 * 429 or 5xx, a connection that fails) is tried again after a while, and after what `Retry-After` says.
 */
import { Clock, Effect, Schema } from "effect"
import { version } from "../../config.ts"
import { OutboundHttp, type OutboundRequest, type OutboundResponse } from "../../ports/outbound-http/outbound-http.ts"
import { type Page, PageUnfit, readPage } from "./page.ts"

/** As much as a push: it is parsed in one piece. */
export const PAGE_BYTES_MAX = 5_000_000
const PAGE_TIMEOUT_MS = 60_000
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

const requestOf = ({ known, token, url }: Asked): OutboundRequest => ({
  method: "GET",
  url,
  timeout_ms: PAGE_TIMEOUT_MS,
  responseBytesMax: PAGE_BYTES_MAX,
  headers: {
    accept: ACCEPT,
    "user-agent": `Dowser-Connectors/${version}`,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(known?.etag === undefined ? {} : { "if-none-match": known.etag }),
    ...(known?.last_modified === undefined ? {} : { "if-modified-since": known.last_modified })
  }
})
const VALIDATOR_CHARACTERS_MAX = 512
const validatorsOf = ({ headers }: OutboundResponse): Validators => {
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

const judged = (url: string, response: OutboundResponse, now: number): Judged => {
  const { body, headers, isTruncated, status } = response
  const at = `${new URL(url).pathname} answered ${status}`
  if (status === 304) return { kind: "unchanged" }
  if (status === 429 || status === 408 || status >= 500)
    return { kind: "later", message: at, after_ms: waitOf(headers["retry-after"], now) }
  if (status === 401 || status === 403) return { kind: "failed", message: `${at}: the token is missing or not taken` }
  if (status >= 300 && status < 400)
    return { kind: "failed", message: `${at}: redirects are not followed, give the final address` }
  if (status !== 200) return { kind: "failed", message: at }
  if (isTruncated)
    return body.length >= PAGE_BYTES_MAX
      ? { kind: "failed", message: `A page has at most ${PAGE_BYTES_MAX} bytes; ask for fewer products a page` }
      : { kind: "later", message: `${at}, and the answer broke off`, after_ms: undefined }
  try {
    return { kind: "page", page: readPage({ url, headers, body }), validators: validatorsOf(response) }
  } catch (error) {
    if (!(error instanceof PageUnfit)) throw error
    return { kind: "failed", message: `${new URL(url).pathname}: ${error.message}` }
  }
}

export const makeFetchPage = Effect.gen(function* () {
  const http = yield* OutboundHttp
  const once = (asked: Asked) =>
    http.send(requestOf(asked)).pipe(
      Effect.flatMap((response) => Effect.map(Clock.currentTimeMillis, (now) => judged(asked.url, response, now))),
      Effect.catch(({ kind, message }) =>
        Effect.succeed<Judged>(
          kind === "refused_address" ? { kind: "failed", message } : { kind: "later", message, after_ms: undefined }
        )
      )
    )
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
