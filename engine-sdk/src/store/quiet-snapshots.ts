/**
 * Takes snapshots of collections that have come to rest or changed a lot, so that a restart has little to replay. One
 * at a time; a failed snapshot (a full disk) is retried after the next quiet period.
 */
import { warn } from "../warning.ts"
import type { CollectionWriter } from "./collection-writer.ts"

/** Interval between two checks of collections, and how long one must be quiet before its index is saved. */
const CHECK_MS = 2_000
const REST_MS = 1_500
const CHANGES = 50_000

interface Open {
  /** undefined if the collection is not open. */
  readonly writerOf: (key: number) => CollectionWriter | undefined
  /** Whether a schema change is in progress that a snapshot must wait for. */
  readonly isAltering: (key: number) => boolean
  readonly snapshot: (writer: CollectionWriter) => Promise<void>
}
export class QuietSnapshots {
  readonly #open: Open
  /** Documents written since the last snapshot, and the time of the last write. */
  readonly #dirty = new Map<number, { changed: number; at: number }>()
  #timer: ReturnType<typeof setInterval> | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(open: Open) {
    this.#open = open
  }
  start(): void {
    this.#timer = setInterval(() => this.#check(), CHECK_MS)
    // The timer must not keep the process alive.
    ;(this.#timer as { unref?: () => void }).unref?.()
  }
  /** Starts no more snapshots; resolves when none is being written. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }
  /** Resolves when the snapshots started so far are written. */
  settled(): Promise<void> {
    return this.#running
  }
  noteWrites(key: number, changed: number): void {
    const own = this.#dirty.get(key)
    if (own === undefined) this.#dirty.set(key, { changed, at: performance.now() })
    else {
      own.changed += changed
      own.at = performance.now()
    }
  }
  forget(key: number): void {
    this.#dirty.delete(key)
  }
  #check(): void {
    for (const [key, { changed, at }] of this.#dirty) {
      const writer = this.#open.writerOf(key)
      if (writer === undefined) {
        this.#dirty.delete(key)
        continue
      }
      if (this.#open.isAltering(key) || (performance.now() - at < REST_MS && changed < CHANGES)) continue
      this.#dirty.delete(key)
      this.#running = this.#running
        .then(() => this.#open.snapshot(writer))
        .catch((error: unknown) => {
          if (this.#open.writerOf(key) === writer) this.noteWrites(key, changed)
          warn(`snapshot of collection ${key} failed and is tried again`, error)
        })
    }
  }
}
