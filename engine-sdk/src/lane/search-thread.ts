/**
 * One thread that searches over the shared segments: records what it was sent, and reports how its jobs end. The caller
 * (`search-pool.ts`, `search-lane.ts`) decides how much to send at a time.
 */
import { Worker } from "node:worker_threads"
import type { DerivedSection } from "../index/derived-sections.ts"
import type { CollectionSchema } from "../schema.ts"
import { reportOf, type ThreadReport } from "./thread-report.ts"
import type { FromLane, ToLane } from "./messages.ts"
import type { KnownBases } from "./plan-outline.ts"

/** Time for a thread to come up before it is terminated. */
const STOP_MS = 10_000
/**
 * Maximum size of the heap's young generation, which also limits buffers that wait to be freed. With V8's own size of
 * 48 MB a worker takes 13 MB more and searches no faster (`bench/README.md`).
 */
const YOUNG_MB = 6

/** What the thread has: collections, least recently used first, with schema and segments and the deletions it knows. */
export interface ThreadContents {
  readonly collections: Map<number, KnownCollection>
  /** Keys of collections that the next message tells it to drop. */ readonly gone: number[]
  readonly bases: KnownBases
  readonly dictionaries: Map<
    string,
    { readonly namespace: string; readonly name: string; readonly words: ReadonlyMap<string, string> }
  >
}
export interface KnownCollection {
  /** Number of the reader: a collection that is reopened gets a new one. */ readonly reader: number
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
 * `old_mb`: memory that its searches can hold beyond the index. If they need more, the thread ends instead of the
 * program.
 */
interface ThreadOptions {
  readonly old_mb: number
  /** Runs long searches, at a lower priority. */ readonly isForLong?: boolean
}
interface Side {
  readonly receive: (report: ThreadReport) => void
  readonly ready?: () => void
  /** Called once; `reason` is set if it ended with an error. */ readonly lost: (reason: string | undefined) => void
}

export class SearchThread {
  readonly known: ThreadContents = {
    collections: new Map(),
    gone: [],
    bases: { numbers: new Set(), from: 1 },
    dictionaries: new Map()
  }
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
      resourceLimits: { maxOldGenerationSizeMb: old_mb, maxYoungGenerationSizeMb: YOUNG_MB }
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
      const report = reportOf(message)
      if (report !== undefined) {
        side.receive(report)
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
  /** Called when the collection was closed or dropped, so data derived from it is no longer needed. */
  forget(key: number): void {
    if (this.known.collections.delete(key)) this.known.gone.push(key)
  }
  /** Keeps the process alive as long as a caller waits for the thread. */
  hold(): void {
    this.worker.ref()
  }
  letGo(): void {
    if (!this.isGone) this.worker.unref()
  }
  /** Ends the thread immediately, without reporting it as lost. */
  async terminate(): Promise<void> {
    this.isGone = true
    this.settle()
    await this.worker.terminate()
  }
  /**
   * Waits until the thread has come up before it terminates it. A thread that is still starting would otherwise open
   * the documents, read-only, after the writer has released them; the next engine of this process would share that
   * environment and could not write.
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
