/**
 * Fetches a feed from its address into the store, following redirects up to a size limit; a complete one is not
 * fetched again after a kill. The server's validators are stored in the job's state, and a server that reports no
 * change since then is trusted.
 */
import { Clock, Effect, Stream } from "effect"
import { ACCEPTED_ENCODINGS, decoded } from "../../ports/outbound-http/decode.ts"
import { openFollowing } from "../../ports/outbound-http/follow.ts"
import { OutboundFailure, OutboundHttp } from "../../ports/outbound-http/outbound-http.ts"
import { IngestFailed, IngestLater } from "../sources/source.ts"
import { FEED_BYTES_MAX, KeptFeeds } from "./kept-feeds.ts"

const TIMEOUT_MS = 30_000
const SILENCE_MS = 60_000
const TOTAL_MS = 3_600_000
const AGAIN_S = 10
const AGAIN_MAX_S = 3_600
const TAG_CHARACTERS_MAX = 1_000

type State = Readonly<Record<string, unknown>>
interface Asked {
  readonly organizationId: string
  readonly jobId: string
  readonly url: string
  readonly state: State
}
interface Fetched {
  readonly state: State
  readonly isUnchanged: boolean
}
const textIn = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" && value.length <= TAG_CHARACTERS_MAX ? value : undefined
/** Conditional request headers from the previous pass over the same source. */
const conditions = ({ etag, last_modified }: State): Readonly<Record<string, string>> => ({
  ...(textIn(etag) === undefined ? {} : { "if-none-match": textIn(etag)! }),
  ...(textIn(last_modified) === undefined ? {} : { "if-modified-since": textIn(last_modified)! })
})
const validators = (headers: Readonly<Record<string, string>>): State => ({
  ...(textIn(headers.etag) === undefined ? {} : { etag: headers.etag }),
  ...(textIn(headers["last-modified"]) === undefined ? {} : { last_modified: headers["last-modified"] })
})
/** Our own refusals are final; failures of the network or the server may be temporary. */
const failureOf = (url: string, error: OutboundFailure): IngestFailed | IngestLater => {
  const message = `The feed at ${url} could not be fetched: ${error.message}`
  return ["refused_address", "refused_redirect", "too_large", "undecodable"].includes(error.kind)
    ? new IngestFailed({ message })
    : new IngestLater({ message, after_s: AGAIN_S })
}
const statusFailure = (url: string, status: number, headers: Readonly<Record<string, string>>) => {
  const message = `The feed at ${url} was answered with status ${status}.`
  const given = Number(headers["retry-after"])
  const after_s = Number.isFinite(given) && given > 0 ? Math.min(given, AGAIN_MAX_S) : AGAIN_S
  return status >= 500 || status === 408 || status === 429
    ? new IngestLater({ message, after_s })
    : new IngestFailed({ message })
}

export const makeFetchFeed = Effect.gen(function* () {
  const http = yield* OutboundHttp
  const feeds = yield* KeptFeeds
  return Effect.fnUntraced(function* ({ jobId, organizationId, state, url }: Asked) {
    const before = yield* feeds.ofJob(organizationId, jobId)
    if (before?.is_complete === true) return { state, isUnchanged: false } satisfies Fetched
    if (before !== undefined) yield* feeds.remove(organizationId, before.id)
    const answer = yield* Effect.mapError(
      openFollowing(http, {
        url,
        headers: { accept: "*/*", "accept-encoding": ACCEPTED_ENCODINGS, ...conditions(state) },
        timeout_ms: TIMEOUT_MS,
        silence_ms: SILENCE_MS,
        total_ms: TOTAL_MS,
        responseBytesMax: FEED_BYTES_MAX
      }),
      (error) => failureOf(url, error)
    )
    if (answer.status === 304) return { state, isUnchanged: true } satisfies Fetched
    if (answer.status !== 200) return yield* statusFailure(url, answer.status, answer.headers)
    const body = decoded(answer.body, { encoding: answer.headers["content-encoding"], bytesMax: FEED_BYTES_MAX })
    const room = yield* Effect.mapError(
      feeds.begin(organizationId, { bytes: FEED_BYTES_MAX, jobId }),
      ({ message }) => new IngestLater({ message, after_s: 60 })
    )
    let failure: OutboundFailure | undefined
    const pieces = Stream.toAsyncIterable(
      Stream.mapError(body, (error) => {
        failure = error
        return error
      })
    )
    const bytes = yield* Effect.mapError(
      feeds.append({ id: room.id, offset: 0, pieces, bytesMax: FEED_BYTES_MAX }),
      (error) =>
        failure !== undefined
          ? failureOf(url, failure)
          : new IngestLater({ message: `The feed could not be kept: ${error.message}`, after_s: AGAIN_S })
    )
    yield* feeds.complete(room.id, bytes)
    const at = yield* Clock.currentTimeMillis
    return { state: { ...validators(answer.headers), fetched_at: at, bytes }, isUnchanged: false } satisfies Fetched
  }, Effect.scoped)
})
