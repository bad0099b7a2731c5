/**
 * A thread that lives as long as a job and gets one task after another, so that its computation does not block the
 * main thread. A thread that exceeds its memory ends, and its task fails.
 */
import { Worker } from "node:worker_threads"
import { Effect, type Scope } from "effect"
import type { JobReply } from "./answer-job.ts"
import { JobFailed } from "./job-worker.ts"

const ENDED = "the thread of the job ended"

export class JobThread<Ask> {
  readonly #worker: Worker
  #settle: ((answered: JobReply) => void) | undefined
  #isOver = false

  constructor(entry: URL, heap_mb: number) {
    this.#worker = new Worker(entry, { resourceLimits: { maxOldGenerationSizeMb: heap_mb } })
    this.#worker.on("message", (answered: JobReply) => this.#end(answered))
    const over = (error: string) => {
      this.#isOver = true
      this.#end({ error })
    }
    this.#worker.on("error", (error: Error & { readonly code?: string }) =>
      over(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? "the job takes too much memory" : error.message.slice(0, 300))
    )
    this.#worker.on("exit", () => over(ENDED))
    this.#worker.unref()
  }
  #end(answered: JobReply): void {
    const settle = this.#settle
    this.#settle = undefined
    settle?.(answered)
  }
  /** Rejects with the reason if there is no answer. The next task may be sent after the answer. */
  async ask<A>(ask: Ask): Promise<A> {
    if (this.#isOver) throw new Error(ENDED)
    const { answer, error } = await new Promise<JobReply>((settle) => {
      this.#settle = settle
      this.#worker.postMessage(ask)
    })
    if (error !== undefined) throw new Error(error)
    return answer as A
  }
  async close(): Promise<void> {
    this.#isOver = true
    await this.#worker.terminate()
  }
}

/** Ends with the scope. */
export const startedThread = <Ask>(entry: URL, heap_mb: number): Effect.Effect<JobThread<Ask>, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new JobThread<Ask>(entry, heap_mb)),
    (thread) => Effect.promise(() => thread.close())
  )
/** The answer of a thread; if it fails, the job fails. */
export const threadAnswer = <A>(answer: () => Promise<A>): Effect.Effect<A, JobFailed> =>
  Effect.tryPromise({
    try: answer,
    catch: (error) =>
      new JobFailed({ message: `The work stopped: ${error instanceof Error ? error.message : "unknown"}.` })
  })
