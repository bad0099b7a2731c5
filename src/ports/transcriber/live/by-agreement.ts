/**
 * Live transcription by a model for complete recordings. A run of speech is decoded repeatedly while it grows; what two
 * decodings agree on is shown, and the decoding of the complete run is final. One decoding at a time; a slow model is
 * used less often, spending at most a fifth of the time on interim results. Waiting audio is bounded: a run has at most
 * fifteen seconds, and a sender waits while two runs are not decoded yet.
 */
import { Clock, Deferred, Effect, Exit, Queue } from "effect"
import { RATE } from "../../audio-decoder/audio-decoder.ts"
import type {
  LiveHeard,
  LiveOrder,
  LiveTranscription,
  Readings,
  SpokenWord,
  Transcript,
  TranscribeOrder,
  TranscriptionUnavailable
} from "../transcriber.ts"
import { Agreement } from "./agreement.ts"
import { SpokenSound } from "./spoken-sound.ts"
import { VoiceActivity, type VoiceEvent } from "./voice-activity.ts"

/** Samples of a run before its first decoding, and the growth before each further one. */
const FIRST = 0.4 * RATE,
  STEP = 0.3 * RATE
/** Interim decodings get one part in this many of the model's time, once some text is shown. */
const SHARE = 5
/** Audio added around a run, because a word begins and ends softly. */
const AROUND = 0.25 * RATE
const RUNS_MAX = 2
/** Maximum number of samples pushed in one step, so that speech in them is detected without delay. */
const PIECE = RATE / 10

type Transcribe = (order: TranscribeOrder) => Effect.Effect<Transcript, TranscriptionUnavailable>
interface Work {
  readonly samples: Float32Array
  /** Start of the speech in the samples. */ readonly from: number
  readonly to: number
  readonly isWhole: boolean
}

class Listening {
  readonly #activity = new VoiceActivity()
  readonly #sound = new SpokenSound()
  readonly #runs: Array<Work> = []
  #onset = 0
  #decoded = 0
  /** No interim decoding starts before this time. */ #notBefore_ms = 0
  #agreement = new Agreement()
  #settled: ReadonlyArray<SpokenWord> = []
  #shown: ReadonlyArray<SpokenWord> = []
  /** Readings of the only run so far that is final. */ #readings: Readings | undefined
  #runsSettled = 0
  language: string
  model: string

  constructor(language: string, model: string) {
    this.language = language
    this.model = model
  }
  get isFull(): boolean {
    return this.#runs.length >= RUNS_MAX
  }
  get isIdle(): boolean {
    return this.#runs.length === 0
  }
  get heard(): LiveHeard {
    const { language, model } = this
    const words = [...this.#settled, ...this.#shown]
    const readings = this.#runsSettled === 1 && this.#shown.length === 0 ? this.#readings : undefined
    return { words, settled: this.#settled.length, readings, language, model }
  }
  push(samples: Float32Array): void {
    this.#sound.add(samples)
    for (const event of this.#activity.push(samples)) this.#take(event)
    if (!this.#activity.isSpeaking) this.#sound.forgetSilence()
  }
  end(): void {
    const event = this.#activity.end()
    if (event !== undefined) this.#take(event)
  }
  #take(event: VoiceEvent): void {
    if (event.kind === "onset") {
      this.#onset = event.at
      this.#decoded = event.at
      return
    }
    if (!event.isClick) this.#runs.push(this.#workOf(event.at, true))
    this.#sound.forget(event.at)
  }
  #workOf(to: number, isWhole: boolean): Work {
    const { from, samples } = this.#sound.cut(this.#onset - AROUND, to + AROUND)
    return { samples, from: this.#onset - from, to: to - from, isWhole }
  }
  /** The next decoding, if any. */
  next(now_ms: number): Work | undefined {
    const whole = this.#runs[0]
    if (whole !== undefined) return whole
    const { end } = this.#sound
    const isDue = end - this.#onset >= FIRST && end - this.#decoded >= STEP && now_ms >= this.#notBefore_ms
    if (!this.#activity.isSpeaking || !isDue) return undefined
    this.#decoded = end
    return this.#workOf(end, false)
  }
  done({ isWhole }: Work, { language, model, segments }: Transcript, began_ms: number, now_ms: number): void {
    const words = segments.flatMap((segment) => segment.words)
    this.language = language
    this.model = model
    if (isWhole) {
      this.#runs.shift()
      this.#settled = [...this.#settled, ...words]
      this.#readings = segments.length === 1 ? segments[0]?.readings : undefined
      this.#runsSettled++
      this.#shown = []
      this.#agreement = new Agreement()
      return
    }
    // A run that ended meanwhile is decoded next; until then its interim result is shown.
    this.#shown = this.#agreement.add(words)
    if (this.#shown.length > 0) this.#notBefore_ms = now_ms + (SHARE - 1) * (now_ms - began_ms)
  }
  /** Called when an interim decoding failed: it is not repeated for the same audio. */
  given(): void {
    this.#decoded = this.#sound.end
  }
}

const orderOf = (
  { hints, language, likely, organizationId }: LiveOrder,
  { from, isWhole, samples, to }: Work
): TranscribeOrder => ({
  organizationId,
  samples,
  speech: [{ start: from / RATE, end: to / RATE }],
  language,
  hints,
  // Only the final decoding uses the openings: they cost two further passes.
  likely: isWhole ? likely : undefined
})

/** `model`: its name, until it reports one itself. */
export const openByAgreement = Effect.fnUntraced(function* (transcribe: Transcribe, order: LiveOrder, model: string) {
  const listening = new Listening(order.language ?? "und", model)
  /** Signals that audio arrived, and that something was decoded. */
  const arrived = yield* Queue.sliding<void>(1)
  const decoded = yield* Queue.sliding<void>(1)
  const failed = yield* Deferred.make<never, TranscriptionUnavailable>()

  const decode = Effect.fnUntraced(function* (work: Work) {
    const began_ms = yield* Clock.currentTimeMillis
    const transcript = yield* Effect.exit(transcribe(orderOf(order, work)))
    if (Exit.isFailure(transcript) && work.isWhole) return yield* transcript
    if (Exit.isFailure(transcript)) return listening.given()
    const before = JSON.stringify(listening.heard)
    listening.done(work, transcript.value, began_ms, yield* Clock.currentTimeMillis)
    if (JSON.stringify(listening.heard) !== before) order.heard(listening.heard)
  })
  const working = Effect.gen(function* () {
    for (;;) {
      yield* Queue.take(arrived)
      for (let work = listening.next(yield* Clock.currentTimeMillis); work !== undefined;) {
        yield* decode(work)
        Queue.offerUnsafe(decoded, undefined)
        work = listening.next(yield* Clock.currentTimeMillis)
      }
    }
  })
  yield* Effect.forkScoped(Effect.onExit(working, (exit) => Deferred.done(failed, exit)))
  const until = (isEnough: () => boolean) =>
    Effect.gen(function* () {
      Queue.offerUnsafe(arrived, undefined)
      while (!isEnough()) yield* Effect.raceFirst(Queue.take(decoded), Deferred.await(failed))
    })

  const session: LiveTranscription = {
    push: Effect.fnUntraced(function* (samples: Float32Array) {
      for (let at = 0; at < samples.length; at += PIECE) {
        listening.push(samples.subarray(at, at + PIECE))
        yield* until(() => !listening.isFull)
      }
      const end = yield* Deferred.poll(failed)
      if (end._tag === "Some") yield* end.value
    }),
    close: Effect.gen(function* () {
      listening.end()
      yield* until(() => listening.isIdle)
      return listening.heard
    })
  }
  return session
})
