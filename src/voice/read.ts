/** Parses a request with audio: the audio, its language and the parameters of the search. Pure. */
import type { Issue } from "../http/checks.ts"
import { InputInvalid } from "../http/errors.ts"
import { isJsonBody, jsonBody } from "../media/image-body.ts"
import { AUDIO_BYTES_MAX } from "../ports/audio-decoder/audio-decoder.ts"
import { audioFormatOf, NO_AUDIO } from "../ports/audio-decoder/format.ts"
import { bodyParameters } from "../search/body-parameters.ts"

export interface AskedSound {
  readonly bytes: Uint8Array
  /** Where the audio is in the request, for error messages. */ readonly path: string
  readonly language: string | undefined
}
interface Read {
  readonly issues: ReadonlyArray<Issue>
  readonly values: Readonly<Record<string, string>>
  /** Present if there are no issues. */ readonly sound?: AskedSound
}

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
/** Accepts base64 with or without the prefix of a `data:` URL; undefined for anything else. */
export const soundOf = (value: unknown): Buffer | undefined => {
  if (typeof value !== "string") return undefined
  const text = (value.startsWith("data:audio/") ? value.slice(value.indexOf(",") + 1) : value).trim()
  return BASE64.test(text) ? Buffer.from(text, "base64") : undefined
}
/** Why these bytes are refused; undefined if they are accepted for decoding. */
export const soundRefusal = (bytes: Uint8Array): string | undefined =>
  bytes.length > AUDIO_BYTES_MAX ? "At most 25 MB of sound" : audioFormatOf(bytes) === undefined ? NO_AUDIO : undefined
/** `de`, `pt-BR` and the like, as the two letters that transcribers know. */
export const languageIn = (value: unknown): string | undefined | Issue =>
  value === undefined
    ? undefined
    : typeof value === "string" && /^[A-Za-z]{2}([-_][A-Za-z]{2,4})?$/.test(value)
      ? value.slice(0, 2).toLowerCase()
      : { path: "language", message: "A language as ISO 639-1 has it, such as en" }

export const noWords = (name: string, value: string): string | undefined =>
  name === "q" && !["", "*"].includes(value.trim()) ? "A voice search takes no words: they are spoken" : undefined
/** Names such as `x-svc-api-key` may be in the query string and are not search parameters. */
const isParameter = ([name]: readonly [string, unknown]): boolean => !name.startsWith("x-")

const read = (
  bytes: Buffer,
  search: Readonly<Record<string, string>>,
  parametersOf: (given: Readonly<Record<string, unknown>>) => Pick<Read, "issues" | "values">
): Read => {
  const { language: asked, ...query } = Object.fromEntries(Object.entries(search).filter(isParameter))
  const isJson = isJsonBody(bytes)
  const body = isJson ? jsonBody(bytes) : {}
  if (body instanceof InputInvalid) return { issues: body.issues, values: {} }
  const { audio, language: stated = asked, ...parameters } = body as Readonly<Record<string, unknown>>
  const { issues, values } = parametersOf({ ...query, ...parameters })
  const path = isJson ? "audio" : "body"
  const sound = isJson ? soundOf(audio) : bytes.length === 0 ? undefined : bytes
  const refusal =
    sound === undefined
      ? isJson
        ? "Sound as base64"
        : "Sound, or JSON that has it as base64 in `audio`"
      : soundRefusal(sound)
  const language = languageIn(stated)
  const all = [
    ...(refusal === undefined ? [] : [{ path, message: refusal }]),
    ...(typeof language === "object" ? [language] : []),
    ...issues
  ]
  if (all.length > 0 || sound === undefined || typeof language === "object") return { issues: all, values }
  return { issues: [], values, sound: { bytes: sound, path, language } }
}

/** `search` contains the parameters of the query string. */
export const readVoiceSearch = (bytes: Buffer, search: Readonly<Record<string, string>>): Read =>
  read(bytes, search, (given) => bodyParameters(given, noWords))

const OTHERS_MAX = 50,
  PATH_MAX = 80
export const readTranscription = (bytes: Buffer, search: Readonly<Record<string, string>>): Read =>
  read(bytes, search, (given) => ({
    values: {},
    issues: Object.keys(given)
      .slice(0, OTHERS_MAX)
      .map((path) => ({ path: path.slice(0, PATH_MAX), message: "Not a parameter of a transcription" }))
  }))
