/**
 * The audio of one stream: decoded as it arrives, charged for, and passed to the organization's transcriber. It is over
 * when silence follows speech. Without a transcriber the client gets one error, and audio is dropped.
 */
import { Effect, type Scope } from "effect"
import type { DeclaredError } from "../../http/declared.ts"
import { inputInvalid } from "../../http/errors.ts"
import { statusOf } from "../../http/render.ts"
import type { Meter } from "../../metering/ai-spending.ts"
import { AUDIO_BYTES_MAX, type LiveOpusFormat, RATE, SECONDS_MAX } from "../../ports/audio-decoder/audio-decoder.ts"
import { AudioRefused } from "../../ports/audio-decoder/format.ts"
import { VoiceActivity } from "../../ports/transcriber/live/voice-activity.ts"
import type { LiveHeard } from "../../ports/transcriber/transcriber.ts"
import type { OpenedSpeech } from "../speech.ts"
import { endedBy, StreamEnded, tooMuch } from "./ended.ts"
import { soundOfStream, type Start } from "./frames.ts"

/** Silence that ends a stream. A pause between two sentences is shorter. */
export const SILENCE_S = 1.5

interface OpenedSound {
  readonly push: (bytes: Uint8Array) => Effect.Effect<Float32Array, DeclaredError>
}
export interface HearingParts {
  readonly listen: (
    language: string | undefined,
    heard: (heard: LiveHeard) => void
  ) => Effect.Effect<OpenedSpeech, DeclaredError, Scope.Scope>
  readonly decoder: (format: LiveOpusFormat) => Effect.Effect<OpenedSound, DeclaredError, Scope.Scope>
}
interface HearingOptions {
  readonly parts: HearingParts
  readonly start: Start
  readonly meter: Meter
  readonly heard: (heard: LiveHeard) => void
  /** Called with the reason if there is no transcriber. */ readonly refuse: (error: DeclaredError) => void
}

export class Hearing {
  readonly #options: HearingOptions
  readonly #activity = new VoiceActivity()
  #sound: OpenedSound | undefined
  #speech: OpenedSpeech | "nobody" | undefined
  #bytes = 0
  #samples = 0
  /** Where the latest speech ended, in samples. */ #quietFrom: number | undefined

  constructor(options: HearingOptions) {
    this.#options = options
  }
  /** True if the visitor has stopped speaking. `isWanted` is false if the client sends its own words. */
  push(bytes: Uint8Array, isWanted: boolean): Effect.Effect<boolean, StreamEnded, Scope.Scope> {
    return Effect.gen(
      function* (this: Hearing) {
        const { meter } = this.#options
        this.#bytes += bytes.length
        if (this.#bytes > AUDIO_BYTES_MAX) return yield* tooMuch()
        this.#sound ??= yield* this.#decoder(bytes)
        const samples = yield* Effect.mapError(this.#sound.push(bytes), (error) => endedBy(error))
        this.#samples += samples.length
        if (this.#samples > SECONDS_MAX * RATE) return yield* tooMuch()
        if (samples.length === 0 || !isWanted) return false
        this.#speech ??= yield* this.#listen()
        if (this.#speech === "nobody") return false
        yield* Effect.mapError(meter.use(this.#samples / RATE), (error) => endedBy(error))
        yield* Effect.mapError(this.#speech.push(samples), (error) => this.#unheard(error))
        return this.#isOver(samples)
      }.bind(this)
    )
  }
  /** The final words; undefined if nothing was transcribed. */
  close(): Effect.Effect<LiveHeard | undefined, StreamEnded> {
    return this.#speech === undefined || this.#speech === "nobody"
      ? Effect.succeed(undefined)
      : Effect.mapError(this.#speech.close, (error) => this.#unheard(error))
  }

  #isOver(samples: Float32Array): boolean {
    for (const event of this.#activity.push(samples)) {
      if (event.kind === "onset") this.#quietFrom = undefined
      else if (!event.isClick && !event.isCut) this.#quietFrom = event.at
    }
    return this.#quietFrom !== undefined && this.#samples - this.#quietFrom >= SILENCE_S * RATE
  }
  #decoder(first: Uint8Array): Effect.Effect<OpenedSound, StreamEnded, Scope.Scope> {
    const { parts, start } = this.#options
    const sound = soundOfStream(start, first)
    if (typeof sound === "string") return Effect.mapError(parts.decoder(sound), (error) => endedBy(error))
    if ("refusal" in sound) return Effect.fail(endedBy(inputInvalid("audio", sound.refusal)))
    return Effect.succeed({
      push: (bytes) =>
        Effect.try({
          try: () => sound.push(bytes),
          catch: (error) => {
            if (error instanceof AudioRefused) return inputInvalid("audio", error.message)
            throw error
          }
        })
    })
  }
  /** Without a transcriber the stream goes on, because the client may send its own words. */
  #listen(): Effect.Effect<OpenedSpeech | "nobody", StreamEnded, Scope.Scope> {
    const { heard, parts, refuse, start } = this.#options
    return Effect.catch(parts.listen(start.language, heard), (error) => {
      if (statusOf(error) !== 409) return Effect.fail(endedBy(error))
      return Effect.sync(() => {
        refuse(error)
        return "nobody" as const
      })
    })
  }
  #unheard(error: DeclaredError): StreamEnded {
    this.#options.meter.forgive()
    return endedBy(error)
  }
}
