/**
 * One thread that searches over the shared segments: what it was sent, and how its jobs end. The caller
 * (`search-pool.ts`, `search-lane.ts`) decides how much to send at a time.
 */
import { Worker } from "node:worker_threads"
import type { DerivedSection } from "../index/derived-sections.ts"
import type { CollectionSchema } from "../schema.ts"
import { saidOf, type ThreadReport } from "./said.ts"
import type { FromLane, ToLane } from "./messages.ts"

/** Time for a thread to come up before it is terminated. */
const STOP_MS = 10_000

/** The thread's collections, least recently used first: schema and segments with the deletions it knows. */
export interface ThreadContents {
  readonly collections: Map<number, KnownCollection>
  /** Keys of collections that it is to drop with the next message. */ readonly gone: number[]
  readonly dictionaries: Map<
    string,
    { readonly namespace: string; readonly name: string; readonly words: ReadonlyMap<string, string> }
  >
}
export interface KnownCollection {
  /** Which opening of the collection it is, and how often that had changed. */ readonly reader: number
  readonly version: number
  readonly schema: CollectionSchema
  readonly segments: ReadonlyMap<number, KnownSegment>
  readonly hasEarly: boolean
  /** `performance.now()` of the last search. */ usedAt: number
}
export interface KnownSegment {
  readonly deletedCount: number
  readonly sections: ReadonlyMap<string, DerivedSection>
}
/**
 * `old_mb`: memory that its searches can hold in addition to the index. Beyond it, the thread ends instead of the
 * program.
 */
interface ThreadOptions {
  readonly old_mb: number
  /** Runs long searches, at a lower priority. */ readonly isForLong?: boolean
}
interface Side {
  readonly receive: (said: ThreadReport) => void
  readonly ready?: () => void
  /** Called once; `reason` if it ended with an error. */ readonly lost: (reason: string | undefined) => void
}

export class SearchThread {
  readonly known: ThreadContents = { collections: new Map(), gone: [], dictionaries: new Map() }
  isReady = false
  isGone = false
  private readonly worker: Worker
  private readonly settled: Promise<void>
  private settle = (): void => {}
  constructor(path: string, { isForLong = false, old_mb }: ThreadOptions, side: Side) {
    this.settled = new Promise((resolve) => {
      this.settle = resolve
    })
    const worker = (this.worker = new Worker(new URL("./search-worker.ts", import.meta.url), {
      workerData: { path, isForLong },
      resourceLimits: { maxOldGenerationSizeMb: old_mb }
    }))
    worker.unref()
    const lost = (reason: string | undefined): void => {
      if (this.isGone) return
      this.isGone = true
      this.settle()
      side.lost(reason)
    }
    worker.on("message", (message: FromLane) => {
      if (this.isGone) return
      const said = saidOf(message)
      if (said !== undefined) {
        side.receive(said)
        return
      }
      this.isReady = true
      this.settle()
      side.ready?.()
    })
    worker.on("error", (error) => lost(error instanceof Error ? error.message : String(error)))
    worker.on("exit", () => lost(undefined))
  }
  post(message: ToLane): void {
    this.worker.postMessage(message)
  }
  /** The collection was closed or dropped: data derived from it is no longer needed. */
  forget(key: number): void {
    if (this.known.collections.delete(key)) this.known.gone.push(key)
  }
  /** The process stays alive as long as a caller waits for it. */
  hold(): void {
    this.worker.ref()
  }
  letGo(): void {
    if (!this.isGone) this.worker.unref()
  }
  /** Ends the thread at once, without reporting a loss. */
  async terminate(): Promise<void> {
    this.isGone = true
    this.settle()
    await this.worker.terminate()
  }
  /**
   * Terminating a thread does not always wait until it has ended. One that is starting would open the documents,
   * read-only, after the writer has released them, and the next engine of this process would share that and could not
   * write.
   */
  async end(): Promise<void> {
    this.worker.ref()
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, STOP_MS)
    })
    await Promise.race([this.settled, late])
    clearTimeout(timer)
    await this.terminate()
  }
}
