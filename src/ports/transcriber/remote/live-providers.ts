/**
 * The protocols of live transcription servers, according to their public interfaces: Deepgram's live listening,
 * AssemblyAI's streaming (version 3), OpenAI's realtime transcription. Each builds the messages to send and interprets
 * what arrives, without touching a socket.
 */
import { RATE } from "../../audio-decoder/audio-decoder.ts"
import { Resampler } from "../../audio-decoder/resample.ts"
import type { LiveHeard, SpokenWord } from "../transcriber.ts"
import { addressOf, at, authorized, own, type RemoteTranscriberModel, scoreAt, textAt, wordsIn } from "./providers.ts"

type Message = string | Uint8Array
export interface LiveProtocol {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent first. */ readonly opening: ReadonlyArray<string>
  readonly encode: (samples: Float32Array) => ReadonlyArray<Message>
  /** Sent last; the answers to it are awaited. */ readonly closing: () => ReadonlyArray<Message>
  /** Sent if there was no audio for some seconds. */ readonly keeping: ReadonlyArray<string>
  /** Handles JSON that arrived. */ readonly hear: (message: unknown) => void
  readonly heard: Pick<LiveHeard, "words" | "settled">
  /** Whether everything has been reported after `closing`. */ readonly isOver: boolean
  /** The error that the server reported. */ readonly failure: string | undefined
}
interface LiveOptions {
  readonly model: RemoteTranscriberModel
  readonly language: string | undefined
  readonly hints: ReadonlyArray<string>
}

/** Limits of one session: five minutes of speech are a quarter of them. */
const WORDS_MAX = 4_000,
  TURNS_MAX = 2_000
const HINTS_MAX = 50

const pcm16 = (samples: Float32Array): Uint8Array => {
  const bytes = new Uint8Array(2 * samples.length)
  const view = new DataView(bytes.buffer)
  for (const [i, sample] of samples.entries())
    view.setInt16(2 * i, Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), true)
  return bytes
}
/** Words from a list with scores, or from a text without. */
const wordsOf = (list: unknown, names: ReadonlyArray<string>, text: string | undefined): ReadonlyArray<SpokenWord> => {
  if (!Array.isArray(list) || list.length === 0)
    return wordsIn(text ?? "").map((word) => ({ text: word, score: undefined }))
  return list.slice(0, WORDS_MAX).flatMap((item: unknown) => {
    const [word] = wordsIn(names.map((name) => textAt(item, name)).find((found) => found !== undefined) ?? "")
    return word === undefined ? [] : [{ text: word, score: scoreAt(item) }]
  })
}

class Deepgram implements LiveProtocol {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly opening = []
  /** The server closes after ten seconds without a message. */
  readonly keeping = [JSON.stringify({ type: "KeepAlive" })]
  #settled: ReadonlyArray<SpokenWord> = []
  #passing: ReadonlyArray<SpokenWord> = []
  isOver = false
  readonly failure = undefined

  constructor({ hints, language, model }: LiveOptions) {
    const query = new URLSearchParams({
      model: model.model,
      encoding: "linear16",
      sample_rate: String(RATE),
      channels: "1",
      interim_results: "true",
      punctuate: "true",
      endpointing: "300"
    })
    const isNewest = model.model.startsWith("nova-3")
    if (language !== undefined) query.set("language", language)
    else if (isNewest) query.set("language", "multi")
    if (isNewest) for (const hint of hints.slice(0, HINTS_MAX)) query.append("keyterm", hint)
    this.url = `${addressOf(model, "/v1/listen")}?${query.toString()}`
    this.headers = authorized(model.apiKey, "Token ")
  }
  encode(samples: Float32Array): ReadonlyArray<Message> {
    return [pcm16(samples)]
  }
  closing(): ReadonlyArray<Message> {
    return [JSON.stringify({ type: "CloseStream" })]
  }
  hear(message: unknown): void {
    // This is the last message before the server closes.
    if (textAt(message, "type") === "Metadata") this.isOver = true
    if (textAt(message, "type") !== "Results") return
    const alternative = at(message, "channel", "alternatives", 0)
    const words = wordsOf(own(alternative, "words"), ["punctuated_word", "word"], textAt(alternative, "transcript"))
    const isFinal = own(message, "is_final") === true
    this.#passing = isFinal ? [] : words
    if (isFinal) this.#settled = [...this.#settled, ...words].slice(0, WORDS_MAX)
  }
  get heard(): LiveProtocol["heard"] {
    return { words: [...this.#settled, ...this.#passing], settled: this.#settled.length }
  }
}

interface Turn {
  readonly words: ReadonlyArray<SpokenWord>
  readonly isOver: boolean
}
/** The texts of turns, which may end in any order. */
class Turns {
  readonly #turns = new Map<string, Turn>()
  set(name: string, turn: Turn): void {
    if (this.#turns.size < TURNS_MAX || this.#turns.has(name)) this.#turns.set(name, turn)
  }
  get(name: string): Turn | undefined {
    return this.#turns.get(name)
  }
  get areOver(): boolean {
    return [...this.#turns.values()].every(({ isOver }) => isOver)
  }
  get heard(): LiveProtocol["heard"] {
    const turns = [...this.#turns.values()]
    const open = turns.findIndex(({ isOver }) => !isOver)
    const before = open < 0 ? turns : turns.slice(0, open)
    return {
      words: turns.flatMap(({ words }) => words).slice(0, WORDS_MAX),
      settled: Math.min(
        WORDS_MAX,
        before.reduce((sum, { words }) => sum + words.length, 0)
      )
    }
  }
}

/** The server takes at least 50 ms per message. */
const ASSEMBLY_SAMPLES_MIN = RATE / 20
const ASSEMBLY_PATH = "/v3/ws"
class AssemblyAi implements LiveProtocol {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly opening = []
  readonly keeping = []
  readonly #turns = new Turns()
  #kept: ReadonlyArray<number> = []
  isOver = false
  failure: string | undefined

  constructor({ hints, model }: LiveOptions) {
    // The interface for recordings has another host name.
    const url = (model.url ?? "https://api.assemblyai.com").replace(
      /^(\w+:\/\/)api\.(?=[\w.]*assemblyai\.com)/,
      "$1streaming."
    )
    const query = new URLSearchParams({
      sample_rate: String(RATE),
      encoding: "pcm_s16le",
      format_turns: "false",
      speech_model: /streaming|rt/.test(model.model) ? model.model : "universal-streaming-multilingual"
    })
    if (hints.length > 0) query.set("keyterms_prompt", JSON.stringify(hints.slice(0, HINTS_MAX)))
    this.url = `${addressOf({ ...model, url }, ASSEMBLY_PATH)}?${query.toString()}`
    this.headers = authorized(model.apiKey, "")
  }
  encode(samples: Float32Array): ReadonlyArray<Message> {
    const all = [...this.#kept, ...samples]
    const isEnough = all.length >= ASSEMBLY_SAMPLES_MIN
    this.#kept = isEnough ? [] : all
    return isEnough ? [pcm16(Float32Array.from(all))] : []
  }
  closing(): ReadonlyArray<Message> {
    const silence = new Float32Array(ASSEMBLY_SAMPLES_MIN)
    return [...(this.#kept.length === 0 ? [] : this.encode(silence)), JSON.stringify({ type: "Terminate" })]
  }
  hear(message: unknown): void {
    const type = textAt(message, "type")
    if (type === "Termination") this.isOver = true
    if (type === "Error" || textAt(message, "error") !== undefined)
      this.failure = textAt(message, "error") ?? "It said that there was an error"
    if (type !== "Turn") return
    const words = wordsOf(own(message, "words"), ["text"], textAt(message, "transcript"))
    this.#turns.set(String(own(message, "turn_order")), { words, isOver: own(message, "end_of_turn") === true })
  }
  get heard(): LiveProtocol["heard"] {
    return this.#turns.heard
  }
}

const OPENAI_RATE = 24_000
const TRANSCRIBED = "conversation.item.input_audio_transcription."
class OpenAiRealtime implements LiveProtocol {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly opening: ReadonlyArray<string>
  readonly keeping = []
  readonly #resampler = new Resampler(RATE, OPENAI_RATE)
  readonly #turns = new Turns()
  #texts = new Map<string, string>()
  /** The last audio was committed, or there was none left. */ #isClosing = false
  #isTaken = false
  failure: string | undefined

  constructor({ hints, language, model }: LiveOptions) {
    this.url = `${addressOf(model, "/v1/realtime")}?intent=transcription`
    this.headers = authorized(model.apiKey, "Bearer ")
    // A model made for live use reports words as they are spoken, without turns.
    const turn_detection = model.model.startsWith("gpt-live")
      ? null
      : { type: "server_vad", threshold: 0.5, prefix_padding_ms: 300, silence_duration_ms: 500 }
    const transcription = {
      model: model.model,
      ...(language === undefined ? {} : { language }),
      ...(hints.length === 0 ? {} : { prompt: hints.slice(0, HINTS_MAX).join(", ") })
    }
    const input = { format: { type: "audio/pcm", rate: OPENAI_RATE }, transcription, turn_detection }
    this.opening = [JSON.stringify({ type: "session.update", session: { type: "transcription", audio: { input } } })]
  }
  encode(samples: Float32Array): ReadonlyArray<Message> {
    const audio = Buffer.from(pcm16(this.#resampler.push(samples))).toString("base64")
    return audio === "" ? [] : [JSON.stringify({ type: "input_audio_buffer.append", audio })]
  }
  closing(): ReadonlyArray<Message> {
    this.#isClosing = true
    return [JSON.stringify({ type: "input_audio_buffer.commit" })]
  }
  hear(message: unknown): void {
    const type = textAt(message, "type") ?? ""
    const item = textAt(message, "item_id") ?? ""
    if (type === "error") return this.#fail(message)
    if (type === "input_audio_buffer.committed") {
      this.#isTaken ||= this.#isClosing
      if (this.#turns.get(item) === undefined) this.#turns.set(item, { words: [], isOver: false })
    }
    if (!type.startsWith(TRANSCRIBED)) return
    const kind = type.slice(TRANSCRIBED.length)
    if (kind === "delta") {
      const text = `${this.#texts.get(item) ?? ""}${textAt(message, "delta") ?? ""}`.slice(0, 10 * WORDS_MAX)
      this.#texts.set(item, text)
      if (this.#turns.get(item)?.isOver !== true) this.#turns.set(item, { words: wordsOf([], [], text), isOver: false })
    } else if (kind === "completed" || kind === "failed") {
      this.#turns.set(item, { words: wordsOf([], [], textAt(message, "transcript")), isOver: true })
      this.#texts.delete(item)
    }
  }
  #fail(message: unknown): void {
    // The error means that all audio already belonged to a turn.
    if (textAt(message, "error", "code") === "input_audio_buffer_commit_empty") this.#isTaken = true
    else this.failure = textAt(message, "error", "message") ?? "It said that there was an error"
  }
  get isOver(): boolean {
    return this.#isTaken && this.#turns.areOver
  }
  get heard(): LiveProtocol["heard"] {
    return this.#turns.heard
  }
}

export const liveProtocol = (options: LiveOptions): LiveProtocol => {
  switch (options.model.kind) {
    case "deepgram":
      return new Deepgram(options)
    case "assemblyai":
      return new AssemblyAi(options)
    case "openai":
      return new OpenAiRealtime(options)
  }
}
