/**
 * `Generator` over remote servers: every call goes through `OutboundHttp`, within one deadline, with limited
 * concurrency per organization. A server that is busy or fails before the first token is tried again after the time
 * that `Retry-After` states; after the first token it is not, because the caller may already have shown that token.
 */
import { Clock, Effect, Layer, Stream } from "effect"
import { OrganizationLines } from "../../organization-lines.ts"
import { OutboundHttp, type OutboundResponse, type OutboundStream } from "../../outbound-http/outbound-http.ts"
import { GenerationFailed, type GenerateRequest, Generator, type GeneratorPiece } from "../generator.ts"
import { generatedIn } from "./answers.ts"
import { askedOf } from "./asked.ts"
import { failed, ofOutbound, ofStatus } from "./failures.ts"
import { Written } from "./written.ts"

const ANSWER_BYTES_MAX = 2_000_000
/** An event repeats its envelope for each token. */
const STREAM_BYTES_MAX = 16_000_000
const TIMEOUT_MAX_MS = 300_000
const SILENCE_MAX_MS = 60_000
const AT_ONCE_MAX = 8
/** Answers that are read while they are written are slow, and cheap to keep open. */
const STREAMS_MAX = 256
const TRIES = 2
const TRIES_MAX = 5
const WAIT_FIRST_MS = 250
const WAIT_MAX_MS = 10_000

interface Later {
  readonly error: GenerationFailed
  /** undefined if a repetition would get the same answer. */ readonly wait_ms: number | undefined
}
const waitOf = (retryAfter: string | undefined, now: number, tried: number): number => {
  const byDefault = WAIT_FIRST_MS * 2 ** tried
  if (retryAfter === undefined) return byDefault
  const ms = /^\d{1,9}(?:\.\d+)?$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now
  return Math.min(WAIT_MAX_MS, Number.isFinite(ms) ? Math.max(0, ms) : byDefault)
}
const isPassing = ({ kind }: GenerationFailed): boolean => kind === "busy" || kind === "failed"
const isGood = (status: number): boolean => status >= 200 && status < 300

const judged = (request: GenerateRequest, { body, isTruncated, status }: OutboundResponse) => {
  const { messages, model } = request
  if (!isGood(status)) return ofStatus(model, status, body)
  if (isTruncated && body.length < ANSWER_BYTES_MAX) return failed(model, "timeout", "did not end its answer in time")
  if (isTruncated) return failed(model, "failed", "answered more than 2 MB")
  let answer: unknown
  try {
    answer = JSON.parse(new TextDecoder().decode(body))
  } catch {
    return failed(model, "refused", "answered something that is not JSON")
  }
  const asked = messages.reduce((sum, { content }) => sum + content.length, 0)
  return generatedIn(model.kind, answer, asked) ?? failed(model, "refused", "answered without a text")
}

const settled = (found: ReadonlyArray<GeneratorPiece> | GenerationFailed) =>
  found instanceof GenerationFailed ? Effect.fail(found) : Effect.succeed(found)
const piecesOf = (
  request: GenerateRequest,
  { body }: OutboundStream
): Stream.Stream<GeneratorPiece, GenerationFailed> =>
  Stream.suspend(() => {
    const written = new Written(request)
    return body.pipe(
      Stream.mapError((failure) => ofOutbound(request.model, failure)),
      Stream.mapEffect((bytes) => settled(written.push(bytes))),
      Stream.concat(Stream.fromEffect(Effect.suspend(() => settled(written.end())))),
      Stream.flattenIterable,
      Stream.takeUntil(({ kind }) => kind === "end")
    )
  })
/** The beginning of an error's body, which may never end. */
const beginningOf = ({ body }: OutboundStream) =>
  Stream.runCollect(Stream.take(body, 1)).pipe(
    Effect.timeout(1_000),
    Effect.map(([first]) => first ?? new Uint8Array()),
    Effect.orElseSucceed(() => new Uint8Array())
  )

const timeoutOf = ({ timeout_ms }: GenerateRequest) => Math.min(TIMEOUT_MAX_MS, Math.max(1, timeout_ms))
const within = <A, E, R>(request: GenerateRequest, work: Effect.Effect<A, E, R>) =>
  Effect.timeoutOrElse(work, {
    duration: timeoutOf(request),
    orElse: () => Effect.fail(failed(request.model, "timeout", `did not answer within ${timeoutOf(request) / 1_000} s`))
  })
const noAddress = (request: GenerateRequest) => failed(request.model, "refused", "has no address: name a `url`")

const make = Effect.gen(function* () {
  const http = yield* OutboundHttp
  const clock = yield* Clock.Clock
  const lines = new OrganizationLines(AT_ONCE_MAX)
  const streams = new OrganizationLines(STREAMS_MAX)

  /** The result of a try, repeated while that may help. */
  const tried = Effect.fnUntraced(function* <A, R>(
    { tries = TRIES }: GenerateRequest,
    once: (at: number) => Effect.Effect<A, Later, R>
  ) {
    for (let at = 0; ; at++) {
      const outcome = yield* Effect.match(once(at), {
        onFailure: (later) => ({ later }),
        onSuccess: (value) => ({ value })
      })
      if ("value" in outcome) return outcome.value
      const { error, wait_ms } = outcome.later
      if (wait_ms === undefined || at + 1 >= Math.min(TRIES_MAX, tries)) return yield* error
      yield* Effect.sleep(wait_ms)
    }
  })
  const later = (error: GenerationFailed, at: number, retryAfter?: string): Later => ({
    error,
    wait_ms: isPassing(error) ? waitOf(retryAfter, clock.currentTimeMillisUnsafe(), at) : undefined
  })
  const complete = Effect.fnUntraced(function* (request: GenerateRequest) {
    const asked = askedOf(request, false)
    if (asked === undefined) return yield* noAddress(request)
    const once = (at: number) =>
      http.send({ method: "POST", ...asked, timeout_ms: timeoutOf(request), responseBytesMax: ANSWER_BYTES_MAX }).pipe(
        Effect.mapError((failure) => later(ofOutbound(request.model, failure), at)),
        Effect.flatMap((response) => {
          const found = judged(request, response)
          return found instanceof GenerationFailed
            ? Effect.fail(later(found, at, response.headers["retry-after"]))
            : Effect.succeed(found)
        })
      )
    return yield* within(request, lines.of(request.organizationId).withPermits(1)(tried(request, once)))
  })

  const opened = Effect.fnUntraced(function* (request: GenerateRequest) {
    const asked = askedOf(request, true)
    if (asked === undefined) return yield* noAddress(request)
    const began = clock.currentTimeMillisUnsafe()
    const line = streams.of(request.organizationId)
    yield* Effect.acquireRelease(line.take(1), () => line.release(1), { interruptible: true })
    const once = (at: number) => {
      const left_ms = Math.max(1, timeoutOf(request) - (clock.currentTimeMillisUnsafe() - began))
      return http
        .open({
          method: "POST",
          ...asked,
          timeout_ms: left_ms,
          total_ms: left_ms,
          silence_ms: Math.min(SILENCE_MAX_MS, left_ms),
          responseBytesMax: STREAM_BYTES_MAX
        })
        .pipe(
          Effect.mapError((failure) => later(ofOutbound(request.model, failure), at)),
          Effect.flatMap((answer) =>
            isGood(answer.status)
              ? Effect.succeed(answer)
              : Effect.flatMap(beginningOf(answer), (body) =>
                  Effect.fail(later(ofStatus(request.model, answer.status, body), at, answer.headers["retry-after"]))
                )
          )
        )
    }
    return yield* tried(request, once)
  })

  return Generator.of({
    complete,
    stream: (request) =>
      Stream.unwrap(Effect.map(within(request, opened(request)), (answer) => piecesOf(request, answer)))
  })
})

export const layer: Layer.Layer<Generator, never, OutboundHttp> = Layer.effect(Generator, make)
