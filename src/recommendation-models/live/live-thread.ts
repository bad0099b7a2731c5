/** The front's side of one run of the thread that keeps the models, as promises. */
import { Worker } from "node:worker_threads"
import type {
  Ask,
  Candidate,
  FromThread,
  LiveFigures,
  Position,
  RecordPart,
  ThreadSettings,
  ToThread
} from "./messages.ts"

const HEAP_MB = 1_024
/** Bytes in flight to the thread before `add` waits. */
const IN_FLIGHT_BYTES_MAX = 1_000_000
const STOP_WITHIN_MS = 5_000

export interface Answer {
  readonly candidates: ReadonlyArray<Candidate>
  readonly isStale: boolean
}
export const NO_FIGURES: LiveFigures = { collections: 0, events: 0, bytes: 0, dropped: 0, unreadable: 0 }
/** The records of one read, and where it ended. */
interface ReadRecords {
  readonly partition: number
  readonly next: number
  readonly buffer: ArrayBuffer
  readonly parts: ReadonlyArray<RecordPart>
  readonly only: string | undefined
}

export class LiveThread {
  readonly #worker: Worker
  readonly #ended: Promise<void>
  readonly #asked = new Map<number, (answer: Answer | undefined) => void>()
  #room: Array<() => void> = []
  #stored: Array<() => void> = []
  #counted: Array<(events: number | undefined) => void> = []
  #inFlight = 0
  #number = 0
  #isOver = false
  figures = NO_FIGURES
  readonly opened: Promise<ReadonlyArray<Position>>
  /** Rejects if the thread ends by itself. */ readonly failed: Promise<never>

  constructor(settings: ThreadSettings) {
    this.#worker = new Worker(new URL("./live-worker.ts", import.meta.url), {
      workerData: settings,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB }
    })
    let rejectAll = (_error: Error): void => {}
    this.failed = new Promise<never>((_, reject) => {
      rejectAll = reject
    })
    this.opened = new Promise((resolve, reject) => {
      const end = (error: Error) => {
        this.#isOver = true
        this.#settle()
        reject(error)
        rejectAll(error)
      }
      this.#worker.on("message", (message: FromThread) => {
        if (message.kind === "opened") resolve(message.positions)
        else if (message.kind === "failed") end(new Error(message.message))
        else this.#heard(message)
      })
      this.#worker.on("error", (error) => end(error instanceof Error ? error : new Error(String(error))))
      this.#worker.on("exit", (code) => end(new Error(`the thread of recommendations ended (exit code ${code})`)))
    })
    this.#ended = new Promise((resolve) => this.#worker.on("exit", () => resolve()))
    this.opened.catch(() => {})
    this.failed.catch(() => {})
  }
  #heard(message: Exclude<FromThread, { readonly kind: "opened" | "failed" }>): void {
    if (message.kind === "answer") {
      this.#asked.get(message.number)?.(message)
      this.#asked.delete(message.number)
    } else if (message.kind === "stored") this.#stored.shift()?.()
    else if (message.kind === "counted") this.#counted.shift()?.(message.events)
    else {
      this.figures = message.figures
      this.#inFlight -= message.bytes
      if (this.#inFlight <= IN_FLIGHT_BYTES_MAX) for (const go of this.#room.splice(0)) go()
    }
  }
  #settle(): void {
    for (const answer of this.#asked.values()) answer(undefined)
    this.#asked.clear()
    for (const go of [...this.#room.splice(0), ...this.#stored.splice(0)]) go()
    for (const go of this.#counted.splice(0)) go(undefined)
  }
  #send(message: ToThread, transfer: ReadonlyArray<ArrayBuffer> = []): void {
    if (!this.#isOver) this.#worker.postMessage(message, transfer)
  }

  /** Undefined if no answer arrives in time, or the thread has ended. */
  ask(ask: Ask, within_ms: number): Promise<Answer | undefined> {
    if (this.#isOver) return Promise.resolve(undefined)
    const number = ++this.#number
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        this.#asked.delete(number)
        resolve(undefined)
      }, within_ms)
      this.#asked.set(number, (answer) => {
        clearTimeout(late)
        resolve(answer)
      })
      this.#send({ kind: "ask", number, ask })
    })
  }
  /** Resolves when more may be sent. Transfers the buffer. */
  add(records: ReadRecords): Promise<void> | undefined {
    this.#inFlight += records.buffer.byteLength
    this.#send({ kind: "records", ...records }, [records.buffer])
    if (this.#isOver || this.#inFlight <= IN_FLIGHT_BYTES_MAX) return undefined
    return new Promise((resolve) => this.#room.push(resolve))
  }
  send(message: Extract<ToThread, { readonly kind: "tombstones" | "forget" | "clear" }>): void {
    this.#send(message)
  }
  /**
   * Number of an organization's events taken again, once everything sent before has been taken; undefined if the thread
   * has ended.
   */
  taken(organizationId: string): Promise<number | undefined> {
    if (this.#isOver) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      this.#counted.push(resolve)
      this.#send({ kind: "count", organizationId })
    })
  }
  /** Resolves when everything taken before is on disk. */
  snapshot(): Promise<void> {
    if (this.#isOver) return Promise.resolve()
    return new Promise((resolve) => {
      this.#stored.push(resolve)
      this.#send({ kind: "snapshot" })
    })
  }
  async close(): Promise<void> {
    this.#send({ kind: "stop" })
    this.#isOver = true
    this.#settle()
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), STOP_WITHIN_MS)
    })
    if ((await Promise.race([this.#ended, late])) === "late") await this.#worker.terminate()
    clearTimeout(timer)
  }
}
