/**
 * Workers for quick searches. Each search is sent to the least loaded worker and gets the quantum that the main thread
 * would give it; one that uses it up is reported back and runs again elsewhere. A worker has a few searches at a time,
 * so that it never waits for the main thread; the others wait here in the order of `fair-lines.ts`.
 *
 * A worker that dies is replaced. It is unknown which of its searches was the cause, so all of them run again, each
 * alone on its thread. While no worker is up, waiting searches run on the thread where they arrived, one per turn; all
 * in a row would block that thread for their total duration.
 */
import type { Namespace } from "../engine.ts"
import { fail, type EngineError, type Result } from "../errors.ts"
import { pause } from "../turns.ts"
import { warn } from "../warning.ts"
import { FairLines } from "./fair-lines.ts"
import { CLOSED, messageOf, settleJob, type LaneDone, type LaneJob, type PendingJob } from "./job.ts"
import {
  collectionsToKeep,
  failuresBefore,
  IDLE_MS,
  leastLoaded,
  restartAfter_ms,
  type Load,
  type WorkersNow
} from "./placing.ts"
import { SearchThread } from "./search-thread.ts"

const WAITING_MAX = 10_000,
  WAITING_OF_NAMESPACE_MAX = 2_000
/** Heap limit for quick searches, whose memory is bounded by their quantum. */
const HEAP = { old_mb: 512 }
/** Delay before workers are started, once there is something to search, and between starting two of them. */
const START_MS = 300
/** A worker that does not answer for this long is terminated; its searches should have stopped long before. */
const STUCK_MS = 30_000
const RETRY_AFTER_S = 10

export interface QuickJob extends LaneJob {
  readonly quantum_ms: number
  readonly expected_ms: number
  /** Weight of the namespace relative to others that wait. */ readonly weight: number
}
/** Why a search must run elsewhere: it `waited` and was never started, or its worker was `lost`. */
export type Elsewhere = "waited" | "lost"
interface Quick extends PendingJob {
  readonly job: QuickJob
  readonly namespace: Namespace
  readonly expected_ms: number
  readonly weight: number
  readonly elsewhere: (why: Elsewhere) => void
}
interface Running {
  readonly quick: Quick
  readonly since: number
}
interface Worker extends Load {
  readonly thread: SearchThread
  readonly running: Map<number, Running>
  searches: number
  expected_ms: number
  /** Memory that the worker last reported; 0 once that report is handled. */ own_bytes: number
  told_bytes: number
  /** `performance.now()` at the time it came up. */ readyAt: number | undefined
  isPreparing: boolean
}
/** A caller that waits until certain searches have ended. */
interface Reader {
  readonly left: Set<Running>
  readonly resolve: () => void
}

const overloaded: EngineError = {
  kind: "Overloaded",
  message: "More searches are waiting than can be answered in time.",
  retryAfterSeconds: RETRY_AFTER_S
}

/**
 * How many collections the worker may keep, according to the memory it last reported. The effect of dropping some shows
 * in its next report.
 */
const keepsOf = (worker: Worker): number => {
  const { collections } = worker.thread.known
  let idle = 0
  if (worker.own_bytes > 0) {
    const latest = performance.now() - IDLE_MS
    // The least recently used come first.
    for (const { usedAt } of collections.values()) {
      if (usedAt > latest) break
      idle++
    }
  }
  const keeps = collectionsToKeep(collections.size, idle, worker.own_bytes)
  worker.own_bytes = 0
  return keeps
}

export class SearchPool {
  private readonly path: string
  private readonly count: number
  private readonly preparing: (key: number) => QuickJob | undefined
  private readonly workers: Worker[] = []
  private readonly lines = new FairLines<Quick>()
  private readonly readers = new Set<Reader>()
  private next = 1
  private sent = 0
  /** Consecutive failures, without a worker that came up and stayed up in between. */ private failures = 0
  private isClosed = false
  private isExpecting = false
  private isEmptying = false
  private watch: ReturnType<typeof setInterval> | undefined
  /** `preparing`: the job that prepares a collection on a worker; undefined if the collection no longer exists. */
  constructor(path: string, count: number, preparing: (key: number) => QuickJob | undefined) {
    this.path = path
    this.count = count
    this.preparing = preparing
  }
  /** Called when there is something to search: starts the workers, one after another. */
  expect(): void {
    if (this.isExpecting || this.isClosed) return
    this.isExpecting = true
    for (let n = 1; n <= this.count; n++) this.later(n * START_MS)
    this.watch = setInterval(() => this.endStuck(), STUCK_MS / 4)
    ;(this.watch as { readonly unref?: () => void }).unref?.()
  }
  get now(): WorkersNow {
    return {
      ready: this.workers.filter(({ thread }) => thread.isReady).length,
      searches: this.sent,
      own_bytes: this.workers.map(({ told_bytes }) => told_bytes)
    }
  }
  /** Whether at least one worker is up; until then no search is sent here. */
  get isReady(): boolean {
    return this.workers.some(({ thread }) => thread.isReady)
  }
  /** Runs a job. Never rejects, except on a defect. */
  run(job: QuickJob): Promise<Result<LaneDone> | Elsewhere> {
    if (this.isClosed) return Promise.resolve(fail(CLOSED))
    const { expected_ms, namespace, weight } = job
    if (this.lines.size >= WAITING_MAX || this.lines.sizeOf(namespace) >= WAITING_OF_NAMESPACE_MAX)
      return Promise.resolve(fail(overloaded))
    return new Promise((resolve, reject) => {
      this.lines.put({ job, namespace, expected_ms, weight, resolve, reject, elsewhere: resolve })
      this.dispatch()
    })
  }
  /** Resolves when the searches that are running at this call have ended; undefined if there are none. */
  unread(): Promise<void> | undefined {
    const left = new Set<Running>()
    for (const { running } of this.workers) for (const one of running.values()) left.add(one)
    return left.size === 0 ? undefined : new Promise((resolve) => this.readers.add({ left, resolve }))
  }
  async close(): Promise<void> {
    this.isClosed = true
    clearInterval(this.watch)
    for (const { resolve } of this.lines.clear()) resolve(fail(CLOSED))
    await Promise.all(
      this.workers.map(async (worker) => {
        await worker.thread.end()
        this.release(worker, ({ resolve }) => resolve(fail(CLOSED)))
      })
    )
  }

  private dispatch(): void {
    while (this.lines.size > 0) {
      const ready = this.workers.filter(({ thread }) => thread.isReady && !thread.isGone)
      const at = leastLoaded(ready)
      if (at < 0) return
      this.sent++
      this.begin(ready[at], this.lines.take()!)
    }
  }
  private begin(worker: Worker, quick: Quick): void {
    const { job } = quick
    const left_ms = Math.max(0, job.left_ms()),
      id = this.next++
    if (job.isGivenUp()) {
      quick.resolve(fail(overloaded))
      return
    }
    const message = messageOf(job, worker.thread.known, keepsOf(worker), { id, left_ms, quantum_ms: job.quantum_ms })
    // The search's collections have changed, so the thread where it arrived decides what to answer.
    if (!message.ok) {
      quick.elsewhere("waited")
      return
    }
    if (worker.searches === 0) worker.thread.hold()
    worker.running.set(id, { quick, since: performance.now() })
    worker.searches++
    worker.expected_ms += job.expected_ms
    try {
      worker.thread.post(message.value)
    } catch (error) {
      // The message cannot be sent, so the record of what the thread has is stale.
      this.over(worker, id)
      quick.reject(error as Error)
      this.lost(worker, "It could not be told what it is to know.")
    }
  }
  /** Called when the collection was closed or dropped. */
  forget(key: number): void {
    for (const { thread } of this.workers) thread.forget(key)
  }
  /** Runs a job on every worker that is up, after its queue; resolves when all are done, whatever the outcome. */
  async practise(job: QuickJob): Promise<void> {
    const { expected_ms, namespace, weight } = job
    await Promise.all(
      this.workers
        .filter(({ thread }) => thread.isReady && !thread.isGone)
        .map(
          (worker) =>
            new Promise<void>((resolve, reject) => {
              const over = (): void => resolve()
              this.begin(worker, { job, namespace, expected_ms, weight, resolve: over, reject, elsewhere: over })
            })
        )
    )
  }
  /** Prepares a collection on every worker that is up. A worker that starts later does this on its first search. */
  prepareEverywhere(key: number): void {
    for (const worker of this.workers) if (worker.thread.isReady) this.prepare(worker, [key])
  }
  /** Prepares in short tasks, one at a time, after the queued searches, so that a search waits for at most one task. */
  private prepare(worker: Worker, wants: ReadonlyArray<number>): void {
    if (worker.isPreparing || worker.thread.isGone || this.isClosed) return
    for (const key of wants) {
      const job = this.preparing(key)
      if (job === undefined) continue
      worker.isPreparing = true
      const over = (): void => {
        worker.isPreparing = false
      }
      const { expected_ms, namespace, weight } = job
      this.begin(worker, {
        job,
        namespace,
        expected_ms,
        weight,
        resolve: over,
        reject: (error) => {
          over()
          warn("a collection was not made ready at a search worker", error)
        },
        elsewhere: over
      })
      return
    }
  }
  /** Removes a search that has ended from its worker's account. */
  private over(worker: Worker, id: number): Quick | undefined {
    const one = worker.running.get(id)
    if (one === undefined) return undefined
    worker.running.delete(id)
    worker.searches--
    worker.expected_ms = worker.searches === 0 ? 0 : worker.expected_ms - one.quick.job.expected_ms
    if (worker.searches === 0) worker.thread.letGo()
    for (const reader of this.readers) {
      reader.left.delete(one)
      if (reader.left.size > 0) continue
      this.readers.delete(reader)
      reader.resolve()
    }
    return one.quick
  }
  private release(worker: Worker, settle: (quick: Quick) => void): void {
    for (const id of [...worker.running.keys()]) {
      const quick = this.over(worker, id)
      if (quick !== undefined) settle(quick)
    }
  }

  private later(after_ms: number): void {
    ;(
      setTimeout(() => {
        if (!this.isClosed && this.workers.length < this.count) this.start()
      }, after_ms) as { readonly unref?: () => void }
    ).unref?.()
  }
  private start(): void {
    const worker: Worker = {
      running: new Map(),
      searches: 0,
      expected_ms: 0,
      own_bytes: 0,
      told_bytes: 0,
      readyAt: undefined,
      isPreparing: false,
      thread: new SearchThread(this.path, HEAP, {
        ready: () => {
          worker.readyAt = performance.now()
          this.dispatch()
        },
        receive: (message) => {
          const quick = this.over(worker, message.id)
          if ("finished" in message && message.finished.own_bytes !== undefined)
            worker.own_bytes = worker.told_bytes = message.finished.own_bytes
          if (quick !== undefined) {
            if ("finished" in message) this.lines.took(quick, message.finished.used_ms)
            settleJob(quick, message)
          }
          this.dispatch()
          if ("finished" in message) this.prepare(worker, message.finished.wants ?? [])
        },
        lost: (reason) => this.lost(worker, reason ?? "It ended by itself.")
      })
    }
    this.workers.push(worker)
  }
  private lost(worker: Worker, reason: string): void {
    const at = this.workers.indexOf(worker)
    if (at < 0) return
    this.workers.splice(at, 1)
    if (this.isClosed) return
    warn("a search worker ended", new Error(reason))
    const { readyAt } = worker
    const before = failuresBefore(this.failures, readyAt === undefined ? undefined : performance.now() - readyAt)
    this.failures = before + (readyAt === undefined ? 0 : 1)
    this.later(restartAfter_ms(before))
    // The memory it reads is released only once it has ended.
    void worker.thread.terminate().finally(() => this.release(worker, ({ elsewhere }) => elsewhere("lost")))
    void this.emptyWithoutWorkers()
  }
  /** Runs waiting searches here until a worker is up again. */
  private async emptyWithoutWorkers(): Promise<void> {
    if (this.isEmptying) return
    this.isEmptying = true
    for (; !this.isReady && !this.isClosed; await pause()) {
      const quick = this.lines.take()
      if (quick === undefined) break
      quick.elsewhere("waited")
    }
    this.isEmptying = false
  }
  private endStuck(): void {
    const latest = performance.now() - STUCK_MS
    for (const worker of [...this.workers])
      for (const { since } of worker.running.values()) {
        if (since < latest) this.lost(worker, "It did not answer.")
        break
      }
  }
}
