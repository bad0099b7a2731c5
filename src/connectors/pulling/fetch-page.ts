/**
 * Fetches a page, with the token as bearer, conditionally if the page was fetched before. Transient failures (429,
 * 5xx, a broken connection) are retried after a back-off, or after `Retry-After`. A feed (YML, Google's product XML,
 * CSV) is a page of unlimited length that is passed on while it arrives.
 */
import { Clock, Effect, Schema, Stream } from "effect"
import { version } from "../../config.ts"
import { ACCEPTED_ENCODINGS, decoded, started } from "../../ports/outbound-http/decode.ts"
import { type FollowedStream, openFollowing } from "../../ports/outbound-http/follow.ts"
import { OutboundFailure, OutboundHttp } from "../../ports/outbound-http/outbound-http.ts"
import { type FeedItem, FeedBroken } from "../../ingest/readers/reader.ts"
import { formatOf, readerOf } from "../../ingest/readers/readers.ts"
import type { Received } from "./page.ts"

/** Like a push, it is parsed as one document. */
const PAGE_BYTES_MAX = 5_000_000
const ANSWER_TIMEOUT_MS = 30_000
const PAGE_TIMEOUT_MS = 120_000
const FEED_TIMEOUT_MS = 3_600_000
const FEED_BYTES_MAX = 500_000_000
/** The decompressed size of a compressed feed. */
const UNPACKED_BYTES_MAX = 5_000_000_000
const RETRY_AFTER_MS = [1_000, 2_000, 4_000, 8_000] as const
/** If a shop system asks for a longer wait, the next run tries again. */
const WAIT_MAX_MS = 120_000
const ACCEPT = "application/json, application/x-ndjson, application/jsonl;q=0.9, */*;q=0.1"

/** The page cannot be fetched; the message is for the connector's owner. */
class PageFailed extends Schema.TaggedError<PageFailed>()("PageFailed", { message: Schema.String }) {}

/** The validators in a server's response, for conditional requests. */
export interface Validators {
  readonly etag?: string | undefined
  readonly last_modified?: string | undefined
}
interface Asked {
  readonly url: string
  readonly token: string | undefined
  readonly known: Validators | undefined
}
/** A feed while it arrives: items in chunks of about this size. Fails with any error in the entire feed. */
export type ComingFeed = Stream.Stream<ReadonlyArray<FeedItem>, OutboundFailure | PageFailed>
type Fetched<A> =
  | { readonly kind: "unchanged" }
  | { readonly kind: "page"; readonly received: Received; readonly validators: Validators }
  | { readonly kind: "feed"; readonly value: A; readonly validators: Validators }

const requestOf = ({ known, token, url }: Asked) => ({
  url,
  timeout_ms: ANSWER_TIMEOUT_MS,
  silence_ms: ANSWER_TIMEOUT_MS,
  total_ms: FEED_TIMEOUT_MS,
  responseBytesMax: FEED_BYTES_MAX,
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
/** Milliseconds from a number of seconds or a date; undefined if absent. */
const waitOf = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
type Judged =
  | Exclude<Fetched<never>, { readonly kind: "feed" }>
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "later"; readonly message: string; readonly after_ms: number | undefined }

/** What the status means; undefined if there is a page to read. */
const judged = (url: string, { headers, status }: FollowedStream, now: number): Judged | undefined => {
  const at = `${new URL(url).pathname} answered ${status}`
  if (status === 304) return { kind: "unchanged" }
  if (status === 429 || status === 408 || status >= 500)
    return { kind: "later", message: at, after_ms: waitOf(headers["retry-after"], now) }
  if (status === 401 || status === 403)
    return { kind: "failed", message: `${at}: the token is missing or not accepted` }
  return status === 200 ? undefined : { kind: "failed", message: at }
}
const FINAL: ReadonlySet<OutboundFailure["kind"]> = new Set(["refused_address", "refused_redirect", "undecodable"])
const judgedFailure = ({ kind, message }: OutboundFailure): Judged =>
  kind === "too_large"
    ? { kind: "failed", message: `A page has at most ${PAGE_BYTES_MAX} bytes; ask for fewer products a page` }
    : FINAL.has(kind)
      ? { kind: "failed", message }
      : { kind: "later", message, after_ms: undefined }

const XML = /^(?:application|text)\/xml\b/i
/**
 * The feed format of the response; plain XML is recognized by its beginning. JSON Lines are pages of events, like
 * pushes.
 */
const feedOf = async (media: string, body: AsyncIterable<Uint8Array>) => {
  const format = formatOf(media)
  if (format !== undefined) return format === "jsonl" ? undefined : { format, body }
  if (!XML.test(media)) return undefined
  const { all, first } = await started(body, BEGINNING_BYTES)
  const beginning = new TextDecoder("latin1").decode(first)
  return { format: beginning.includes("<yml_catalog") ? ("yml" as const) : ("google_xml" as const), body: all() }
}
/** Comments before the root element may be long. */
const BEGINNING_BYTES = 4_096
const failureOf = (error: unknown): OutboundFailure | PageFailed =>
  error instanceof FeedBroken
    ? new PageFailed({ message: error.message })
    : error instanceof OutboundFailure
      ? error
      : new OutboundFailure({ kind: "connection", message: String(error) })

export const makeFetchPage = Effect.gen(function* () {
  const http = yield* OutboundHttp
  const bodyOf = ({ body, headers }: FollowedStream, bytesMax: number, unpacksFiles: boolean) =>
    decoded(body, { encoding: headers["content-encoding"], bytesMax, unpacksFiles })
  const page = (url: string, answer: FollowedStream) =>
    Effect.map(
      Effect.timeoutOrElse(Stream.runCollect(bodyOf(answer, PAGE_BYTES_MAX, false)), {
        duration: PAGE_TIMEOUT_MS,
        orElse: () =>
          Effect.fail(new OutboundFailure({ kind: "timeout", message: `No page within ${PAGE_TIMEOUT_MS / 1_000} s` }))
      }),
      (pieces): Judged => ({
        kind: "page",
        received: { url, from: answer.url, headers: answer.headers, body: Buffer.concat(pieces) },
        validators: validatorsOf(answer)
      })
    )
  const once = <A, E>(asked: Asked, use: (feed: ComingFeed) => Effect.Effect<A, E | OutboundFailure>) =>
    Effect.scoped(
      Effect.gen(function* () {
        const answer = yield* openFollowing(http, requestOf(asked))
        const known = judged(asked.url, answer, yield* Clock.currentTimeMillis)
        if (known !== undefined) return known
        const media = answer.headers["content-type"] ?? ""
        if ((formatOf(media) ?? "jsonl") === "jsonl" && !XML.test(media)) return yield* page(asked.url, answer)
        const pieces = Stream.toAsyncIterable(bodyOf(answer, UNPACKED_BYTES_MAX, true))
        const feed = yield* Effect.tryPromise({
          try: () => feedOf(media, pieces),
          catch: failureOf
        })
        const items = readerOf(feed!.format)!(feed!.body, { isTyped: true })
        const value = yield* use(Stream.fromAsyncIterable(items, failureOf))
        return { kind: "feed" as const, value, validators: validatorsOf(answer) }
      })
    ).pipe(
      Effect.catchIf(
        (failure) => failure instanceof OutboundFailure,
        (failure) => Effect.succeed(judgedFailure(failure))
      )
    )
  return Effect.fnUntraced(function* <A, E>(
    asked: Asked,
    use: (feed: ComingFeed) => Effect.Effect<A, E | OutboundFailure>
  ) {
    for (let attempt = 0; ; attempt++) {
      const found = yield* once(asked, use)
      if (found.kind === "page" || found.kind === "unchanged" || found.kind === "feed")
        return found satisfies Fetched<A>
      if (found.kind === "failed") return yield* new PageFailed({ message: found.message })
      const pause_ms = RETRY_AFTER_MS[attempt]
      if (pause_ms === undefined || (found.after_ms ?? 0) > WAIT_MAX_MS)
        return yield* new PageFailed({ message: `${found.message} (tried ${attempt + 1} times)` })
      yield* Effect.sleep(Math.max(pause_ms, found.after_ms ?? 0))
    }
  })
})
