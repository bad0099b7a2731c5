/**
 * The main thread's side of one worker thread that reads pages one at a time. A page that takes too long or too much
 * memory ends the worker, and the next page gets a new one.
 */
import { Worker } from "node:worker_threads"
import type { FromReader, ToReader } from "./messages.ts"
import type { PageRead, PageToRead } from "./page-documents.ts"

/** With 48, a page took 36 ms of processor time, most of it in the garbage collector; with 80 and 96 it took 7. */
const HEAP_MB = 96
const START_WITHIN_MS = 20_000
/** An ordinary page takes some ten milliseconds. */
const READ_WITHIN_MS = 10_000

export type Outcome =
  | { readonly kind: "read"; readonly page: PageRead }
  | { readonly kind: "unread"; readonly message: string }

export class ReaderThread {
  readonly #worker: Worker
  #settle: ((outcome: Outcome) => void) | undefined
  #number = 0
  readonly #ready: Promise<void>
  isOver = false

  constructor() {
    this.#worker = new Worker(new URL("./reader-worker.ts", import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB }
    })
    let ready = () => {}
    this.#ready = new Promise((resolve) => {
      ready = resolve
    })
    this.#worker.on("message", (message: FromReader) => {
      if (message.kind === "ready") ready()
      // A result that arrives after its time limit is ignored.
      else if (message.number === this.#number) this.#end(message)
    })
    const over = (message: string) => {
      this.isOver = true
      ready()
      this.#end({ kind: "unread", message })
    }
    this.#worker.on("error", (error: Error & { readonly code?: string }) =>
      over(
        error.code === "ERR_WORKER_OUT_OF_MEMORY"
          ? "the page takes too much memory to read"
          : `the reader of pages failed: ${error.message.slice(0, 300)}`
      )
    )
    this.#worker.on("exit", () => over("the reader of pages ended"))
    this.#worker.unref()
  }
  #end(outcome: Outcome): void {
    const settle = this.#settle
    this.#settle = undefined
    settle?.(outcome)
  }
  /** Transfers the bytes. Never rejects. */
  async read(bytes: Uint8Array, asked: PageToRead, within_ms = READ_WITHIN_MS): Promise<Outcome> {
    const late = (message: string) => {
      this.#end({ kind: "unread", message })
      void this.close()
    }
    let timer = setTimeout(() => late("the reader of pages did not start"), START_WITHIN_MS)
    const outcome = new Promise<Outcome>((settle) => {
      this.#settle = settle
    })
    void this.#ready.then(() => {
      if (this.#settle === undefined) return
      clearTimeout(timer)
      if (this.isOver) return this.#end({ kind: "unread", message: "the reader of pages ended" })
      timer = setTimeout(() => late(`the page takes more than ${within_ms / 1_000} s to read`), within_ms)
      const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
      const buffer = own.buffer as ArrayBuffer
      const message: ToReader = { number: ++this.#number, asked, buffer, length: own.length }
      this.#worker.postMessage(message, [buffer])
    })
    try {
      return await outcome
    } finally {
      clearTimeout(timer)
    }
  }
  async close(): Promise<void> {
    this.isOver = true
    await this.#worker.terminate()
  }
}
