/**
 * Speech to text. The port promises words in the order spoken, with the model's confidence if it has one. It invents
 * nothing. A language that the model does not know is refused rather than guessed. Organizations take turns at a
 * model that runs here, and the queue is bounded.
 */
import { Context, Data, type Effect, type Scope } from "effect"
import type { Span } from "../audio-decoder/speech.ts"

/** What is known of a transcriber, whether or not it is installed. */
export interface TranscriberInUse {
  /** null: there is none. */ readonly name: string | null
  /** Whether it runs in this program, so that nothing leaves the machine. */ readonly embedded: boolean
  /** ISO 639-1; empty if it accepts all languages. */ readonly languages: ReadonlyArray<string>
  readonly state: "ready" | "loading" | "absent"
}
export interface SpokenWord {
  readonly text: string
  /** 0 to 1; undefined if the model does not report it. */ readonly score: number | undefined
}
/** One candidate for what was said. */
export interface Reading {
  readonly words: ReadonlyArray<SpokenWord>
  /** The model's log probability of the entire reading (natural logarithm). */ readonly heard: number
}
/** Readings of one span of speech, by a model that was given likely openings. */
export interface Readings {
  readonly candidates: ReadonlyArray<Reading>
  /** The given openings that sound most like the speech. */ readonly near: ReadonlyArray<string>
}
/** What the speech may be about: openings of documents. Models that cannot use it ignore it. */
export interface Likely {
  /** Equal names stand for equal openings. */ readonly name: string
  /** One per line, lower case, in UTF-8. */ readonly openings: Uint8Array
}
export interface SpokenSegment extends Span {
  /** The words recognized without openings. */ readonly words: ReadonlyArray<SpokenWord>
  readonly readings?: Readings | undefined
}
export interface Transcript {
  readonly segments: ReadonlyArray<SpokenSegment>
  /** ISO 639-1, as the model reports or as requested. */ readonly language: string
  readonly model: string
}
/** Audio of one channel, 16,000 samples a second, and the spans in which somebody speaks. */
export interface TranscribeOrder {
  readonly organizationId: string
  readonly samples: Float32Array
  readonly speech: ReadonlyArray<Span>
  /** undefined: the model's own guess, or its only language. */ readonly language: string | undefined
  /** Likely words, for models that accept them. */ readonly hints: ReadonlyArray<string>
  readonly likely?: Likely | undefined
}

/** What was recognized so far of speech in progress. */
export interface LiveHeard {
  /** All words from the beginning; the last ones may still change. */ readonly words: ReadonlyArray<SpokenWord>
  /** How many of the words are final. */ readonly settled: number
  /** Readings of everything said, if it was one span. */ readonly readings?: Readings | undefined
  readonly language: string
  readonly model: string
}
export interface LiveOrder {
  readonly organizationId: string
  readonly language: string | undefined
  readonly hints: ReadonlyArray<string>
  readonly likely?: Likely | undefined
  /** Called immediately with every change; it must not throw. */ readonly heard: (heard: LiveHeard) => void
}
/** A session of speech. It ends with its scope; if it failed, the next push or close reports it. */
export interface LiveTranscription {
  /** One channel, 16,000 samples a second. Waits while too much of it is unprocessed. */
  readonly push: (samples: Float32Array) => Effect.Effect<void, TranscriptionUnavailable>
  /** Ends the audio; returns all that was said. */ readonly close: Effect.Effect<LiveHeard, TranscriptionUnavailable>
}

/**
 * There is no transcript. `not_installed` lasts until somebody installs or names a model, `busy` is transient,
 * `language` is the request's fault, `failed` the model's or its server's. `message` is a sentence for the caller.
 */
export class TranscriptionUnavailable extends Data.TaggedError("TranscriptionUnavailable")<{
  readonly message: string
  readonly reason: "not_installed" | "busy" | "language" | "failed"
}> {}

export class Transcriber extends Context.Service<
  Transcriber,
  {
    readonly inUse: () => TranscriberInUse
    readonly transcribe: (order: TranscribeOrder) => Effect.Effect<Transcript, TranscriptionUnavailable>
    readonly open: (order: LiveOrder) => Effect.Effect<LiveTranscription, TranscriptionUnavailable, Scope.Scope>
  }
>()("dowser/ports/Transcriber") {}

/** The text of all words, in order. */
export const textOfSegment = ({ words }: SpokenSegment): string => words.map(({ text }) => text).join(" ")
