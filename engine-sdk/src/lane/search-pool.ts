/**
 * Workers for searches that are quick: each goes to the least loaded one, gets there the quantum that the thread of all
 * tenants would give it, and is told to be asked again elsewhere when it has used it up. A worker has a few searches at
 * a time, so that it never waits for this thread; the others wait here, by namespace, and namespaces take turns.
 *
 * A worker that ends is replaced. Of its searches nobody knows which one it was: all of them are to be asked again
 * where a search is alone.
 */
import type { Namespace } from "../engine.ts"
import { fail, type EngineError, type Result } from "../errors.ts"
import { warn } from "../warning.ts"
import { CLOSED, messageOf, settleJob, type LaneDone, type LaneJob, type Waiting } from "./job.ts"
import { collectionsToKeep, IDLE_ms, leastLoaded, restartAfter_ms, type Load, type WorkersNow } from "./placing.ts"
import { SearchThread } from "./search-thread.ts"

const WAITING_MAX = 10_000,
  WAITING_OF_NAMESPACE_MAX = 2_000
/** For quick searches; what one of them may hold is bounded by its quantum. */
const HEAP = { old_mb: 512 }
/** After there was something to search; between two workers. */
const START_ms = 300
/** A worker that does not answer is ended. What it runs gives way long before. */
const STUCK_ms = 30_000
const RETRY_AFTER_S = 10

export interface QuickJob extends LaneJob {
  readonly quantum_ms: number
  readonly expected_ms: number
}
/** Why it is to be asked again: it `waited` and was not begun, or a worker ended that had it. */
export type Elsewhere = "waited" | "lost"
interface Quick extends Waiting {
  readonly job: QuickJob
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
  /** As it last told, until that was looked at. */ own_bytes: number
  told_bytes: number
  isPreparing: boolean
}
/** Whoever waits until certain searches are over. */
interface Reader {
  readonly left: Set<Running>
  readonly resolve: () => void
}

const overloaded: EngineError = {
  kind: "Overloaded",
  message: "More searches are waiting than can be answered in time.",
  retryAfterSeconds: RETRY_AFTER_S
}

/** How many collections it may keep, as it last told its memory; what is let go of is seen when it tells it again. */
const keepsOf = (worker: Worker): number => {
  const { collections } = worker.thread.known
  let idle = 0
  if (worker.own_bytes > 0) {
    const latest = performance.now() - IDLE_ms
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
  /** Namespaces in the order of their turns. */ private readonly lines = new Map<Namespace, Quick[]>()
  private readonly readers = new Set<Reader>()
  private waiting = 0
  private next = 1
  private sent = 0
  /** In a row, without one that came up. */ private failures = 0
  private isClosed = false
  private isExpecting = false
  private watch: ReturnType<typeof setInterval> | undefined
  /** `preparing`: what makes a collection ready at a worker; undefined where it is gone. */
  constructor(path: string, count: number, preparing: (key: number) => QuickJob | undefined) {
    this.path = path
    this.count = count
    this.preparing = preparing
  }
  /** There is enough to search: workers come up, one after another. */
  expect(): void {
    if (this.isExpecting || this.isClosed) return
    this.isExpecting = true
    for (let n = 1; n <= this.count; n++) this.later(n * START_ms)
    this.watch = setInterval(() => this.endStuck(), STUCK_ms / 4)
    ;(this.watch as { readonly unref?: () => void }).unref?.()
  }
  get now(): WorkersNow {
    return {
      ready: this.workers.filter(({ thread }) => thread.isReady).length,
      searches: this.sent,
      own_bytes: this.workers.map(({ told_bytes }) => told_bytes)
    }
  }
  /** Some worker is there to search; until then a search is not to be sent here. */
  get isReady(): boolean {
    return this.workers.some(({ thread }) => thread.isReady)
  }
  /** Never rejects, but for a defect. */
  run(job: QuickJob): Promise<Result<LaneDone> | Elsewhere> {
    if (this.isClosed) return Promise.resolve(fail(CLOSED))
    const line = this.lines.get(job.namespace) ?? []
    if (this.waiting >= WAITING_MAX || line.length >= WAITING_OF_NAMESPACE_MAX) return Promise.resolve(fail(overloaded))
    return new Promise((resolve, reject) => {
      line.push({ job, resolve, reject, elsewhere: resolve })
      this.lines.set(job.namespace, line)
      this.waiting++
      this.dispatch()
    })
  }
  /** When nothing reads any more what was searched when this was called. */
  unread(): Promise<void> | undefined {
    const left = new Set<Running>()
    for (const { running } of this.workers) for (const one of running.values()) left.add(one)
    return left.size === 0 ? undefined : new Promise((resolve) => this.readers.add({ left, resolve }))
  }
  async close(): Promise<void> {
    this.isClosed = true
    clearInterval(this.watch)
    for (const line of this.lines.values()) for (const { resolve } of line) resolve(fail(CLOSED))
    this.lines.clear()
    this.waiting = 0
    await Promise.all(
      this.workers.map(async (worker) => {
        await worker.thread.end()
        this.release(worker, ({ resolve }) => resolve(fail(CLOSED)))
      })
    )
  }

  private dispatch(): void {
    while (this.waiting > 0) {
      const ready = this.workers.filter(({ thread }) => thread.isReady && !thread.isGone)
      const at = leastLoaded(ready)
      if (at < 0) return
      const [namespace, line] = this.lines.entries().next().value!
      const quick = line.shift()!
      this.waiting--
      this.sent++
      // Behind the others from now on.
      this.lines.delete(namespace)
      if (line.length > 0) this.lines.set(namespace, line)
      this.begin(ready[at], quick)
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
    // Its collections are not what they were: the thread where it arrived knows what to say.
    if (!message.ok) {
      quick.elsewhere("waited")
      return
    }
    if (worker.searches === 0) worker.thread.hold()
    worker.running.set(id, { quick, since: performance.now() })
    worker.searches++
    worker.expected_ms += job.expected_ms
    worker.thread.post(message.value)
  }
  /** Piece by piece, one at a time, behind the searches that it has: they wait for a piece at most. */
  private prepare(worker: Worker, wants: ReadonlyArray<number>): void {
    if (worker.isPreparing || worker.thread.isGone || this.isClosed) return
    for (const key of wants) {
      const job = this.preparing(key)
      if (job === undefined) continue
      worker.isPreparing = true
      const over = (): void => {
        worker.isPreparing = false
      }
      this.begin(worker, {
        job,
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
  /** A search is over for the worker that had it. */
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
  private release(worker: Worker, tell: (quick: Quick) => void): void {
    for (const id of [...worker.running.keys()]) {
      const quick = this.over(worker, id)
      if (quick !== undefined) tell(quick)
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
      isPreparing: false,
      thread: new SearchThread(this.path, HEAP, {
        ready: () => {
          this.failures = 0
          this.dispatch()
        },
        receive: (message) => {
          const quick = this.over(worker, message.id)
          if ("finished" in message && message.finished.own_bytes !== undefined)
            worker.own_bytes = worker.told_bytes = message.finished.own_bytes
          if (quick !== undefined) settleJob(quick, message)
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
    this.later(restartAfter_ms(worker.thread.isReady ? 0 : ++this.failures))
    // Its memory is nobody's once it has ended.
    void worker.thread.terminate().finally(() => this.release(worker, ({ elsewhere }) => elsewhere("lost")))
    if (this.isReady) return
    const lines = [...this.lines.values()]
    this.lines.clear()
    this.waiting = 0
    for (const line of lines) for (const { elsewhere } of line) elsewhere("waited")
  }
  private endStuck(): void {
    const latest = performance.now() - STUCK_ms
    for (const worker of [...this.workers])
      for (const { since } of worker.running.values()) {
        if (since < latest) this.lost(worker, "It did not answer.")
        break
      }
  }
}
