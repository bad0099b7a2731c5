/**
 * A lane for searches that take long. The thread of all tenants gives each search a quantum; one that uses it up is
 * broken off and runs again here, from the beginning and with all the time that it may have, in a thread of its own
 * over the same segments. Most searches never come here and pay nothing for it; one that does costs the others its
 * quantum.
 *
 * A namespace has one place at a time, so that no tenant's slow searches hold up
 * another's, and waits in its own line; namespaces take turns. A thread that does not come back in time is ended: its
 * search is answered as timed out, and the next one gets a new thread.
 */
import { Worker } from "node:worker_threads"
import type { Namespace } from "../engine.ts"
import { fail, type EngineError, type Result } from "../errors.ts"
import type { CollectionSchema } from "../schema.ts"
import { type AnswerBudget, AnswerRefused } from "../budget/answer-budget.ts"
import { warn } from "../warning.ts"
import type { Done, FromLane, ToLane, Work } from "./messages.ts"

/** Searches at a time, of different namespaces. */
const THREADS = 2
const WAITING_MAX = 2_000,
  WAITING_OF_NAMESPACE_MAX = 200
/** Beside what a search may take of processor time: waiting for a processor, a relevance index that is made first. */
const GRACE_ms = 20_000,
  GRACE_FACTOR = 4,
  BUILDING_ms = 120_000
/** What a search can hold beside the index. Beyond, its thread ends instead of the program. */
const HEAP_MB = 1_024
const RETRY_AFTER_S = 10
/** Between two looks at whether somebody still waits for what is running. */
const WATCH_ms = 20
/** After there was something to search. */
const START_ms = 1_000
/** Time for a thread to come up before it is ended. */
const STOP_ms = 10_000

/** What a job needs of its collections at the moment at which it begins, and for whom. */
interface LaneJob {
  readonly namespace: Namespace
  readonly work: Work
  readonly left_ms: () => number
  /** Of the request; what the search holds is told to it when it is done. */ readonly answer: AnswerBudget | undefined
  /** Nobody waits for it any more. */ readonly isGivenUp: () => boolean
  /** `known`: what the thread was told before; to be brought up to date. */ readonly shared: (
    known: Known
  ) => Result<Pick<ToLane, "collections" | "dictionaries" | "forgotten">>
}
/** What a thread has, by collection, least recently used first: schema and segments with the deletions it knows of. */
export interface Known {
  readonly collections: Map<
    number,
    { readonly schema: CollectionSchema; readonly segments: ReadonlyMap<number, number> }
  >
  readonly dictionaries: Map<string, ReadonlyMap<string, string> | undefined>
}
export interface LaneDone {
  readonly done: Done
  readonly used_ms: number
}
interface Waiting {
  readonly job: LaneJob
  readonly resolve: (done: Result<LaneDone>) => void
  readonly reject: (defect: Error) => void
}
interface Thread {
  readonly worker: Worker
  readonly known: Known
  /** When it has opened the documents, or ended. */ readonly ready: Promise<void>
  readonly isReady: () => void
  running:
    | {
        readonly id: number
        readonly waiting: Waiting
        readonly timer: ReturnType<typeof setTimeout>
        readonly watch: ReturnType<typeof setInterval>
        readonly ended: Promise<void>
        readonly end: () => void
      }
    | undefined
  isGone: boolean
}

/** Not "timed out": that would speak of an engine that is away, and this one is there for everybody else. */
const timedOut: EngineError = {
  kind: "Overloaded",
  message: "The search took longer than it may.",
  retryAfterSeconds: 10
}
const overloaded: EngineError = {
  kind: "Overloaded",
  message: "More searches that take long are waiting than can be answered in time.",
  retryAfterSeconds: RETRY_AFTER_S
}

export class SearchLane {
  private readonly path: string
  private readonly threads: Thread[] = []
  /** Namespaces in the order of their turns. */ private readonly lines = new Map<Namespace, Waiting[]>()
  private waiting = 0
  private next = 1
  private isClosed = false
  private isExpecting = false
  constructor(path: string) {
    this.path = path
  }
  /** There is enough to search that it may take long: the threads come up, one after another. */
  expect(): void {
    if (this.isExpecting) return
    this.isExpecting = true
    // Starting a thread takes this one some hundred milliseconds in one piece: not when somebody searches.
    for (let n = 1; n <= THREADS; n++)
      (
        setTimeout(() => {
          if (!this.isClosed && this.threads.length < n) this.start()
        }, n * START_ms) as { readonly unref?: () => void }
      ).unref?.()
  }

  /** Never rejects, but for a defect. */
  run(job: LaneJob): Promise<Result<LaneDone>> {
    const line = this.lines.get(job.namespace) ?? []
    if (this.isClosed) return Promise.resolve(fail({ kind: "Unavailable", message: "The engine is closed." }))
    if (this.waiting >= WAITING_MAX || line.length >= WAITING_OF_NAMESPACE_MAX) return Promise.resolve(fail(overloaded))
    return new Promise((resolve, reject) => {
      line.push({ job, resolve, reject })
      this.lines.set(job.namespace, line)
      this.waiting++
      this.dispatch()
    })
  }
  /** When nothing reads any more what was searched when this was called. */
  unread(): Promise<void> | undefined {
    const running = this.threads.flatMap(({ running }) => (running === undefined ? [] : [running.ended]))
    return running.length === 0 ? undefined : Promise.all(running).then(() => undefined)
  }
  async close(): Promise<void> {
    this.isClosed = true
    for (const line of this.lines.values())
      for (const { resolve } of line) resolve(fail({ kind: "Unavailable", message: "The engine is closed." }))
    this.lines.clear()
    this.waiting = 0
    await Promise.all(this.threads.map((thread) => this.end(thread)))
  }
  /**
   * Ending a thread does not always wait until it has ended. One that comes up would open the documents, to read, after
   * the writer has let go of them, and the next engine of this process share that and could not write.
   */
  private async end({ ready, worker }: Thread): Promise<void> {
    worker.ref()
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, STOP_ms)
    })
    await Promise.race([ready, late])
    clearTimeout(timer)
    await worker.terminate()
  }

  private dispatch(): void {
    for (;;) {
      const busy = new Set(
        this.threads.flatMap(({ running }) => (running === undefined ? [] : [running.waiting.job.namespace]))
      )
      if (busy.size >= THREADS) return
      const found = [...this.lines].find(([namespace]) => !busy.has(namespace))
      if (found === undefined) return
      const [namespace, line] = found
      const one = line.shift()!
      this.waiting--
      // Behind the others from now on.
      this.lines.delete(namespace)
      if (line.length > 0) this.lines.set(namespace, line)
      if (one.job.isGivenUp()) one.resolve(fail(timedOut))
      else this.begin(this.threads.find(({ running }) => running === undefined) ?? this.start(), one)
    }
  }
  private begin(thread: Thread, waiting: Waiting): void {
    const { job, resolve } = waiting
    const left_ms = Math.max(0, job.left_ms()),
      id = this.next++
    let end = (): void => {}
    const ended = new Promise<void>((settle) => {
      end = settle
    })
    const builds =
      job.work.kind !== "scan" &&
      (job.work.kind === "search" ? job.work.plans : job.work.plan.plans).some(
        ({ text }) => text?.relevance !== undefined
      )
    const timer = setTimeout(
      () => this.lost(thread, timedOut),
      left_ms * GRACE_FACTOR + GRACE_ms + (builds ? BUILDING_ms : 0)
    )
    timer.unref?.()
    const givenUp = new Int32Array(new SharedArrayBuffer(4))
    const watch = setInterval(() => {
      if (job.isGivenUp()) Atomics.store(givenUp, 0, 1)
    }, WATCH_ms)
    watch.unref?.()
    thread.running = { id, waiting, timer, watch, ended, end }
    thread.worker.ref()
    const shared = job.shared(thread.known)
    if (shared.ok) {
      thread.worker.postMessage({
        kind: "work",
        id,
        namespace: job.namespace,
        ...shared.value,
        work: job.work,
        left_ms,
        givenUp: givenUp.buffer,
        ...(job.answer === undefined ? {} : { answer: { bytes_max: job.answer.bytes_max, held: job.answer.held } })
      } satisfies ToLane)
      return
    }
    this.settle(thread)
    resolve(shared)
  }
  private start(): Thread {
    const worker = new Worker(new URL("./search-worker.ts", import.meta.url), {
      workerData: { path: this.path },
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB }
    })
    let isReady = (): void => {}
    const ready = new Promise<void>((resolve) => {
      isReady = resolve
    })
    const thread: Thread = {
      worker,
      ready,
      isReady,
      known: { collections: new Map(), dictionaries: new Map() },
      running: undefined,
      isGone: false
    }
    this.threads.push(thread)
    worker.unref()
    worker.on("message", (message: FromLane) => this.receive(thread, message))
    worker.on("error", (error) =>
      this.lost(thread, {
        kind: "Overloaded",
        message: `The search needs more than one may have: ${error instanceof Error ? error.message : String(error)}`,
        retryAfterSeconds: RETRY_AFTER_S
      })
    )
    worker.on("exit", () => this.lost(thread, timedOut))
    return thread
  }
  private receive(thread: Thread, message: FromLane): void {
    const { running } = thread
    if (message.kind === "ready") thread.isReady()
    if (message.kind === "ready" || running === undefined || message.id !== running.id) return
    this.settle(thread)
    if (message.kind === "done") this.done(running.waiting, message)
    else running.waiting.reject(Object.assign(new Error(message.message), { stack: message.stack }))
    this.dispatch()
  }
  private done(
    { job, reject, resolve }: Waiting,
    { done, held, refusal, used_ms }: Extract<FromLane, { readonly kind: "done" }>
  ): void {
    try {
      job.answer?.settle(held, refusal)
      resolve({ ok: true, value: { done, used_ms } })
    } catch (error) {
      if (error instanceof AnswerRefused) resolve(fail(error.error))
      else reject(error as Error)
    }
  }
  private settle(thread: Thread): void {
    if (thread.running !== undefined) {
      clearTimeout(thread.running.timer)
      clearInterval(thread.running.watch)
      thread.running.end()
      if (!thread.isGone) thread.worker.unref()
    }
    thread.running = undefined
  }
  private lost(thread: Thread, error: EngineError): void {
    if (thread.isGone) return
    thread.isGone = true
    thread.isReady()
    this.threads.splice(this.threads.indexOf(thread), 1)
    const waiting = thread.running?.waiting
    if (!this.isClosed) warn("a thread for searches that take long ended", new Error(error.message))
    // Its memory is nobody's once it has ended.
    void thread.worker.terminate().finally(() => {
      this.settle(thread)
      waiting?.resolve(fail(error))
      if (!this.isClosed) this.dispatch()
    })
  }
}
