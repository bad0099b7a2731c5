/**
 * The transcriber that runs in this program, in a thread of its own that starts on first use and ends after ten idle
 * minutes. Spans of speech are processed one by one, so that a long recording of one organization lets others in
 * between.
 */
import { Worker } from "node:worker_threads"
import { Context, Effect, Layer } from "effect"
import { type LineOutcome, WorkerLine } from "../../worker-line.ts"
import type { Span } from "../../audio-decoder/speech.ts"
import { openByAgreement } from "../live/by-agreement.ts"
import { transcriberName, type TranscriberSize } from "../moonshine/layout.ts"
import { type LiveOrder, Transcriber, TranscriptionUnavailable, type TranscribeOrder } from "../transcriber.ts"
import type { Heard } from "../moonshine/model.ts"
import { questionOf } from "./question.ts"
import type { TranscriberSettings } from "./transcriber-worker.ts"

/** Where the transcriber is, as reported by its installer. */
export type InstalledTranscriber =
  | { readonly state: "absent"; readonly message: string }
  | {
      readonly state: "installed"
      readonly size: TranscriberSize
      readonly folder: string
      readonly runtime: string
      /** Folder of the model that tells speech from other sounds. */ readonly speech?: string | undefined
    }

/** Figures for operators. */
export interface TranscriberFigures {
  readonly pieces: number
  readonly seconds: number
  readonly losses: number
  readonly waiting: number
  readonly isLoaded: boolean
}
/** Undefined if this process has no transcriber. */
export const CurrentTranscriberFigures = Context.Reference<() => TranscriberFigures | undefined>(
  "dowser/ports/CurrentTranscriberFigures",
  { defaultValue: () => () => undefined }
)

const LANGUAGES = ["en"] as const
const RATE = 16_000
/** A second of speech takes a tenth of a second; a span has at most fifteen. */
const WITHIN_MS = 60_000
const READY_MS = 60_000
const IDLE_MS = 10 * 60_000
const HEAP_MB = 192
/** Seconds of speech in the queue, 64 kB each. */
const WAITING_MAX_S = 1_200,
  WAITING_MAX_EACH_S = 600
/** Audio around each span that is transcribed with it, because a word may begin and end softly. */
const AROUND_S = 0.25
/** Minimum duration of audio in which the model recognizes anything. */
const LEAST_S = 0.8

interface LocalTranscriberOptions {
  readonly installed: () => InstalledTranscriber
  readonly idle_ms?: number
  readonly within_ms?: number
  /** Another entry file for the thread, for tests. */ readonly entry?: URL
}

/** A span with some audio around it; silence where the recording has no more. */
const piece = (samples: Float32Array, { end, start }: Span): Float32Array => {
  const from = Math.max(0, Math.round((start - AROUND_S) * RATE))
  const to = Math.min(samples.length, Math.round((end + AROUND_S) * RATE))
  const cut = new Float32Array(Math.max(to - from, Math.round(LEAST_S * RATE)))
  cut.set(samples.subarray(from, to))
  return cut
}
const failureOf = (outcome: Exclude<LineOutcome<unknown>, { kind: "done" }>) =>
  outcome.kind === "busy"
    ? new TranscriptionUnavailable({ reason: "busy", message: "Too much speech waits for the transcriber." })
    : new TranscriptionUnavailable({ reason: "failed", message: `The transcriber failed: ${outcome.message}.` })

class Threads {
  readonly #options: LocalTranscriberOptions
  #line: WorkerLine<Heard> | undefined
  #of = ""

  constructor(options: LocalTranscriberOptions) {
    this.#options = options
  }
  /** Another installation gets another thread; the previous one ends when its work is done. */
  lineOf(settings: TranscriberSettings) {
    const { entry, idle_ms = IDLE_MS, within_ms = WITHIN_MS } = this.#options
    const of = `${settings.folder}\n${settings.speech ?? ""}`
    if (this.#line !== undefined && this.#of === of) return this.#line
    void this.#line?.close()
    this.#of = of
    this.#line = new WorkerLine({
      open: () =>
        new Worker(entry ?? new URL("./transcriber-worker.ts", import.meta.url), {
          workerData: settings,
          resourceLimits: { maxOldGenerationSizeMb: HEAP_MB }
        }),
      within_ms,
      readyWithin_ms: READY_MS,
      idle_ms,
      weightMax: WAITING_MAX_S,
      weightMaxEach: WAITING_MAX_EACH_S
    })
    return this.#line
  }
  get line() {
    return this.#line
  }
}

const make = (options: LocalTranscriberOptions) =>
  Effect.gen(function* () {
    const threads = yield* Effect.acquireRelease(
      Effect.sync(() => new Threads(options)),
      (own) => Effect.promise(async () => own.line?.close())
    )
    const installedFor = Effect.fnUntraced(function* (language: string) {
      const found = options.installed()
      if (found.state === "absent")
        return yield* new TranscriptionUnavailable({ reason: "not_installed", message: `${found.message}.` })
      if (!LANGUAGES.some((known) => known === language))
        return yield* new TranscriptionUnavailable({
          reason: "language",
          message: `${transcriberName(found.size)} knows English (en) alone`
        })
      return found
    })
    const transcribe = Effect.fnUntraced(function* (order: TranscribeOrder) {
      const { language = "en", likely, organizationId, samples, speech } = order
      const found = yield* installedFor(language)
      const line = threads.lineOf(found)
      const asked = (span: Span) =>
        Effect.callback<Heard, TranscriptionUnavailable>((resume) => {
          const sound = piece(samples, span)
          const giveUp = line.ask(
            organizationId,
            () => questionOf(sound, likely),
            sound.length / RATE,
            (outcome) =>
              resume(outcome.kind === "done" ? Effect.succeed(outcome.answer) : Effect.fail(failureOf(outcome)))
          )
          return Effect.sync(giveUp)
        })
      const segments = yield* Effect.forEach(speech, (span) =>
        Effect.map(asked(span), (heard) => ({ start: span.start, end: span.end, ...heard }))
      )
      return {
        segments: segments.filter(({ readings, words }) => words.length > 0 || (readings?.candidates.length ?? 0) > 0),
        language,
        model: transcriberName(found.size)
      }
    })
    const transcriber = Transcriber.of({
      inUse: () => {
        const found = options.installed()
        return found.state === "absent"
          ? { name: null, embedded: true, languages: LANGUAGES, state: "absent" }
          : { name: transcriberName(found.size), embedded: true, languages: LANGUAGES, state: "ready" }
      },
      transcribe,
      open: Effect.fnUntraced(function* (order: LiveOrder) {
        const language = order.language ?? "en"
        const { size } = yield* installedFor(language)
        return yield* openByAgreement(transcribe, { ...order, language }, transcriberName(size))
      })
    })
    const figures = (): TranscriberFigures | undefined => {
      const { line } = threads
      if (line === undefined) return undefined
      const { isLoaded, losses, pieces, seconds, waiting } = line
      return { isLoaded, losses, pieces, seconds, waiting }
    }
    return Context.make(Transcriber, transcriber).pipe(Context.add(CurrentTranscriberFigures, figures))
  })

export const layerLocalTranscriber = (options: LocalTranscriberOptions): Layer.Layer<Transcriber> =>
  Layer.effectContext(make(options))
