/**
 * Transcribes audio: decodes it (400 if that fails), picks the organization's own transcriber or this program's (409 if
 * there is none), and charges for the seconds of audio, with a refund if transcription fails.
 */
import { Effect } from "effect"
import { AiProviders } from "../ai-providers/ai-providers.ts"
import { ModelBusy, ModelFailed, ModelNotInstalled } from "../embedding/errors.ts"
import { inputInvalid } from "../http/errors.ts"
import type { Caller } from "../identity/caller.ts"
import { AiSpending } from "../metering/ai-spending.ts"
import { AudioDecoder, type AudioFailure, type LiveOpusFormat } from "../ports/audio-decoder/audio-decoder.ts"
import { makeRemoteTranscriber } from "../ports/transcriber/remote/remote-transcriber.ts"
import { makeRemoteLive } from "../ports/transcriber/remote/remote-live.ts"
import {
  type Likely,
  type LiveHeard,
  type LiveOrder,
  type SpokenSegment,
  type Transcript,
  Transcriber,
  type TranscriptionUnavailable
} from "../ports/transcriber/transcriber.ts"
import type { AskedSound } from "./read.ts"

const INSTALL_VOICE = "dowser models install --voice base"
const RETRY_AFTER_S = 5

/** The transcript of a recording, with its length. */
export interface Listened extends Transcript {
  readonly seconds: number
}

/** Looks up what visitors are likely to say, and runs only if there is something to transcribe. */
type LikelyLookup = Effect.Effect<Likely | undefined>
type NotHeard = ReturnType<typeof notHeard>
/** A live transcription whose failures are errors of the API. */
export interface OpenedSpeech {
  readonly push: (samples: Float32Array) => Effect.Effect<void, NotHeard>
  readonly close: Effect.Effect<LiveHeard, NotHeard>
}

const soundRefused =
  (path: string) =>
  ({ kind, message }: AudioFailure) =>
    kind === "refused"
      ? inputInvalid(path, message)
      : kind === "busy"
        ? new ModelBusy({ message, retry_after_s: RETRY_AFTER_S })
        : new ModelFailed({ message })
const noTranscriber = (message: string) =>
  new ModelNotInstalled({
    message: `${message.replace(/\.$/, "")}: \`${INSTALL_VOICE}\` installs one, and PUT /v1/ai/providers/transcriber names another.`,
    setting: INSTALL_VOICE
  })
const notHeard = ({ message, reason }: TranscriptionUnavailable) => {
  switch (reason) {
    case "not_installed":
      return noTranscriber(message)
    case "busy":
      return new ModelBusy({ message, retry_after_s: RETRY_AFTER_S })
    case "language":
      return inputInvalid("language", message)
    case "failed":
      return new ModelFailed({ message })
  }
}
const bySegment = ({ start: a }: SpokenSegment, { start: b }: SpokenSegment): number => a - b

export const makeSpeech = Effect.gen(function* () {
  const decoder = yield* AudioDecoder
  const embedded = yield* Transcriber
  const remote = yield* makeRemoteTranscriber
  const remoteLive = yield* makeRemoteLive
  const providers = yield* AiProviders
  const spending = yield* AiSpending

  /** The organization's transcriber; fails if there is none, or none for this language. */
  const transcriberFor = Effect.fnUntraced(function* (organizationId: string, language: string | undefined) {
    const own = providers.transcriber(organizationId)
    if (own !== undefined) {
      const transcribe = (order: Parameters<typeof embedded.transcribe>[0]) => remote(own, order)
      return { transcribe, open: (order: LiveOrder) => remoteLive(own, order, transcribe) }
    }
    const { languages, name, state } = embedded.inUse()
    if (name === null || state === "absent") return yield* noTranscriber("No transcriber is installed")
    if (language !== undefined && languages.length > 0 && !languages.includes(language))
      return yield* inputInvalid("language", `${name} knows ${languages.join(", ")} alone`)
    return embedded
  })

  return {
    /** Decodes a live stream of Opus. */
    decoder: (format: LiveOpusFormat) =>
      Effect.map(Effect.mapError(decoder.open(format), soundRefused("audio")), ({ push }) => ({
        push: (bytes: Uint8Array) => Effect.mapError(push(bytes), soundRefused("audio"))
      })),
    /** Opens a live transcription. The caller charges for the seconds of audio. */
    open: Effect.fnUntraced(function* (
      { organizationId }: Pick<Caller, "organizationId">,
      language: string | undefined,
      heard: LiveOrder["heard"],
      likely: LikelyLookup
    ) {
      const { open } = yield* transcriberFor(organizationId, language)
      const order = { organizationId, language, hints: [], likely: yield* likely, heard }
      const opened = yield* Effect.mapError(open(order), notHeard)
      const speech: OpenedSpeech = {
        push: (samples) => Effect.mapError(opened.push(samples), notHeard),
        close: Effect.mapError(opened.close, notHeard)
      }
      return speech
    }),
    /** Transcribes a recording and runs `then` with the words; the charge covers both. */
    listen: Effect.fnUntraced(function* <A, E, R>(
      caller: Caller,
      { bytes, language, path }: AskedSound,
      then: (listened: Listened) => Effect.Effect<A, E, R>,
      lookup: LikelyLookup = Effect.succeed(undefined)
    ) {
      const { organizationId } = caller
      const sound = yield* Effect.mapError(decoder.decode(organizationId, bytes), soundRefused(path))
      const { transcribe } = yield* transcriberFor(organizationId, language)
      const { samples, seconds, speech } = sound
      const nobody: Transcript = {
        segments: [],
        language: language ?? "und",
        model: providers.inUse(organizationId).transcriber.name ?? ""
      }
      const heard =
        speech.length === 0
          ? Effect.succeed(nobody)
          : Effect.flatMap(lookup, (likely) =>
              Effect.mapError(transcribe({ organizationId, samples, speech, language, hints: [], likely }), notHeard)
            )
      const done = Effect.gen(function* () {
        const transcript = yield* heard
        const segments = transcript.segments.toSorted(bySegment)
        return [yield* then({ ...transcript, segments, seconds }), seconds] as const
      })
      return yield* spending.spend(caller, "voice", seconds, done)
    })
  }
})
