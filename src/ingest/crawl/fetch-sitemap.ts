/**
 * Fetches a sitemap and those that it names, and turns them into lists of pages. Unreadable ones are reported and
 * skipped, because the rest of the site can still be read.
 */
import { nextTurn } from "@dowser/log/process/next-turn"
import { Clock, Effect, Stream } from "effect"
import { ACCEPTED_ENCODINGS, decoded } from "../../ports/outbound-http/decode.ts"
import { openFollowing } from "../../ports/outbound-http/follow.ts"
import { OutboundFailure, OutboundHttp } from "../../ports/outbound-http/outbound-http.ts"
import { Hosts, type Turnout } from "./hosts.ts"
import { PAGE_ANSWER_MS, PAGE_SILENCE_MS, SITEMAP_BYTES_MAX, SITEMAP_DEPTH_MAX, SITEMAPS_MAX } from "./limits.ts"
import { bareHost } from "./page-url.ts"
import { FAILURES_MAX, RETRY_AFTER_MAX_S, retryAfterSeconds } from "./politeness.ts"
import { SitemapBroken, type SitemapEntry, SitemapReader } from "./read-sitemap.ts"

const SITEMAP_TOTAL_MS = 300_000
/** The longest work on the main thread before it yields to other requests. */
const SLICE_MS = 4
const LATER_MAX = 3
const PROBLEMS_MAX = 100

export interface SitemapProblem {
  readonly id: string
  readonly error: string
}
type SitemapOutcome =
  | { readonly children: ReadonlyArray<string> }
  | { readonly message: string; readonly isFailure: boolean; readonly retry_s?: number | undefined }

const turnoutOf = (answered: SitemapOutcome): Turnout =>
  "children" in answered ? { isFailure: false } : { isFailure: answered.isFailure, retry_s: answered.retry_s }

interface SitemapTask<E> {
  readonly organizationId: string
  readonly delay_ms: number | undefined
  readonly take: (entries: ReadonlyArray<SitemapEntry>) => Effect.Effect<void, E>
  /** Nothing more is requested once this is true. */ readonly isEnough: () => boolean
}
/** Passes entries to `take` as they arrive and returns the sitemaps that an index names. */
const readBody = Effect.fnUntraced(function* <E>(
  body: Stream.Stream<Uint8Array, OutboundFailure>,
  take: (entries: ReadonlyArray<SitemapEntry>) => Effect.Effect<void, E>
) {
  const reader = new SitemapReader()
  const decoder = new TextDecoder("utf-8")
  const children: Array<string> = []
  const parsed = (text: string | undefined) =>
    Effect.try({
      try: () => (text === undefined ? reader.end() : reader.write(text)),
      catch: (error) => (error instanceof SitemapBroken ? error : new SitemapBroken(String(error)))
    })
  const step = Effect.fnUntraced(function* (text: string | undefined) {
    const entries = yield* parsed(text)
    if (reader.isIndex) children.push(...entries.slice(0, SITEMAPS_MAX - children.length).map(({ url }) => url))
    else if (entries.length > 0) yield* take(entries)
  })
  let busy_ms = 0
  yield* Stream.runForEach(body, (piece) =>
    Effect.gen(function* () {
      for (let from = 0; from < piece.length; from += 16_384) {
        const began = performance.now()
        yield* step(decoder.decode(piece.subarray(from, from + 16_384), { stream: true }))
        busy_ms += performance.now() - began
        if (busy_ms < SLICE_MS) continue
        busy_ms = 0
        yield* nextTurn
      }
    })
  )
  yield* step(undefined)
  return children
})

interface Place {
  readonly url: URL
  readonly depth: number
}
/** Which sitemap is next, level by level, and the problems of the previous ones. */
class Walk {
  readonly problems: Array<SitemapProblem> = []
  readonly #root: URL
  readonly #seen: Set<string>
  readonly #waiting: Array<Place>
  #failures = 0

  constructor(root: URL) {
    this.#root = root
    this.#seen = new Set([root.href])
    this.#waiting = [{ url: root, depth: 0 }]
  }
  next(): Place | undefined {
    return this.#failures >= FAILURES_MAX ? undefined : this.#waiting.shift()
  }
  came({ depth, url }: Place, answered: SitemapOutcome): void {
    if ("children" in answered) {
      this.#failures = 0
      for (const text of answered.children) this.#found(URL.parse(text, url.href), depth + 1)
      return
    }
    this.#failures = answered.isFailure ? this.#failures + 1 : 0
    const isLast = this.#failures >= FAILURES_MAX ? ", and it is asked no more" : ""
    this.problems.push({ id: url.href, error: `The sitemap ${answered.message}${isLast}` })
  }
  #found(url: URL | null, depth: number): void {
    if (url === null || this.#seen.has(url.href) || this.#seen.size >= SITEMAPS_MAX) return
    this.#seen.add(url.href)
    const error =
      bareHost(url.host) !== bareHost(this.#root.host)
        ? "The sitemap is of another host"
        : depth > SITEMAP_DEPTH_MAX
          ? `The sitemap lies deeper than ${SITEMAP_DEPTH_MAX} indexes`
          : undefined
    if (error === undefined) this.#waiting.push({ url, depth })
    else this.problems.push({ id: url.href, error })
  }
}

export const makeFetchSitemap = Effect.gen(function* () {
  const http = yield* OutboundHttp
  const hosts = yield* Hosts
  const one = Effect.fnUntraced(function* <E>(
    url: URL,
    take: (entries: ReadonlyArray<SitemapEntry>) => Effect.Effect<void, E>
  ) {
    const answer = yield* openFollowing(http, {
      url: url.href,
      headers: {
        "user-agent": hosts.userAgent,
        accept: "application/xml, text/xml, */*;q=0.5",
        "accept-encoding": ACCEPTED_ENCODINGS
      },
      timeout_ms: PAGE_ANSWER_MS,
      total_ms: SITEMAP_TOTAL_MS,
      silence_ms: PAGE_SILENCE_MS,
      responseBytesMax: SITEMAP_BYTES_MAX
    })
    const { headers, status } = answer
    if (status !== 200) {
      const retry_s =
        status === 429 || status === 503
          ? retryAfterSeconds(headers["retry-after"], yield* Clock.currentTimeMillis)
          : undefined
      return {
        message: `answered ${status}`,
        isFailure: status >= 500 || status === 429,
        retry_s
      } satisfies SitemapOutcome
    }
    const body = decoded(answer.body, {
      encoding: headers["content-encoding"],
      bytesMax: SITEMAP_BYTES_MAX,
      unpacksFiles: true
    })
    return { children: yield* readBody(body, take) } satisfies SitemapOutcome
  }, Effect.scoped)
  const answered = <E>(url: URL, { delay_ms, organizationId, take }: SitemapTask<E>) =>
    hosts.turn(
      organizationId,
      url.host,
      { asked_ms: delay_ms },
      one(url, take).pipe(
        Effect.catchIf(
          (error) => error instanceof OutboundFailure || error instanceof SitemapBroken,
          (error) =>
            Effect.succeed<SitemapOutcome>({ message: error.message, isFailure: error instanceof OutboundFailure })
        ),
        Effect.map((outcome: SitemapOutcome) => [outcome, turnoutOf(outcome)] as const)
      )
    )
  const patient = Effect.fnUntraced(function* <E>(url: URL, task: SitemapTask<E>) {
    for (let attempt = 1; ; attempt++) {
      const outcome = yield* answered(url, task)
      if (
        "children" in outcome ||
        outcome.retry_s === undefined ||
        outcome.retry_s > RETRY_AFTER_MAX_S ||
        attempt >= LATER_MAX
      )
        return outcome
    }
  })

  return Effect.fnUntraced(function* <E>(root: URL, task: SitemapTask<E>) {
    const walk = new Walk(root)
    for (let next = walk.next(); next !== undefined && !task.isEnough(); next = walk.next())
      walk.came(next, yield* patient(next.url, task))
    return walk.problems.slice(0, PROBLEMS_MAX)
  })
})
