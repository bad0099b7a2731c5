/**
 * Requests one page of a crawl under the rules of its host and reads it up to a size limit. Never fails: every
 * behavior of a site is an outcome.
 */
import { Clock, Context, Effect, Exit, Layer, Scope, Semaphore, Stream } from "effect"
import { ACCEPTED_ENCODINGS, decoded } from "../../ports/outbound-http/decode.ts"
import { redirectOf } from "../../ports/outbound-http/follow.ts"
import { OutboundFailure, OutboundHttp, type OutboundStream } from "../../ports/outbound-http/outbound-http.ts"
import type { KnownPage } from "./crawl-repository.ts"
import { Hosts, type Turnout } from "./hosts.ts"
import { PAGE_ANSWER_MS, PAGE_BYTES_MAX, PAGE_SILENCE_MS, PAGE_TOTAL_MS } from "./limits.ts"
import { retryAfterSeconds } from "./politeness.ts"

/** Few pages are larger; at most this many of them are in memory at the same time: 4 x 5 MB. */
const SMALL_PAGE_BYTES = 512_000,
  LARGE_PAGES_MAX = 4

export type Fetched =
  | {
      readonly kind: "page"
      readonly bytes: Uint8Array
      readonly contentType: string | undefined
      readonly robotsTag: string | undefined
      readonly etag: string | undefined
      readonly lastModified: string | undefined
    }
  | { readonly kind: "unchanged" | "gone" }
  | { readonly kind: "moved"; readonly to: URL }
  | { readonly kind: "later"; readonly retry_s: number; readonly message: string }
  /** `isFailure`: counts against the host, which is no longer requested after several failures. */
  | { readonly kind: "error"; readonly message: string; readonly isFailure: boolean }

interface PageAsked {
  readonly organizationId: string
  readonly url: URL
  readonly delay_ms: number | undefined
  readonly robots_ms: number | undefined
  /** From earlier crawls, if the collection still has the page. */ readonly known: KnownPage | undefined
}

const HTML = /^\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i
const conditions = (known: KnownPage | undefined): Readonly<Record<string, string>> => ({
  ...(known?.etag ? { "if-none-match": known.etag } : {}),
  ...(known?.last_modified ? { "if-modified-since": known.last_modified } : {})
})
/** Ignores a validator that cannot be sent back in a header. */
const validator = (text: string | undefined): string | undefined =>
  text !== undefined && text.length <= 500 && /^[\x20-\x7e]+$/.test(text) ? text : undefined

const turnoutOf = (fetched: Fetched): Turnout => ({
  isFailure: fetched.kind === "later" || (fetched.kind === "error" && fetched.isFailure),
  ...(fetched.kind === "later" ? { retry_s: fetched.retry_s } : {})
})

/** The outcome that the status decides without a body; undefined if the body must be read. */
const withoutBody = (answer: OutboundStream, url: URL, now: number): Fetched | undefined => {
  const { headers, status } = answer
  if (status === 304) return { kind: "unchanged" }
  if (status === 404 || status === 410) return { kind: "gone" }
  const to = redirectOf(answer, url)
  if (to instanceof OutboundFailure) return { kind: "error", message: to.message, isFailure: false }
  if (to !== undefined) return { kind: "moved", to }
  const retry_s = status === 429 || status === 503 ? retryAfterSeconds(headers["retry-after"], now) : undefined
  if (retry_s !== undefined) return { kind: "later", retry_s, message: `answered ${status}` }
  if (status !== 200)
    return { kind: "error", message: `answered ${status}`, isFailure: status >= 500 || status === 429 }
  const type = headers["content-type"]
  return type === undefined || HTML.test(type)
    ? undefined
    : { kind: "error", message: `is ${type.slice(0, 100)}, which is no page`, isFailure: false }
}

/** A large page holds its slot until the scope closes. */
type Fetch = (asked: PageAsked) => Effect.Effect<Fetched, never, Scope.Scope>
export class FetchPage extends Context.Service<FetchPage, Fetch>()("dowser/ingest/FetchPage") {
  static readonly layer: Layer.Layer<FetchPage, never, Hosts | OutboundHttp> = Layer.effect(
    FetchPage,
    Effect.gen(function* () {
      const http = yield* OutboundHttp
      const hosts = yield* Hosts
      const large = yield* Semaphore.make(LARGE_PAGES_MAX)
      /** The complete body. Once it is large, it holds a slot for large pages until the scope closes. */
      const whole = Effect.fnUntraced(function* (body: OutboundStream["body"]) {
        const outer = yield* Effect.scope
        const pieces: Array<Uint8Array> = []
        let size = 0,
          holds = false
        const place = Effect.acquireRelease(large.take(1), () => large.release(1), { interruptible: true })
        yield* Stream.runForEach(body, (piece) => {
          size += piece.length
          pieces.push(piece)
          if (holds || size <= SMALL_PAGE_BYTES) return Effect.void
          holds = true
          return Effect.asVoid(Scope.provide(place, outer))
        })
        return Buffer.concat(pieces)
      })
      const request = Effect.fnUntraced(function* ({ known, url }: PageAsked, connection: Scope.Scope) {
        const opened = http.open({
          method: "GET",
          url: url.href,
          headers: {
            "user-agent": hosts.userAgent,
            accept: "text/html, application/xhtml+xml;q=0.9, */*;q=0.1",
            "accept-encoding": ACCEPTED_ENCODINGS,
            ...conditions(known)
          },
          timeout_ms: PAGE_ANSWER_MS,
          total_ms: PAGE_TOTAL_MS,
          silence_ms: PAGE_SILENCE_MS,
          responseBytesMax: PAGE_BYTES_MAX
        })
        const answer = yield* Scope.provide(opened, connection)
        const other = withoutBody(answer, url, yield* Clock.currentTimeMillis)
        if (other !== undefined) return other
        const { headers } = answer
        const body = decoded(answer.body, { encoding: headers["content-encoding"], bytesMax: PAGE_BYTES_MAX })
        return {
          kind: "page",
          bytes: yield* whole(body),
          contentType: headers["content-type"],
          robotsTag: headers["x-robots-tag"],
          etag: validator(headers.etag),
          lastModified: validator(headers["last-modified"])
        } satisfies Fetched
      })
      const scoped = (asked: PageAsked) =>
        Effect.acquireUseRelease(
          Scope.make(),
          (connection) => request(asked, connection),
          (connection) => Scope.close(connection, Exit.void)
        )
      return (asked) =>
        hosts.turn(
          asked.organizationId,
          asked.url.host,
          { asked_ms: asked.delay_ms, robots_ms: asked.robots_ms },
          scoped(asked).pipe(
            Effect.catch(({ kind, message }: OutboundFailure) =>
              Effect.succeed<Fetched>({
                kind: "error",
                message,
                // A page that is too large says nothing about its host.
                isFailure: kind !== "too_large" && kind !== "undecodable"
              })
            ),
            Effect.map((fetched: Fetched) => [fetched, turnoutOf(fetched)] as const)
          )
        )
    })
  )
}
