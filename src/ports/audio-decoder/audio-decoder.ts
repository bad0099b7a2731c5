/**
 * Sound from outside as numbers: decoded in a thread of its own, by WebAssembly that sees nothing but the bytes. The
 * port promises: an answer or a refusal in time, whatever the bytes are; at most `SECONDS_MAX` of sound, determined
 * before or during decoding; organizations take turns; the queue is bounded.
 */
import { Context, Data, type Effect, type Scope } from "effect"
import type { Span } from "./speech.ts"

/** Limits of a file, and of the sound that it holds. */
export const AUDIO_BYTES_MAX = 25_000_000
export const SECONDS_MAX = 300
/** Samples a second of the output, one channel. */
export const RATE = 16_000

export interface DecodedAudio {
  readonly samples: Float32Array
  readonly seconds: number
  /** Spans in which somebody may be speaking, in order; none if nobody is. */ readonly speech: ReadonlyArray<Span>
}
/** How Opus arrives; `bare` is a packet per message. */
export type LiveOpusFormat = "ogg" | "webm" | "bare"
/** A stream that is decoded as it comes. */
export interface LiveDecoder {
  /** One piece after the other; one channel, 16,000 samples a second. */
  readonly push: (bytes: Uint8Array) => Effect.Effect<Float32Array, AudioFailure>
}
/** `refused`: no sound that can be read, or too much. `busy`: too much waits. `failed`: the thread is not to be had. */
export class AudioFailure extends Data.TaggedError("AudioFailure")<{
  readonly kind: "refused" | "busy" | "failed"
  readonly message: string
}> {}

export class AudioDecoder extends Context.Service<
  AudioDecoder,
  {
    readonly decode: (organizationId: string, bytes: Uint8Array) => Effect.Effect<DecodedAudio, AudioFailure>
    /** It closes with the scope. */
    readonly open: (format: LiveOpusFormat) => Effect.Effect<LiveDecoder, AudioFailure, Scope.Scope>
  }
>()("dowser/ports/AudioDecoder") {}
