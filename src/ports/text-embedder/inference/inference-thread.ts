/** The front's side of the thread that runs the model: its answers as promises, which reject when the thread ends. */
import { Worker } from "node:worker_threads"
import type { FromThread, ThreadSettings, ToThread } from "./messages.ts"

/** Limit of the thread's heap: the vocabulary, and texts of two messages. The model's own memory is not on the heap. */
const HEAP_MB = 192
const STOP_WITHIN_MS = 2_000

export interface ChunkAnswer {
  readonly vectors: Float32Array
  readonly tokens: Uint16Array
  readonly took_ms: number
}
/** The thread has ended; as far as known, not because of these texts. */
export class ThreadLost extends Error {
  override readonly name = "ThreadLost"
}
interface Waiter {
  readonly resolve: (answer: ChunkAnswer) => void
  readonly reject: (error: Error) => void
}
export interface Loaded {
  readonly engine: "native" | "portable"
  /** Why the native engine does not run, if it was tried. */ readonly why: string | undefined
}

export class InferenceThread {
  readonly #worker: Worker
  readonly #ended: Promise<void>
  readonly #waiting = new Map<number, Waiter>()
  #lost: ThreadLost | undefined
  #ids = 0
  /** Rejects if the thread ends before it has loaded the model. */ readonly loaded: Promise<Loaded>

  constructor(settings: ThreadSettings, entry: URL = new URL("./inference-worker.ts", import.meta.url)) {
    this.#worker = new Worker(entry, {
      workerData: settings,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB }
    })
    this.loaded = new Promise((resolve, reject) => {
      const end = (message: string) => {
        if (this.#lost !== undefined) return
        this.#lost = new ThreadLost(message)
        reject(this.#lost)
        for (const { reject: fail } of this.#waiting.values()) fail(this.#lost)
        this.#waiting.clear()
      }
      this.#worker.on("message", (message: FromThread) => {
        if (message.kind === "loaded") return resolve(message)
        if (message.kind === "failed") return end(message.message)
        const waiter = this.#waiting.get(message.id)
        this.#waiting.delete(message.id)
        if (message.kind === "embedded") waiter?.resolve(message)
        else waiter?.reject(new Error(message.message))
      })
      this.#worker.on("error", (error) => end(error instanceof Error ? error.message : String(error)))
      this.#worker.on("exit", (code) => end(`the thread that runs the model ended (exit code ${code})`))
    })
    this.#ended = new Promise((resolve) => this.#worker.on("exit", () => resolve()))
    // Whoever awaits `loaded` gets the failure; if nobody does, it must not end the process.
    this.loaded.catch(() => {})
  }
  get isLost(): boolean {
    return this.#lost !== undefined
  }
  /** Rejects with `ThreadLost` if the thread ends, with another error if these texts cannot be embedded. */
  embed(texts: ReadonlyArray<string>, isQuery: boolean): Promise<ChunkAnswer> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost)
    const id = this.#ids++
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#worker.postMessage({ kind: "embed", id, isQuery, texts } satisfies ToThread)
    })
  }
  /** Ends the thread between two slices of work. */
  async close(): Promise<void> {
    this.#lost ??= new ThreadLost("the thread that runs the model was told to end")
    for (const { reject } of this.#waiting.values()) reject(this.#lost)
    this.#waiting.clear()
    this.#worker.postMessage({ kind: "stop" } satisfies ToThread)
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), STOP_WITHIN_MS)
    })
    if ((await Promise.race([this.#ended, late])) === "late") await this.#worker.terminate()
    clearTimeout(timer)
  }
}
