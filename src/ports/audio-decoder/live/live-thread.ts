/**
 * The thread of Opus streams (`live-worker.ts`). It starts with the first stream and ends some time after the last. A
 * stream waits for each of its chunks, so each has at most one in progress. A chunk that takes too long ends the
 * thread, with all its streams.
 */
import { Worker } from "node:worker_threads"
import { Effect } from "effect"
import { AudioFailure, type LiveDecoder, type LiveOpusFormat } from "../audio-decoder.ts"
import type { FromLiveWorker, ToLiveWorker } from "./live-worker.ts"

/** Each stream has a decoder of a few megabytes. */
const STREAMS_MAX = 300
const HEAP_MB = 256
/** A megabyte of Opus takes a second or two to decode. */
const WITHIN_MS = 10_000
const IDLE_MS = 60_000

interface PendingDecode {
  readonly settle: (outcome: Effect.Effect<Float32Array, AudioFailure>) => void
  readonly timer: NodeJS.Timeout
}
const lost = () => new AudioFailure({ kind: "failed", message: "The thread that decodes sound has ended." })

export class LiveThread {
  #worker: Worker | undefined
  readonly #waiting = new Map<number, PendingDecode>()
  readonly #open = new Set<number>()
  #streams = 0
  #idle: NodeJS.Timeout | undefined

  /** Returns undefined if there are too many streams. */
  open(): number | undefined {
    if (this.#open.size >= STREAMS_MAX) return undefined
    clearTimeout(this.#idle)
    this.#open.add(++this.#streams)
    return this.#streams
  }
  end(stream: number, format: LiveOpusFormat): void {
    this.#open.delete(stream)
    this.#settle(stream, Effect.fail(lost()))
    this.#send({ stream, format })
    if (this.#open.size > 0) return
    this.#idle = setTimeout(() => void this.close(), IDLE_MS)
    this.#idle.unref()
  }
  ask(stream: number, format: LiveOpusFormat, bytes: Uint8Array, settle: PendingDecode["settle"]): void {
    this.#begin()
    const timer = setTimeout(() => void this.close(), WITHIN_MS)
    this.#waiting.set(stream, { settle, timer })
    // A plain buffer, and a copy: Deno visits every element of a typed array sent to a thread, and a slice of a Node
    // buffer is only a view.
    const copy = new Uint8Array(bytes).buffer
    this.#send({ stream, format, bytes: copy }, [copy])
  }
  async close(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    clearTimeout(this.#idle)
    for (const stream of [...this.#waiting.keys()]) this.#settle(stream, Effect.fail(lost()))
    await worker?.terminate()
  }

  #begin(): void {
    if (this.#worker !== undefined) return
    const worker = new Worker(new URL("./live-worker.ts", import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB }
    })
    this.#worker = worker
    worker.on("message", (report: FromLiveWorker) =>
      this.#settle(
        report.stream,
        report.kind === "samples"
          ? Effect.succeed(new Float32Array(report.samples))
          : Effect.fail(new AudioFailure({ kind: "refused", message: report.message }))
      )
    )
    const isGone = () => {
      if (this.#worker === worker) void this.close()
    }
    worker.on("error", isGone)
    worker.on("exit", isGone)
  }
  #send(message: ToLiveWorker, transfer: ReadonlyArray<ArrayBuffer> = []): void {
    this.#worker?.postMessage(message, transfer)
  }
  #settle(stream: number, outcome: Effect.Effect<Float32Array, AudioFailure>): void {
    const waiting = this.#waiting.get(stream)
    this.#waiting.delete(stream)
    clearTimeout(waiting?.timer)
    waiting?.settle(outcome)
  }
}

export const openLive = (thread: LiveThread, format: LiveOpusFormat) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.suspend(() => {
        const stream = thread.open()
        return stream === undefined
          ? Effect.fail(new AudioFailure({ kind: "busy", message: "Too many streams are decoded at the moment." }))
          : Effect.succeed(stream)
      }),
      (stream) => Effect.sync(() => thread.end(stream, format))
    ),
    (stream): LiveDecoder => ({
      push: (bytes) =>
        Effect.callback<Float32Array, AudioFailure>((resume) => thread.ask(stream, format, bytes, resume))
    })
  )
