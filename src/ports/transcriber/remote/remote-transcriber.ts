/**
 * A transcriber on a server. It receives WAV that we wrote, never the original file. Every call goes through
 * `OutboundHttp`. An organization's concurrent requests, the total time and the length of answers are bounded. A broken
 * connection, 429 and 5xx are retried once.
 */
import { Effect } from "effect"
import { Identifiers } from "@dowser/log/identifiers"
import { RATE } from "../../audio-decoder/audio-decoder.ts"
import { writeWav } from "../../audio-decoder/wav.ts"
import { OrganizationLines } from "../../organization-lines.ts"
import { OutboundHttp, type OutboundResponse } from "../../outbound-http/outbound-http.ts"
import { type Transcript, type TranscribeOrder, TranscriptionUnavailable } from "../transcriber.ts"
import {
  type Asked,
  assemblyHeard,
  assemblyId,
  assemblyLook,
  assemblyOrder,
  assemblyUpload,
  assemblyUploaded,
  deepgramAsked,
  deepgramHeard,
  type Heard,
  openaiAsked,
  openaiHeard,
  type RemoteTranscriberModel,
  type Spoken
} from "./providers.ts"

const ANSWER_BYTES_MAX = 2_000_000
const TIMEOUT_MS = 60_000
const AGAIN_MS = 500
/** Interval at which a job in the server's queue is polled. */
const LOOK_MS = 500
const AT_ONCE_MAX = 4
const QUOTED_MAX = 200

export const failed = ({ kind, model }: RemoteTranscriberModel, what: string) =>
  new TranscriptionUnavailable({
    reason: "failed",
    message: `The server of the transcriber \`${kind}/${model}\` ${what}.`
  })
/** The server's error on one line, without anything that looks like a credential. */
export const quoted = (text: string): string => {
  const line = text
    .slice(0, 2_000)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .replace(/[A-Za-z0-9_-]{24,}/g, "…")
    .trim()
  return line === "" ? "" : `: ${line.slice(0, QUOTED_MAX)}`
}
const isPassing = ({ status }: OutboundResponse): boolean => status === 408 || status === 429 || status >= 500

/** Makes the function that returns a server's answer as JSON. */
const makeAnswered = Effect.map(OutboundHttp, (http) => {
  const sent = (model: RemoteTranscriberModel, asked: Asked) =>
    Effect.mapError(
      http.send({ ...asked, timeout_ms: TIMEOUT_MS, responseBytesMax: ANSWER_BYTES_MAX }),
      ({ kind, message }) => ({
        isPassing: kind !== "refused_address" && kind !== "certificate",
        error: failed(model, `cannot be asked (${message.replace(/\.$/, "")})`)
      })
    )
  return Effect.fnUntraced(function* (model: RemoteTranscriberModel, asked: Asked) {
    const once = Effect.flatMap(sent(model, asked), (response) =>
      isPassing(response)
        ? Effect.fail({
            isPassing: true,
            error: failed(model, `answered ${response.status}${quoted(new TextDecoder().decode(response.body))}`)
          })
        : Effect.succeed(response)
    )
    const { body, isTruncated, status } = yield* Effect.catch(once, (failure) =>
      failure.isPassing ? Effect.andThen(Effect.sleep(AGAIN_MS), once) : Effect.fail(failure)
    ).pipe(Effect.mapError(({ error }) => error))
    const text = new TextDecoder().decode(body)
    if (status === 401 || status === 403) return yield* failed(model, `refused the credential (${status})`)
    if (status < 200 || status >= 300) return yield* failed(model, `answered ${status}${quoted(text)}`)
    if (isTruncated) return yield* failed(model, "answered more than 2 MB, or did not end")
    return yield* Effect.try({
      try: () => JSON.parse(text) as unknown,
      catch: () => failed(model, "answered something that is not JSON")
    })
  })
})

export const makeRemoteTranscriber = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const answered = yield* makeAnswered
  const lines = new OrganizationLines(AT_ONCE_MAX)

  const known = <A>(model: RemoteTranscriberModel, found: A | undefined) =>
    found === undefined
      ? Effect.fail(failed(model, "answered something that holds no transcript"))
      : Effect.succeed(found)
  const assembly = Effect.fnUntraced(function* (model: RemoteTranscriberModel, spoken: Spoken) {
    const uploaded = assemblyUploaded(yield* answered(model, assemblyUpload(model, spoken)))
    const order = assemblyOrder(model, spoken, yield* known(model, uploaded))
    const id = yield* known(model, assemblyId(yield* answered(model, order)))
    for (;;) {
      const heard = assemblyHeard(yield* answered(model, assemblyLook(model, id)), spoken)
      if (heard === "later") yield* Effect.sleep(LOOK_MS)
      else if ("error" in heard) return yield* failed(model, `could not do it${quoted(heard.error)}`)
      else return heard
    }
  })
  const heardBy = (model: RemoteTranscriberModel, spoken: Spoken): Effect.Effect<Heard, TranscriptionUnavailable> => {
    switch (model.kind) {
      case "openai":
        return Effect.flatMap(answered(model, openaiAsked(model, spoken)), (answer) =>
          known(model, openaiHeard(answer, spoken))
        )
      case "deepgram":
        return Effect.flatMap(answered(model, deepgramAsked(model, spoken)), (answer) =>
          known(model, deepgramHeard(answer, spoken))
        )
      case "assemblyai":
        return assembly(model, spoken)
    }
  }

  return Effect.fnUntraced(function* (model: RemoteTranscriberModel, order: TranscribeOrder) {
    const { hints, language, organizationId, samples } = order
    const boundary = yield* identifiers.make("form")
    const spoken: Spoken = {
      wav: writeWav(samples, RATE),
      seconds: samples.length / RATE,
      language,
      hints,
      boundary
    }
    const heard = yield* lines.of(organizationId).withPermits(1)(
      Effect.timeoutOrElse(heardBy(model, spoken), {
        duration: TIMEOUT_MS,
        orElse: () => Effect.fail(failed(model, "took longer than a minute"))
      })
    )
    const transcript: Transcript = {
      segments: heard.segments,
      language: heard.language ?? language ?? "und",
      model: `${model.kind}/${model.model}`
    }
    return transcript
  })
})
