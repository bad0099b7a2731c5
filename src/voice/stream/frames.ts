/** Parses and validates the frames of a client, and lists the close codes. Pure. */
import type { Issue } from "../../http/checks.ts"
import type { LiveOpusFormat } from "../../ports/audio-decoder/audio-decoder.ts"
import { isLiveRate, type LiveSound, PcmSound, WavSound } from "../../ports/audio-decoder/live/pcm.ts"
import { audioFormatOf } from "../../ports/audio-decoder/format.ts"
import { bodyParameters } from "../../search/body-parameters.ts"
import { languageIn, noWords } from "../read.ts"

/** Close codes are part of the contract; those below 4000 are defined by WebSocket itself. */
export const CLOSES = {
  done: 1_000,
  broken: 1_011,
  later: 1_013,
  badFrame: 4_400,
  key: 4_401,
  credits: 4_402,
  idle: 4_408,
  tooMuch: 4_413,
  allowance: 4_429
} as const

const ENCODINGS = ["auto", "pcm_s16le", "opus"] as const
type Encoding = (typeof ENCODINGS)[number]
export interface Start {
  readonly type: "start"
  /** Parameters of the search. */ readonly shared: Readonly<Record<string, string>>
  readonly encoding: Encoding
  readonly rate: number | undefined
  readonly language: string | undefined
}
type ClientFrame =
  | Start
  | { readonly type: "stop" }
  | { readonly type: "ping" }
  | { readonly type: "text"; readonly text: string; readonly isFinal: boolean }

/** The most text of one frame: about ten times what a person says in a minute. */
const TEXT_CHARACTERS_MAX = 2_000

const recordOf = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined
const rateIn = (value: unknown): number | undefined | Issue =>
  value === undefined
    ? undefined
    : isLiveRate(Number(value))
      ? Number(value)
      : { path: "params.sample_rate", message: "A whole number from 8000 to 48000" }
const readStart = (frame: Readonly<Record<string, unknown>>): Start | ReadonlyArray<Issue> => {
  const params = frame.params === undefined ? {} : recordOf(frame.params)
  if (params === undefined) return [{ path: "params", message: "An object of parameters" }]
  const { encoding = "auto", language: stated, sample_rate, ...search } = params
  const known = ENCODINGS.find((each) => each === encoding)
  const language = languageIn(stated)
  const rate = rateIn(sample_rate)
  const { issues, values } = bodyParameters(search, noWords)
  const all = [
    ...(known === undefined ? [{ path: "params.encoding", message: `One of ${ENCODINGS.join(", ")}` }] : []),
    ...(typeof language === "object" ? [{ ...language, path: "params.language" }] : []),
    ...(typeof rate === "object" ? [rate] : []),
    ...issues.map(({ message, path }) => ({ path: `params.${path}`, message }))
  ]
  return known === undefined || typeof language === "object" || typeof rate === "object" || all.length > 0
    ? all
    : { type: "start", shared: values, encoding: known, rate, language }
}

/** The frame, or what is wrong with it. */
export const readFrame = (text: string): ClientFrame | ReadonlyArray<Issue> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return [{ path: "frame", message: "A text frame is JSON" }]
  }
  const frame = recordOf(value)
  switch (frame?.type) {
    case "start":
      return readStart(frame)
    case "stop":
      return { type: "stop" }
    case "ping":
      return { type: "ping" }
    case "text":
      return typeof frame.text === "string" && frame.text.length <= TEXT_CHARACTERS_MAX
        ? { type: "text", text: frame.text, isFinal: frame.is_final === true }
        : [{ path: "text", message: `A text of at most ${TEXT_CHARACTERS_MAX} characters` }]
    default:
      return [{ path: "type", message: "One of start, stop, text, ping" }]
  }
}

/** The decoder of a stream with these first bytes, a refusal, or the format of Opus, which a thread decodes. */
export const soundOfStream = (
  { encoding, rate }: Pick<Start, "encoding" | "rate">,
  first: Uint8Array
): LiveSound | LiveOpusFormat | { readonly refusal: string } => {
  if (encoding === "pcm_s16le") return new PcmSound(rate ?? 16_000)
  const format = audioFormatOf(first)
  if (format === "ogg" || format === "webm") return format
  if (encoding === "opus") return "bare"
  if (format === "wav") return new WavSound()
  if (format === undefined && rate !== undefined) return new PcmSound(rate)
  return { refusal: "A live stream is Opus in Ogg or WebM, WAV, or PCM: say `encoding` and `sample_rate`." }
}
