/**
 * Work for one thread that starts with the first task and ends when idle. Organizations take turns by the time that
 * their tasks took, the queue is bounded by weight, and each task has a time limit, after which the thread is ended.
 * Waiters are notified of every outcome; the next task gets a new thread.
 *
 * A task is sent as a plain buffer, because Deno visits every element of a typed array sent to a thread, which takes
 * seconds; what a thread answers must be plain too.
 */
import type { Worker } from "node:worker_threads"
import { Turns } from "./image-process/turns.ts"

/** `refused`: by the task itself; the thread continues. `lost`: the thread ended, or was ended because of this task. */
export type LineOutcome<A> =
  | { readonly kind: "done"; readonly answer: A; readonly took_ms: number }
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "lost"; readonly message: string; /** Whether the task had begun. */ readonly hasBegun: boolean }
  | { readonly kind: "busy" }

/** A thread's messages: `ready` once, then an answer to each task. */
export type FromLine<A> =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly answer: A }
  | { readonly kind: "refused"; readonly message: string }

interface LineOptions {
  readonly open: () => Worker
  /** Time limit of one task, once the thread is ready. */ readonly within_ms: number
  /** Time limit until the thread is ready. */ readonly readyWithin_ms: number
  readonly idle_ms: number
  /** Limits of everything that waits, and of one organization's share. */ readonly weightMax: number
  readonly weightMaxEach: number
}
type WorkerReport<A> = FromLine<A> | { readonly kind: "lost"; readonly message: string }
/** A task's data: the numbers, or a function that builds them when the task's turn comes. */
type Numbers = Uint8Array | Float32Array
type Question = Numbers | (() => Numbers)
interface Piece<A> {
  readonly organizationId: string
  readonly question: Question
  readonly weight: number
  readonly settle: (outcome: LineOutcome<A>) => void
  isGivenUp: boolean
}

export class WorkerLine<A> {
  readonly #options: LineOptions
  readonly #queue = new Turns<Piece<A>>()
  readonly #weights = new Map<string, number>()
  #weight = 0
  #worker: Worker | undefined
  #ready: Promise<string | undefined> | undefined
  #isAtWork = false
  #isClosed = false
  #idle: NodeJS.Timeout | undefined
  #heard: ((report: WorkerReport<A>) => void) | undefined
  pieces = 0
  seconds = 0
  losses = 0

  constructor(options: LineOptions) {
    this.#options = options
  }
  get waiting(): number {
    return this.#queue.size
  }
  get isLoaded(): boolean {
    return this.#worker !== undefined
  }

  /** Calling the result withdraws the task; one in progress continues, and its result is dropped. */
  ask(organizationId: string, question: Question, weight: number, settle: Piece<A>["settle"]): () => void {
    const own = this.#weights.get(organizationId) ?? 0
    const { weightMax, weightMaxEach } = this.#options
    if (this.#isClosed || this.#weight + weight > weightMax || own + weight > weightMaxEach) {
      settle({ kind: "busy" })
      return () => {}
    }
    const piece: Piece<A> = { organizationId, question, weight, settle, isGivenUp: false }
    this.#weights.set(organizationId, own + weight)
    this.#weight += weight
    this.#queue.put(organizationId, piece)
    void this.#next()
    return () => {
      piece.isGivenUp = true
    }
  }
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#idle)
    this.#heard?.({ kind: "lost", message: "the program ends" })
    for (let taken = this.#queue.take(); taken !== undefined; taken = this.#queue.take()) {
      this.#queue.done(taken.organizationId, 0)
      this.#settle(taken.entry, { kind: "lost", message: "the program ends", hasBegun: false })
    }
    await this.#end()
  }

  async #next(): Promise<void> {
    if (this.#isAtWork) return
    this.#isAtWork = true
    clearTimeout(this.#idle)
    for (let taken = this.#queue.take(); taken !== undefined; taken = this.#queue.take()) {
      const { entry, organizationId } = taken
      const began = performance.now()
      const outcome = entry.isGivenUp ? ({ kind: "busy" } as const) : await this.#work(entry)
      const took_ms = performance.now() - began
      this.#queue.done(organizationId, took_ms)
      this.#settle(entry, outcome)
    }
    this.#isAtWork = false
    if (this.#worker !== undefined && !this.#isClosed)
      this.#idle = setTimeout(() => void this.#end(), this.#options.idle_ms).unref()
  }
  #settle({ isGivenUp, organizationId, settle, weight }: Piece<A>, outcome: LineOutcome<A>): void {
    this.#weight -= weight
    const left = this.#weights.get(organizationId)! - weight
    if (left > 0) this.#weights.set(organizationId, left)
    else this.#weights.delete(organizationId)
    if (!isGivenUp) settle(outcome)
  }
  async #work({ question }: Piece<A>): Promise<LineOutcome<A>> {
    const failure = await this.#begin()
    if (failure !== undefined) return { kind: "lost", message: failure, hasBegun: false }
    this.pieces++
    const began = performance.now()
    const { buffer, byteLength, byteOffset } = typeof question === "function" ? question() : question
    const sent = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer
    const report = await this.#reportOf(() => this.#worker?.postMessage(sent, [sent]), this.#options.within_ms)
    const took_ms = performance.now() - began
    this.seconds += took_ms / 1_000
    if (report.kind === "done") return { kind: "done", answer: report.answer, took_ms }
    if (report.kind === "refused") return report
    this.losses++
    await this.#end()
    return { kind: "lost", message: report.kind === "lost" ? report.message : "it said something else", hasBegun: true }
  }
  /** Returns why there is no thread, if there is none. */
  #begin(): Promise<string | undefined> {
    if (this.#worker !== undefined && this.#ready !== undefined) return this.#ready
    const worker = this.#options.open()
    this.#worker = worker
    const lost = (message: string) => {
      if (this.#worker === worker) this.#heard?.({ kind: "lost", message })
    }
    const ready = this.#reportOf(() => {}, this.#options.readyWithin_ms).then(async (report) => {
      if (report.kind === "ready") return undefined
      this.losses++
      await this.#end()
      return report.kind === "lost" || report.kind === "refused" ? report.message : "its thread began otherwise"
    })
    this.#ready = ready
    worker.on("message", (report: FromLine<A>) => this.#heard?.(report))
    worker.on("error", (error) => lost(error instanceof Error ? error.message : String(error)))
    worker.on("exit", (code) => {
      lost(`its thread ended (exit code ${code})`)
      if (this.#worker === worker) this.#worker = undefined
    })
    return ready
  }
  async #reportOf(ask: () => void, within_ms: number): Promise<WorkerReport<A>> {
    const { promise, resolve } = Promise.withResolvers<WorkerReport<A>>()
    const timer = setTimeout(resolve, within_ms, { kind: "lost", message: "it took too long" })
    this.#heard = resolve
    ask()
    const report = await promise
    clearTimeout(timer)
    this.#heard = undefined
    return report
  }
  async #end(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    this.#ready = undefined
    await worker?.terminate()
  }
}
