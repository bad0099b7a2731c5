/**
 * Turns pages into documents, one at a time over all jobs of a process. Organizations take turns, weighted by the
 * time that their pages took. The worker thread starts with the first page and ends after some idle time.
 */
import { Context, Effect, Layer } from "effect"
import { makeFairQueue } from "../../../fair-queue.ts"
import type { PageToRead } from "./page-documents.ts"
import { type Outcome, ReaderThread } from "./reader-thread.ts"

const IDLE_MS = 30_000

interface PendingPage {
  readonly bytes: Uint8Array
  readonly asked: PageToRead
  readonly resume: (outcome: Outcome) => void
}

class Desk {
  readonly #queue = makeFairQueue<PendingPage>(() => 1)
  readonly #within_ms: number | undefined
  #thread: ReaderThread | undefined
  #isBusy = false
  #idle: ReturnType<typeof setTimeout> | undefined

  constructor(within_ms: number | undefined) {
    this.#within_ms = within_ms
  }
  put(organizationId: string, waiting: PendingPage): void {
    this.#queue.put(organizationId, waiting)
    void this.#work()
  }
  async #work(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    clearTimeout(this.#idle)
    for (let next = this.#queue.take(); next !== undefined; next = this.#queue.take()) {
      if (this.#thread === undefined || this.#thread.isOver) this.#thread = new ReaderThread()
      const began = performance.now()
      const { asked, bytes, resume } = next.entry
      resume(await this.#thread.read(bytes, asked, this.#within_ms))
      this.#queue.worked(next.organizationId, performance.now() - began)
    }
    this.#isBusy = false
    this.#idle = setTimeout(() => void this.close(), IDLE_MS)
    this.#idle.unref()
  }
  async close(): Promise<void> {
    clearTimeout(this.#idle)
    await this.#thread?.close()
    this.#thread = undefined
  }
}

export class PageReader extends Context.Service<
  PageReader,
  {
    /** Transfers the bytes. Never fails: an unreadable page yields the reason. */
    readonly read: (organizationId: string, bytes: Uint8Array, asked: PageToRead) => Effect.Effect<Outcome>
  }
>()("dowser/ingest/PageReader") {
  /** `within_ms`: time limit per page; tests set a lower one. */
  static readonly layer = (within_ms?: number) =>
    Layer.effect(
      PageReader,
      Effect.gen(function* () {
        const desk = yield* Effect.acquireRelease(
          Effect.sync(() => new Desk(within_ms)),
          (open) => Effect.promise(() => open.close())
        )
        return PageReader.of({
          read: (organizationId, bytes, asked) =>
            Effect.callback<Outcome>((resume) =>
              desk.put(organizationId, { bytes, asked, resume: (outcome) => resume(Effect.succeed(outcome)) })
            )
        })
      })
    )
}
