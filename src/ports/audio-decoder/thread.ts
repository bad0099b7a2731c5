/** Runs the decoder in its thread (`decoder-worker.ts`). */
import { Worker } from "node:worker_threads"
import { Effect, Layer } from "effect"
import { type LineOutcome, WorkerLine } from "../worker-line.ts"
import { AudioDecoder, AudioFailure, type DecodedAudio } from "./audio-decoder.ts"
import type { DecodedPlain } from "./decoder-worker.ts"
import { audioFormatOf, NO_AUDIO } from "./format.ts"
import { LiveThread, openLive } from "./live/live-thread.ts"

const HEAP_MB = 256
/** Five minutes of MP3 take a second to decode. */
const WITHIN_MS = 20_000
const READY_MS = 30_000
const IDLE_MS = 60_000
/** Bytes in the queue; one organization may have two of the largest files in it. */
const WAITING_BYTES_MAX = 100_000_000,
  WAITING_BYTES_MAX_EACH = 50_000_000

const failureOf = (outcome: Exclude<LineOutcome<DecodedPlain>, { kind: "done" }>): AudioFailure => {
  switch (outcome.kind) {
    case "busy":
      return new AudioFailure({ kind: "busy", message: "Too much sound waits to be decoded; send it again later." })
    case "refused":
      return new AudioFailure({ kind: "refused", message: outcome.message })
    case "lost":
      return outcome.hasBegun
        ? new AudioFailure({ kind: "refused", message: `The sound takes too long to decode. ${NO_AUDIO}` })
        : new AudioFailure({ kind: "failed", message: "The thread that decodes sound could not be started." })
  }
}

/** `within_ms`: the time limit for one file, for tests. */
export const layerDecoderThread = (within_ms = WITHIN_MS): Layer.Layer<AudioDecoder> =>
  Layer.effect(
    AudioDecoder,
    Effect.gen(function* () {
      const line = yield* Effect.acquireRelease(
        Effect.sync(
          () =>
            new WorkerLine<DecodedPlain>({
              open: () =>
                new Worker(new URL("./decoder-worker.ts", import.meta.url), {
                  resourceLimits: { maxOldGenerationSizeMb: HEAP_MB }
                }),
              within_ms,
              readyWithin_ms: READY_MS,
              idle_ms: IDLE_MS,
              weightMax: WAITING_BYTES_MAX,
              weightMaxEach: WAITING_BYTES_MAX_EACH
            })
        ),
        (own) => Effect.promise(() => own.close())
      )
      const live = yield* Effect.acquireRelease(
        Effect.sync(() => new LiveThread()),
        (own) => Effect.promise(() => own.close())
      )
      return AudioDecoder.of({
        open: (format) => openLive(live, format),
        decode: (organizationId, bytes) =>
          audioFormatOf(bytes) === undefined
            ? Effect.fail(new AudioFailure({ kind: "refused", message: NO_AUDIO }))
            : Effect.callback<DecodedAudio, AudioFailure>((resume) => {
                const giveUp = line.ask(organizationId, bytes, bytes.length, (outcome) =>
                  resume(
                    outcome.kind === "done"
                      ? Effect.succeed({ ...outcome.answer, samples: new Float32Array(outcome.answer.samples) })
                      : Effect.fail(failureOf(outcome))
                  )
                )
                return Effect.sync(giveUp)
              })
      })
    })
  )
