/**
 * Requests to transcription servers and their answers, according to their public interfaces. Pure: addresses, headers
 * and bodies, and the words in the answer.
 */
import type { SpokenSegment, SpokenWord } from "../transcriber.ts"

export const transcriberKinds = ["openai", "deepgram", "assemblyai"] as const
type TranscriberKind = (typeof transcriberKinds)[number]
export const isTranscriberKind = (text: string): text is TranscriberKind =>
  transcriberKinds.some((kind) => kind === text)

/** As an organization names it. */
export interface RemoteTranscriberModel {
  readonly kind: TranscriberKind
  readonly model: string
  /** Base address; the provider's default if absent. */ readonly url?: string | undefined
  readonly apiKey?: string | undefined
}
export interface Spoken {
  readonly wav: Uint8Array
  readonly seconds: number
  readonly language: string | undefined
  readonly hints: ReadonlyArray<string>
  /** Separates the parts of a multipart body; differs each time. */ readonly boundary: string
}
export interface Asked {
  readonly method: "GET" | "POST"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}
export interface Heard {
  readonly segments: ReadonlyArray<SpokenSegment>
  readonly language: string | undefined
}
interface TimedWord extends SpokenWord {
  readonly start: number
  readonly end: number
}

const homes: ReadonlyMap<TranscriberKind, string> = new Map([
  ["openai", "https://api.openai.com"],
  ["deepgram", "https://api.deepgram.com"],
  ["assemblyai", "https://api.assemblyai.com"]
])
/** Completes a base address, with or without its path. */
export const addressOf = ({ kind, url }: RemoteTranscriberModel, path: string): string => {
  const bare = (url ?? homes.get(kind)!).replace(/\/+$/, "")
  if (bare.endsWith(path)) return bare
  const [, version] = /^(\/v\d+)\//.exec(path) ?? []
  return version !== undefined && bare.endsWith(version) ? bare + path.slice(version.length) : bare + path
}
export const own = (value: unknown, key: string | number): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string | number, unknown>)[key]
    : undefined
export const at = (value: unknown, ...path: ReadonlyArray<string | number>): unknown => path.reduce(own, value)
export const textAt = (value: unknown, ...path: ReadonlyArray<string | number>): string | undefined => {
  const found = at(value, ...path)
  return typeof found === "string" ? found : undefined
}
const numberAt = (value: unknown, key: string): number | undefined => {
  const found = own(value, key)
  return typeof found === "number" && Number.isFinite(found) ? found : undefined
}
export const authorized = (apiKey: string | undefined, word: string): Readonly<Record<string, string>> =>
  apiKey === undefined || apiKey === "" ? {} : { authorization: word + apiKey }

const HINTS_MAX = 50
/** A server's text is as untrusted as any: at most as much as somebody can say. */
const WORDS_MAX = 3_000,
  WORD_CHARACTERS_MAX = 100
const PAUSE_S = 0.6

export const wordsIn = (text: string): ReadonlyArray<string> =>
  text
    .replace(/[\p{Cc}\p{Cf}]+/gu, " ")
    .toWellFormed()
    .split(/\s+/)
    .filter((word) => word !== "")
    .slice(0, WORDS_MAX)
    .map((word) => word.slice(0, WORD_CHARACTERS_MAX))
export const scoreAt = (item: unknown): number | undefined => {
  const confidence = numberAt(item, "confidence")
  return confidence === undefined ? undefined : Math.min(1, Math.max(0, confidence))
}
/** A text without times, as one segment. */
const whole = (text: string, seconds: number): ReadonlyArray<SpokenSegment> => {
  const words = wordsIn(text).map((each) => ({ text: each, score: undefined }))
  return words.length === 0 ? [] : [{ start: 0, end: seconds, words }]
}
const segmentsOf = (words: ReadonlyArray<TimedWord>): ReadonlyArray<SpokenSegment> => {
  const segments: Array<{ start: number; end: number; words: Array<SpokenWord> }> = []
  for (const { end, score, start, text } of words) {
    const last = segments.at(-1)
    if (last !== undefined && start - last.end < PAUSE_S) {
      last.words.push({ text, score })
      last.end = Math.max(last.end, end)
    } else segments.push({ start, end, words: [{ text, score }] })
  }
  return segments
}
const timedWords = (list: unknown, names: ReadonlyArray<string>, unit: number, seconds: number) => {
  if (!Array.isArray(list)) return undefined
  return list.slice(0, WORDS_MAX).flatMap((item: unknown): ReadonlyArray<TimedWord> => {
    const value = names.map((name) => textAt(item, name)).find((text) => text !== undefined)
    const [text] = wordsIn(value ?? "")
    if (text === undefined) return []
    const start = Math.min(seconds, Math.max(0, (numberAt(item, "start") ?? 0) * unit))
    const end = Math.min(seconds, Math.max(start, (numberAt(item, "end") ?? 0) * unit))
    return [{ text, start, end, score: scoreAt(item) }]
  })
}
const languageIn = (text: string | undefined): string | undefined =>
  text !== undefined && /^[a-z]{2}([-_]\w{1,8})?$/i.test(text) ? text.slice(0, 2).toLowerCase() : undefined

/** One field of a form. */
const field = (boundary: string, name: string, value: string): string =>
  `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`

export const openaiAsked = (model: RemoteTranscriberModel, spoken: Spoken): Asked => {
  const { boundary, hints, language, wav } = spoken
  const head =
    field(boundary, "model", model.model) +
    field(boundary, "response_format", "json") +
    (language === undefined ? "" : field(boundary, "language", language)) +
    (hints.length === 0 ? "" : field(boundary, "prompt", hints.slice(0, HINTS_MAX).join(", "))) +
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="speech.wav"\r\ncontent-type: audio/wav\r\n\r\n`
  return {
    method: "POST",
    url: addressOf(model, "/v1/audio/transcriptions"),
    headers: {
      accept: "application/json",
      "content-type": `multipart/form-data; boundary=${boundary}`,
      ...authorized(model.apiKey, "Bearer ")
    },
    body: Buffer.concat([Buffer.from(head), wav, Buffer.from(`\r\n--${boundary}--\r\n`)])
  }
}
export const openaiHeard = (answer: unknown, { seconds }: Spoken): Heard | undefined => {
  const text = textAt(answer, "text")
  if (text === undefined) return undefined
  return { segments: whole(text, seconds), language: languageIn(textAt(answer, "language")) }
}

export const deepgramAsked = (model: RemoteTranscriberModel, { hints, language, wav }: Spoken): Asked => {
  const query = new URLSearchParams({ model: model.model, punctuate: "true" })
  query.set(...((language === undefined ? ["detect_language", "true"] : ["language", language]) as [string, string]))
  // Other models answer 400 if terms are given.
  if (model.model.startsWith("nova-3")) for (const hint of hints.slice(0, HINTS_MAX)) query.append("keyterm", hint)
  return {
    method: "POST",
    url: `${addressOf(model, "/v1/listen")}?${query.toString()}`,
    headers: { accept: "application/json", "content-type": "audio/wav", ...authorized(model.apiKey, "Token ") },
    body: wav
  }
}
export const deepgramHeard = (answer: unknown, { seconds }: Spoken): Heard | undefined => {
  const channel = at(answer, "results", "channels", 0)
  const alternative = at(channel, "alternatives", 0)
  const text = textAt(alternative, "transcript")
  if (text === undefined) return undefined
  const words = timedWords(own(alternative, "words"), ["punctuated_word", "word"], 1, seconds)
  return {
    segments: words === undefined ? whole(text, seconds) : segmentsOf(words),
    language: languageIn(textAt(channel, "detected_language"))
  }
}

const assemblyHeaders = ({ apiKey }: RemoteTranscriberModel, type: string) => ({
  accept: "application/json",
  "content-type": type,
  ...authorized(apiKey, "")
})
/** The audio is uploaded first; the server returns an address for it. */
export const assemblyUpload = (model: RemoteTranscriberModel, { wav }: Spoken): Asked => ({
  method: "POST",
  url: addressOf(model, "/v2/upload"),
  headers: assemblyHeaders(model, "application/octet-stream"),
  body: wav
})
export const assemblyUploaded = (answer: unknown): string | undefined => textAt(answer, "upload_url")
export const assemblyOrder = (
  model: RemoteTranscriberModel,
  { hints, language }: Spoken,
  audio_url: string
): Asked => ({
  method: "POST",
  url: addressOf(model, "/v2/transcript"),
  headers: assemblyHeaders(model, "application/json"),
  body: JSON.stringify({
    audio_url,
    speech_models: [model.model],
    ...(language === undefined ? { language_detection: true } : { language_code: language }),
    ...(hints.length === 0 ? {} : { keyterms_prompt: hints.slice(0, HINTS_MAX) })
  })
})
export const assemblyId = (answer: unknown): string | undefined => {
  const id = textAt(answer, "id")
  return id !== undefined && /^[\w-]{1,100}$/.test(id) ? id : undefined
}
export const assemblyLook = (model: RemoteTranscriberModel, id: string): Asked => {
  const { "content-type": _, ...headers } = assemblyHeaders(model, "")
  return { method: "GET", url: `${addressOf(model, "/v2/transcript")}/${id}`, headers }
}
export const assemblyHeard = (answer: unknown, { seconds }: Spoken): Heard | "later" | { readonly error: string } => {
  const status = textAt(answer, "status")
  if (status === "queued" || status === "processing") return "later"
  if (status !== "completed") return { error: (textAt(answer, "error") ?? "an unknown state").slice(0, 200) }
  const words = timedWords(own(answer, "words"), ["text"], 0.001, seconds)
  const segments = words === undefined ? whole(textAt(answer, "text") ?? "", seconds) : segmentsOf(words)
  return { segments, language: languageIn(textAt(answer, "language_code")) }
}
