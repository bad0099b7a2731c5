/**
 * Crawled hosts: their robots.txt, and whose turn it is. A host gets one request at a time, within a process over all
 * its jobs, and between processes by a claim in the database. The cache of idle hosts is bounded in bytes.
 */
import { BoundedMap } from "@dowser/engine-sdk/host"
import { Identifiers } from "@dowser/log/identifiers"
import { Clock, Context, Effect, Layer, Stream } from "effect"
import type { SqlClient } from "effect/sql"
import { version } from "../../config.ts"
import { Installation } from "../../installation.ts"
import { ACCEPTED_ENCODINGS, decoded } from "../../ports/outbound-http/decode.ts"
import { openFollowing } from "../../ports/outbound-http/follow.ts"
import { OutboundHttp } from "../../ports/outbound-http/outbound-http.ts"
import { makeHostClaims } from "./crawl-repository.ts"
import { HostLine } from "./host-line.ts"
import { PAGE_ANSWER_MS, PAGE_SILENCE_MS, PAGE_TOTAL_MS, ROBOTS_BYTES_MAX } from "./limits.ts"
import { delayOf, type PaceRules, RETRY_AFTER_MAX_S, throttled } from "./politeness.ts"
import { PRODUCT_TOKEN, type Robots, type RobotsAnswer, robotsOf } from "./robots.ts"

const ROBOTS_KEPT_MS = 24 * 3_600_000,
  /** A robots.txt that could not be fetched is retried sooner. */ REFUSAL_KEPT_MS = 600_000
const ROBOTS_CACHE_BYTES = 16_000_000,
  IDLE_LINES_BYTES = 2_000_000,
  LINE_BYTES = 600
/** A dead process loses its claim on a host after that; it exceeds the longest request. */
const CLAIM_S = 45,
  CLAIM_AGAIN_MS = 250

/** The outcome of a request, which sets the pace. */
export interface Turnout {
  readonly isFailure: boolean
  /** The host asks for no requests during this time. */ readonly retry_s?: number | undefined
}

class Lines {
  readonly #busy = new Map<string, HostLine>()
  readonly #idle = new BoundedMap<string, HostLine>({
    bytes_max: IDLE_LINES_BYTES,
    bytesOf: (host) => LINE_BYTES + 2 * host.length
  })
  get bytes(): number {
    return this.#idle.bytes
  }
  of(host: string): HostLine {
    const line = this.#busy.get(host) ?? this.#idle.get(host) ?? new HostLine()
    this.#idle.delete(host)
    this.#busy.set(host, line)
    return line
  }
  rest(host: string, line: HostLine): void {
    if (!line.isIdle) return
    this.#busy.delete(host)
    this.#idle.set(host, line)
  }
}

const asText = Effect.fnUntraced(function* (http: OutboundHttp["Service"], url: string, agent: string) {
  const answer = yield* openFollowing(http, {
    url,
    headers: { "user-agent": agent, accept: "text/plain, */*;q=0.5", "accept-encoding": ACCEPTED_ENCODINGS },
    timeout_ms: PAGE_ANSWER_MS,
    total_ms: PAGE_TOTAL_MS,
    silence_ms: PAGE_SILENCE_MS,
    responseBytesMax: 4 * ROBOTS_BYTES_MAX
  })
  if (answer.status < 200 || answer.status > 299) return { status: answer.status, text: "" }
  // Bytes beyond the limit would not change the rules that are read.
  let size = 0
  const body = decoded(answer.body, { encoding: answer.headers["content-encoding"], bytesMax: 8 * ROBOTS_BYTES_MAX })
  const pieces = yield* Stream.runCollect(
    Stream.takeWhile(body, ({ length }) => (size += length) - length < ROBOTS_BYTES_MAX)
  )
  return { status: answer.status, text: Buffer.concat(pieces).subarray(0, ROBOTS_BYTES_MAX).toString("utf8") }
}, Effect.scoped)

const makeTurn = Effect.gen(function* () {
  const claims = yield* makeHostClaims
  const { isAlone } = yield* Installation
  const process = yield* (yield* Identifiers).make("prc")
  const lines = new Lines()
  /** An unavailable database does not stop a running crawl here: the job's next statement reports it. */
  const claimed = (host: string) =>
    isAlone
      ? Effect.void
      : Effect.repeat(
          Effect.catch(claims.take(host, process, CLAIM_S), () => Effect.succeed(false)).pipe(
            Effect.tap((isOurs) => (isOurs ? Effect.void : Effect.sleep(CLAIM_AGAIN_MS)))
          ),
          { until: (isOurs) => isOurs }
        )
  const given = (host: string, after_ms: number) =>
    isAlone ? Effect.void : Effect.ignore(claims.give(host, process, after_ms / 1_000))

  return Effect.fnUntraced(function* <A, E, R>(
    organizationId: string,
    host: string,
    rules: PaceRules,
    work: Effect.Effect<readonly [A, Turnout], E, R>
  ) {
    const line = lines.of(host)
    yield* Effect.callback<void>((resume) => {
      const giveUp = line.enter(organizationId, () => resume(Effect.void))
      return Effect.sync(giveUp)
    })
    let took_ms = 0
    const turn = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const due = (line.ended_at ?? 0) + (line.ended_at === undefined ? 0 : delayOf(line.throttle_ms, rules))
      yield* Effect.sleep(Math.max(0, due - now, line.notBefore - now))
      yield* claimed(host)
      const began = yield* Clock.currentTimeMillis
      const [value, { isFailure, retry_s }] = yield* work
      const ended = yield* Clock.currentTimeMillis
      took_ms = ended - began
      line.throttle_ms = throttled(line.throttle_ms, took_ms, isFailure)
      line.ended_at = ended
      // The wait is capped: a job that is told to wait longer gives the host up, and the next job asks it again.
      if (retry_s !== undefined) line.notBefore = ended + 1_000 * Math.min(retry_s, RETRY_AFTER_MAX_S)
      return value
    })
    return yield* Effect.ensuring(
      turn,
      Effect.andThen(
        Effect.suspend(() => given(host, delayOf(line.throttle_ms, rules))),
        Effect.sync(() => {
          line.leave(organizationId, took_ms)
          lines.rest(host, line)
        })
      )
    )
  })
})

export class Hosts extends Context.Service<
  Hosts,
  {
    /** Waits for the host's turn, then does the work exclusively. */
    readonly turn: <A, E, R>(
      organizationId: string,
      host: string,
      rules: PaceRules,
      work: Effect.Effect<readonly [A, Turnout], E, R>
    ) => Effect.Effect<A, E, R>
    /** The robots.txt of the origin, fetched once a day. */
    readonly robots: (organizationId: string, origin: string, rules: PaceRules) => Effect.Effect<Robots>
    /** The user agent that sites see. */ readonly userAgent: string
  }
>()("dowser/ingest/Hosts") {
  static readonly layer: Layer.Layer<Hosts, never, Identifiers | Installation | OutboundHttp | SqlClient.SqlClient> =
    Layer.effect(
      Hosts,
      Effect.gen(function* () {
        const http = yield* OutboundHttp
        const { serviceDomain } = yield* Installation
        const turn = yield* makeTurn
        const contact = serviceDomain === undefined ? "" : ` (+https://${serviceDomain}/)`
        const userAgent = `${PRODUCT_TOKEN}/${version}${contact}`
        const cache = new BoundedMap<string, { readonly robots: Robots; readonly until: number }>({
          bytes_max: ROBOTS_CACHE_BYTES,
          bytesOf: (origin, { robots }) => robots.bytes + 2 * origin.length
        })
        const kept = (origin: string) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            const found = cache.get(origin)
            return found !== undefined && found.until > now ? found.robots : undefined
          })
        const fetched = Effect.fnUntraced(function* (origin: string) {
          const before = yield* kept(origin)
          if (before !== undefined) return [before, { isFailure: false }] as const
          const url = `${origin}/robots.txt`
          const answer: RobotsAnswer = yield* Effect.catch(asText(http, url, userAgent), ({ message }) =>
            Effect.succeed({ failure: message })
          )
          const robots = robotsOf(url, answer)
          const now = yield* Clock.currentTimeMillis
          cache.set(origin, { robots, until: now + (robots.refusal === undefined ? ROBOTS_KEPT_MS : REFUSAL_KEPT_MS) })
          return [robots, { isFailure: robots.refusal !== undefined }] as const
        })
        return Hosts.of({
          turn,
          userAgent,
          robots: Effect.fnUntraced(function* (organizationId, origin, rules) {
            const before = yield* kept(origin)
            if (before !== undefined) return before
            return yield* turn(organizationId, new URL(origin).host, rules, fetched(origin))
          })
        })
      })
    )
}
