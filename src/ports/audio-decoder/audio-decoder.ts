/**
 * Decodes untrusted audio into samples, in a thread of its own, by WebAssembly that has access to nothing but the
 * bytes. The port promises an answer or a refusal in time, whatever the bytes are. It decodes at most `SECONDS_MAX`
 * of audio, which is checked before or during decoding. Organizations take turns, and the queue is bounded.
 */
import { Context, Data, type Effect, type Scope } from "effect"
import type { Span } from "./speech.ts"

/** Limits of a file, and of the audio in it. */
export const AUDIO_BYTES_MAX = 25_000_000
export const SECONDS_MAX = 300
/** Output samples per second; the output has one channel. */
export const RATE = 16_000

export interface DecodedAudio {
  readonly samples: Float32Array
  readonly seconds: number
  /** Spans that may contain speech, in order; empty if there is none. */ readonly speech: ReadonlyArray<Span>
}
/** The container of an Opus stream; `bare` means one packet per message, without a container. */
export type LiveOpusFormat = "ogg" | "webm" | "bare"
/** Decodes a stream while it arrives. */
export interface LiveDecoder {
  /** Takes one chunk after another; returns one channel of 16,000 samples a second. */
  readonly push: (bytes: Uint8Array) => Effect.Effect<Float32Array, AudioFailure>
}
/** `refused`: no readable audio, or too much. `busy`: the queue is full. `failed`: the thread is unavailable. */
export class AudioFailure extends Data.TaggedError("AudioFailure")<{
  readonly kind: "refused" | "busy" | "failed"
  readonly message: string
}> {}

export class AudioDecoder extends Context.Service<
  AudioDecoder,
  {
    readonly decode: (organizationId: string, bytes: Uint8Array) => Effect.Effect<DecodedAudio, AudioFailure>
    /** The decoder closes with the scope. */
    readonly open: (format: LiveOpusFormat) => Effect.Effect<LiveDecoder, AudioFailure, Scope.Scope>
  }
>()("dowser/ports/AudioDecoder") {}
