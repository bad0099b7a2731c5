/** Requests to YouTube: bounded, read completely, with failures that say what to do. Messages never contain the key. */
import { parseBounded } from "@dowser/engine-sdk/documents"
import { Clock, Effect, Stream } from "effect"
import { version } from "../../config.ts"
import { ACCEPTED_ENCODINGS, decoded } from "../../ports/outbound-http/decode.ts"
import { openFollowing } from "../../ports/outbound-http/follow.ts"
import { OutboundFailure, OutboundHttp } from "../../ports/outbound-http/outbound-http.ts"
import { retryAfterSeconds } from "../crawl/politeness.ts"
import { IngestFailed, IngestLater } from "../sources/source.ts"

/** Kinds of failure that a retry cannot fix. */
const FINAL: ReadonlySet<OutboundFailure["kind"]> = new Set([
  "refused_address",
  "refused_redirect",
  "too_large",
  "undecodable"
])
const ANSWER_BYTES_MAX = 5_000_000
const AGAIN_S = 30,
  AGAIN_MAX_S = 3_600

interface Refusal {
  readonly error?: { readonly message?: unknown; readonly errors?: ReadonlyArray<{ readonly reason?: unknown }> }
}
/** The reason of a refusal by the Data API: `{error: {message, errors: [{reason}]}}`. */
const reasonOf = (text: string): string => {
  const parsed = parseBounded(text)
  // The body is a page for people, so only the status is informative.
  if (typeof parsed !== "object") return ""
  const refusal = parsed.value as Refusal | null
  const reason = Array.isArray(refusal?.error?.errors) ? refusal.error.errors[0]?.reason : undefined
  const raw = refusal?.error?.message
  const message =
    typeof raw === "string"
      ? raw
          .slice(0, 1_000)
          .replace(/<[^<>]*>/g, "")
          .slice(0, 300)
      : ""
  return [typeof reason === "string" ? reason.slice(0, 60) : "", message].filter((part) => part !== "").join(": ")
}

export const makeAskYouTube = Effect.map(OutboundHttp, (http) => {
  const asked = Effect.fnUntraced(function* (what: string, url: string, hidden: (text: string) => string) {
    const answer = yield* openFollowing(http, {
      url,
      headers: { "user-agent": `Dowser/${version}`, accept: "*/*", "accept-encoding": ACCEPTED_ENCODINGS },
      timeout_ms: 15_000,
      total_ms: 60_000,
      silence_ms: 15_000,
      responseBytesMax: ANSWER_BYTES_MAX
    })
    const body = decoded(answer.body, { encoding: answer.headers["content-encoding"], bytesMax: ANSWER_BYTES_MAX })
    const text = Buffer.concat([...(yield* Stream.runCollect(body))]).toString("utf8")
    if (answer.status === 200) return text
    const reason = hidden(reasonOf(text))
    const message = `${what} was answered with status ${answer.status}${reason === "" ? "" : ` (${reason})`}.`
    if (answer.status !== 408 && answer.status !== 429 && answer.status < 500)
      return yield* new IngestFailed({ message })
    const after_s = retryAfterSeconds(answer.headers["retry-after"], yield* Clock.currentTimeMillis) ?? AGAIN_S
    return yield* new IngestLater({ message, after_s: Math.min(AGAIN_MAX_S, Math.max(1, after_s)) })
  })
  /** `secret` is part of the address, and is removed from every message. */
  return (what: string, url: string, secret: string | undefined): Effect.Effect<string, IngestFailed | IngestLater> => {
    const hidden = (text: string) => (secret === undefined ? text : text.replaceAll(secret, "********"))
    return Effect.mapError(Effect.scoped(asked(what, url, hidden)), (error) => {
      if (!(error instanceof OutboundFailure)) return error
      const message = `${what} could not be read: ${hidden(error.message)}`
      return FINAL.has(error.kind) ? new IngestFailed({ message }) : new IngestLater({ message, after_s: AGAIN_S })
    })
  }
})
export type AskYouTube = Effect.Success<typeof makeAskYouTube>
