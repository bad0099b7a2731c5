/** The front's side of the thread that keeps the runs: its answers as promises, which reject when the thread ends. */
import { Worker } from "node:worker_threads"
import type { FromRuns, RunThreadSettings, ToRuns } from "./messages.ts"
import type { LogRange } from "./run-format.ts"
import type { Change } from "./run-store.ts"
import type { OpenedRun } from "./run-writer.ts"

const HEAP_MB = 512
/** Bytes in flight to the thread before `add` waits. */
const IN_FLIGHT_BYTES_MAX = 16 * 1024 * 1024
const STOP_WITHIN_MS = 2_000

interface Waiter<A> {
  readonly resolve: (value: A) => void
  readonly reject: (error: Error) => void
}

export class RunThread {
  readonly #worker: Worker
  readonly #ended: Promise<void>
  #failure: Error | undefined
  #inFlight = 0
  readonly #room: Array<Waiter<void>> = []
  readonly #sealing: Array<Waiter<OpenedRun>> = []
  readonly #discarding: Array<Waiter<void>> = []
  /** The runs found at start, once they are opened. */
  readonly opened: Promise<{ readonly runs: ReadonlyArray<OpenedRun>; readonly discarded: ReadonlyArray<string> }>
  /** Rejects if the thread ends by itself. */
  readonly failed: Promise<never>

  constructor(settings: RunThreadSettings, onChange: (change: Change) => void) {
    this.#worker = new Worker(new URL("./run-worker.ts", import.meta.url), {
      workerData: settings,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB }
    })
    let rejectAll = (_error: Error): void => {}
    this.failed = new Promise<never>((_, reject) => {
      rejectAll = reject
    })
    this.opened = new Promise((resolve, reject) => {
      this.#worker.on("message", (message: FromRuns) => {
        if (message.kind === "opened") resolve(message)
        else if (message.kind === "took") this.#took(message.bytes)
        else if (message.kind === "sealed") this.#sealing.shift()?.resolve(message.run)
        else if (message.kind === "changed") onChange(message)
        else if (message.kind === "discarded") this.#discarding.shift()?.resolve()
        else end(new Error(message.message))
      })
      const end = (error: Error) => {
        if (this.#failure !== undefined) return
        this.#failure = error
        reject(error)
        rejectAll(error)
        for (const waiter of [...this.#room, ...this.#sealing, ...this.#discarding]) waiter.reject(error)
      }
      this.#worker.on("error", (error) => end(error instanceof Error ? error : new Error(String(error))))
      this.#worker.on("exit", (code) =>
        end(new Error(`the thread that keeps the dedupe runs ended (exit code ${code})`))
      )
    })
    this.#ended = new Promise((resolve) => this.#worker.on("exit", () => resolve()))
    // Each failure is also reported to its waiter; not every promise has to be awaited.
    this.opened.catch(() => {})
    this.failed.catch(() => {})
  }

  #send(message: ToRuns, transfer: ReadonlyArray<ArrayBuffer> = []): void {
    this.#worker.postMessage(message, transfer)
  }
  #took(bytes: number): void {
    this.#inFlight -= bytes
    if (this.#inFlight <= IN_FLIGHT_BYTES_MAX) for (const waiter of this.#room.splice(0)) waiter.resolve()
  }
  #answered<A>(waiting: Array<Waiter<A>>): Promise<A> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    const promise = new Promise<A>((resolve, reject) => waiting.push({ resolve, reject }))
    // The promise is awaited only later, when it may have failed long before.
    promise.catch(() => {})
    return promise
  }

  /** Must be called once the opened runs are in use. */
  begin(): void {
    this.#send({ kind: "begin" })
  }
  /** Resolves when more may be sent. Transfers the buffer. */
  add(buffer: ArrayBuffer, parts: ReadonlyArray<number>): Promise<void> | undefined {
    this.#inFlight += buffer.byteLength
    this.#send({ kind: "add", buffer, parts }, [buffer])
    return this.#inFlight <= IN_FLIGHT_BYTES_MAX ? undefined : this.#answered(this.#room)
  }
  /** Seals everything added since the last seal into a run, which is on disk when this resolves. */
  seal(range: LogRange, oldestHour: number): Promise<OpenedRun> {
    this.#send({ kind: "seal", range, oldestHour })
    return this.#answered(this.#sealing)
  }
  release(names: ReadonlyArray<string>): void {
    if (names.length > 0) this.#send({ kind: "release", names })
  }
  discard(names: ReadonlyArray<string>): Promise<void> {
    this.#send({ kind: "discard", names })
    return this.#answered(this.#discarding)
  }
  /** Ends the thread; the next one finds the work unfinished and repeats it. */
  async close(): Promise<void> {
    this.#failure ??= new Error("the dedupe window is closed")
    this.#send({ kind: "stop" })
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), STOP_WITHIN_MS)
    })
    if ((await Promise.race([this.#ended, late])) === "late") await this.#worker.terminate()
    clearTimeout(timer)
  }
}
