/**
 * The queue of the model, and its thread: it starts with the first text, is replaced when it dies, and ends when idle
 * (`closeIdle`). Chunks of one request run one after another. One chunk of queries and one of documents may be in the
 * thread, which checks for queries before each slice of work. Chunks in a thread that died are retried once.
 */
import { EmbeddingUnavailable, type EmbedRequest } from "../text-embedder.ts"
import { type ChunkAnswer, type InferenceThread, type Loaded, ThreadLost } from "./inference-thread.ts"
import { Line } from "./line.ts"
import type { CachedVector } from "./vector-cache.ts"

type Priority = EmbedRequest["priority"]
interface InferenceOptions {
  readonly dimensions: number
  /** Unix milliseconds. */ readonly now: () => number
  /** Returns undefined if the model no longer exists. */ readonly open: () => InferenceThread | undefined
  readonly onLoaded: (loaded: Loaded) => void
  /** Called when the thread died or could not start. */ readonly onLost: (message: string) => void
}
interface Asked {
  readonly texts: ReadonlyArray<string>
  readonly priority: Priority
  readonly organizationId: string
}
interface Answer {
  readonly resolve: (known: ReadonlyArray<CachedVector>) => void
  readonly reject: (error: EmbeddingUnavailable) => void
}

const CHUNK_TEXTS = 32,
  CHUNK_CHARACTERS = 16_000
/** Maximum number of attempts per chunk. */
const TRIES_MAX = 2
/** A model that could not be loaded is not tried again within this time. */
const LOAD_AGAIN_MS = 30_000
const BOUNDS = {
  query: { items: 2_000, bytes: 8_000_000 },
  document: { items: 20_000, bytes: 32_000_000 }
} as const
const PRIORITIES = ["query", "document"] as const

class Chunk {
  readonly organizationId: string
  readonly texts: ReadonlyArray<string>
  readonly items: number
  readonly bytes: number
  readonly request: Request
  /** Index of the chunk's first text in the request. */ readonly at: number
  tries = 0

  constructor(request: Request, at: number, texts: ReadonlyArray<string>) {
    this.request = request
    this.organizationId = request.asked.organizationId
    this.texts = texts
    this.at = at
    this.items = texts.length
    this.bytes = texts.reduce((sum, { length }) => sum + 2 * length, 0)
  }
}
class Request {
  readonly asked: Asked
  readonly chunks: ReadonlyArray<Chunk>
  readonly #known: Array<CachedVector> = []
  readonly #answer: Answer
  readonly #dimensions: number
  #missing: number
  isOver = false

  constructor(asked: Asked, answer: Answer, dimensions: number) {
    this.asked = asked
    this.#answer = answer
    this.#dimensions = dimensions
    this.#missing = asked.texts.length
    this.chunks = this.#cut()
  }
  #cut(): ReadonlyArray<Chunk> {
    const { texts } = this.asked
    const chunks: Array<Chunk> = []
    for (let from = 0; from < texts.length;) {
      let to = from + 1
      for (let sum = texts[from]!.length; to < texts.length && to - from < CHUNK_TEXTS; to++) {
        sum += texts[to]!.length
        if (sum > CHUNK_CHARACTERS) break
      }
      chunks.push(new Chunk(this, from, texts.slice(from, to)))
      from = to
    }
    return chunks
  }
  has({ at, texts }: Chunk, { tokens, vectors }: ChunkAnswer): void {
    if (this.isOver) return
    // Copied, because a view of a chunk would keep all of the chunk in memory.
    for (let i = 0; i < texts.length; i++)
      this.#known[at + i] = {
        vector: vectors.slice(i * this.#dimensions, (i + 1) * this.#dimensions),
        tokens: tokens[i]!
      }
    this.#missing -= texts.length
    if (this.#missing > 0) return
    this.isOver = true
    this.#answer.resolve(this.#known)
  }
  fail(error: EmbeddingUnavailable): void {
    if (this.isOver) return
    this.isOver = true
    this.#answer.reject(error)
  }
}

export class Inference {
  readonly #options: InferenceOptions
  readonly #lines: Readonly<Record<Priority, Line<Chunk>>> = {
    query: new Line(BOUNDS.query),
    document: new Line(BOUNDS.document)
  }
  readonly #inThread: Record<Priority, Chunk | undefined> = { query: undefined, document: undefined }
  #thread: InferenceThread | undefined
  #engine: Loaded["engine"] | undefined
  #failure: { readonly message: string; readonly at: number } | undefined
  #usedAt = 0
  #msPerText = 10
  #isClosed = false
  /** Seconds spent in the model's thread. */ seconds = 0
  texts = 0
  /** Threads that died, or did not start. */ losses = 0

  constructor(options: InferenceOptions) {
    this.#options = options
  }
  get engine(): Loaded["engine"] | undefined {
    return this.#engine
  }
  get isLoading(): boolean {
    return this.#thread !== undefined && this.#engine === undefined
  }
  waiting(priority: Priority): number {
    return this.#lines[priority].items + (this.#inThread[priority]?.items ?? 0)
  }

  /** Calls `answer` later. Returns a function that withdraws what has not started. */
  ask(asked: Asked, answer: Answer): () => void {
    const request = new Request(asked, answer, this.#options.dimensions)
    const line = this.#lines[asked.priority]
    const refusal = this.#refusalOf(request)
    if (refusal !== undefined) {
      request.fail(refusal)
      return () => {}
    }
    this.#usedAt = this.#options.now()
    for (const chunk of request.chunks) line.put(chunk)
    this.#next(asked.priority)
    return () => {
      request.isOver = true
      for (const chunk of request.chunks) line.remove(chunk)
    }
  }
  #refusalOf({ asked, chunks }: Request): EmbeddingUnavailable | undefined {
    if (this.#failure !== undefined && this.#options.now() - this.#failure.at < LOAD_AGAIN_MS)
      return failed(this.#failure.message)
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes, 0)
    const line = this.#lines[asked.priority]
    if (line.hasRoom({ organizationId: asked.organizationId, items: asked.texts.length, bytes })) return undefined
    return new EmbeddingUnavailable({
      message: "Too many texts wait to be embedded.",
      reason: "busy",
      retry_after_s: Math.min(60, Math.max(1, Math.ceil((line.items * this.#msPerText) / 1_000)))
    })
  }

  #next(priority: Priority): void {
    if (this.#inThread[priority] !== undefined || this.#lines[priority].items === 0) return
    const thread = this.#thread ?? this.#begin()
    if (thread === undefined || this.#engine === undefined) return
    const chunk = this.#lines[priority].take()!
    this.#inThread[priority] = chunk
    chunk.tries++
    void this.#run(thread, priority, chunk)
  }
  async #run(thread: InferenceThread, priority: Priority, chunk: Chunk): Promise<void> {
    let answer: ChunkAnswer | undefined
    try {
      answer = await thread.embed(chunk.texts, priority === "query")
      this.seconds += answer.took_ms / 1_000
      this.texts += chunk.items
      this.#msPerText += 0.1 * (answer.took_ms / chunk.items - this.#msPerText)
    } catch (error) {
      this.#failed(thread, priority, chunk, error instanceof Error ? error : new Error(String(error)))
    }
    this.#usedAt = this.#options.now()
    this.#inThread[priority] = undefined
    this.#next(priority)
    // Last, because waiters continue immediately, and the thread should have its next work by then.
    if (answer !== undefined) chunk.request.has(chunk, answer)
  }
  #failed(thread: InferenceThread, priority: Priority, chunk: Chunk, error: Error): void {
    const isLost = error instanceof ThreadLost
    if (isLost) this.#lost(thread, error.message)
    // Nobody waits for the request any longer.
    if (chunk.request.isOver) return
    if (isLost && chunk.tries < TRIES_MAX && !this.#isClosed) this.#lines[priority].putBack(chunk)
    else this.#giveUp(chunk, error.message)
  }
  #giveUp({ request }: Chunk, message: string): void {
    request.fail(failed(message))
    for (const chunk of request.chunks) this.#lines[request.asked.priority].remove(chunk)
  }
  #begin(): InferenceThread | undefined {
    const thread = (this.#thread = this.#isClosed ? undefined : this.#options.open())
    if (thread === undefined) {
      this.#failAll(
        new EmbeddingUnavailable({ message: "The model was removed while texts waited.", reason: "not_installed" })
      )
      return undefined
    }
    thread.loaded.then(
      (loaded) => {
        if (this.#thread !== thread) return
        this.#engine = loaded.engine
        this.#failure = undefined
        this.#options.onLoaded(loaded)
        for (const priority of PRIORITIES) this.#next(priority)
      },
      (error: Error) => {
        if (this.#thread !== thread) return
        this.#lost(thread, error.message)
        if (this.#isClosed) return
        this.#failure = { message: error.message, at: this.#options.now() }
        this.#failAll(failed(error.message))
      }
    )
    return thread
  }
  #lost(thread: InferenceThread, message: string): void {
    if (this.#thread !== thread) return
    this.#thread = this.#engine = undefined
    if (this.#isClosed) return
    this.losses++
    this.#options.onLost(message)
  }
  #failAll(error: EmbeddingUnavailable): void {
    for (const priority of PRIORITIES) for (const { request } of this.#lines[priority].takeAll()) request.fail(error)
  }

  /** Ends the thread after this much idle time; the next text starts another one. */
  async closeIdle(idle_ms: number): Promise<void> {
    const thread = this.#thread
    const isBusy = PRIORITIES.some((priority) => this.waiting(priority) > 0)
    if (thread === undefined || isBusy || this.#engine === undefined || this.#options.now() - this.#usedAt < idle_ms)
      return
    this.#thread = this.#engine = undefined
    await thread.close()
  }
  async close(): Promise<void> {
    this.#isClosed = true
    this.#failAll(failed("The program ends."))
    await this.#thread?.close()
    this.#thread = this.#engine = undefined
  }
}

const failed = (message: string): EmbeddingUnavailable =>
  new EmbeddingUnavailable({ message: `The model could not embed it: ${message}`, reason: "failed" })
