/**
 * Speech into text. The port promises: words in the order spoken, with the model's confidence if it has one; nothing is
 * invented by us; a language that the model does not know is refused rather than guessed; organizations take turns at a
 * model that runs here, and the queue is bounded.
 */
import { Context, Data, type Effect, type Scope } from "effect"
import type { Span } from "../audio-decoder/speech.ts"

/** What can be said of a transcriber, whether or not it is there. */
export interface TranscriberInUse {
  /** null: there is none. */ readonly name: string | null
  /** Runs in this program; nothing leaves the machine. */ readonly embedded: boolean
  /** ISO 639-1; none where it is to be asked in all. */ readonly languages: ReadonlyArray<string>
  readonly state: "ready" | "loading" | "absent"
}
export interface SpokenWord {
  readonly text: string
  /** 0 to 1; undefined where the model does not say. */ readonly score: number | undefined
}
/** One thing that may have been said. */
export interface Reading {
  readonly words: ReadonlyArray<SpokenWord>
  /** How likely the model takes all of it to be, as a natural logarithm. */ readonly heard: number
}
/** Of one piece of speech, by a model that was told what is likely. */
export interface Readings {
  readonly said: ReadonlyArray<Reading>
  /** Of the openings that it was told, those that sound most like it. */ readonly near: ReadonlyArray<string>
}
/** What may be spoken about: what documents begin with. A model that cannot be told so leaves it. */
export interface Likely {
  /** The same name: the same openings. */ readonly name: string
  /** One to a line, lower case, in UTF-8. */ readonly openings: Uint8Array
}
export interface SpokenSegment extends Span {
  /** As if nothing had been told. */ readonly words: ReadonlyArray<SpokenWord>
  readonly readings?: Readings | undefined
}
export interface Transcript {
  readonly segments: ReadonlyArray<SpokenSegment>
  /** ISO 639-1, as the model says, or as it was asked. */ readonly language: string
  readonly model: string
}
/** Sound of one channel, 16,000 numbers a second, and where in it somebody speaks. */
export interface TranscribeOrder {
  readonly organizationId: string
  readonly samples: Float32Array
  readonly speech: ReadonlyArray<Span>
  /** undefined: the model's own guess, or the one language that it has. */ readonly language: string | undefined
  /** Words that are likely, for models that can be told. */ readonly hints: ReadonlyArray<string>
  readonly likely?: Likely | undefined
}

/** What was heard so far of speech that goes on. */
export interface LiveHeard {
  /** From the beginning; the last of them may still change. */ readonly words: ReadonlyArray<SpokenWord>
  /** How many of them will not. */ readonly settled: number
  /** Of all that was said, where it was one piece. */ readonly readings?: Readings | undefined
  readonly language: string
  readonly model: string
}
export interface LiveOrder {
  readonly organizationId: string
  readonly language: string | undefined
  readonly hints: ReadonlyArray<string>
  readonly likely?: Likely | undefined
  /** Called with every change, as it comes; it must not throw. */ readonly heard: (heard: LiveHeard) => void
}
/** A session of speech. It ends with its scope; if it failed, the next push or close reports it. */
export interface LiveTranscription {
  /** One channel, 16,000 samples a second. Waits while too much of it is unprocessed. */
  readonly push: (samples: Float32Array) => Effect.Effect<void, TranscriptionUnavailable>
  /** There is no more; all that was said. */ readonly close: Effect.Effect<LiveHeard, TranscriptionUnavailable>
}

/**
 * There is no transcript. `not_installed` lasts until somebody installs or names one, `busy` is transient, `language`
 * is the request's, `failed` the model's or its server's. `message` is a sentence for the caller.
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

/** Of all words, in order. */
export const textOfSegment = ({ words }: SpokenSegment): string => words.map(({ text }) => text).join(" ")
