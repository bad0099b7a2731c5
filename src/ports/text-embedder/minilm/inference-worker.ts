/**
 * The entry of the thread that runs the model. Work is done in slices of some forty milliseconds, and before each of
 * them what was sent meanwhile is looked at: a query waits for the slice that runs, whatever else there is to do.
 */
import { parentPort, workerData } from "node:worker_threads"
import { giveWayHere, HALF_BACKGROUND } from "@dowser/log/process/background"
import { HIDDEN } from "./graph.ts"
import { type InferenceEngine, openNative, openPortable } from "./engines.ts"
import type { EmbedMessage, FromThread, ThreadSettings, ToThread } from "./messages.ts"
import { Pace, runsOf } from "./runs.ts"
import { loadTokens, type Tokens } from "./tokens.ts"

giveWayHere(HALF_BACKGROUND)

const { folder, isPortable } = workerData as ThreadSettings
const send = (message: FromThread, transfer: ReadonlyArray<ArrayBuffer> = []) =>
  parentPort!.postMessage(message, transfer)
const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error))
const fail = (error: unknown) => {
  send({ kind: "failed", message: sentence(error) })
  // The message leaves with the turn; exiting at once would lose it.
  setTimeout(() => process.exit(1), 20)
}
process.on("uncaughtException", fail)
process.on("unhandledRejection", fail)

/** Texts become tokens for so long before others are looked at. */
const TOKENS_MS = 10

/** One message's texts on their way: tokens first, then run by run. */
class Work {
  readonly message: EmbedMessage
  readonly #tokens: Array<ReadonlyArray<number>> = []
  #runs: Array<ReadonlyArray<number>> | undefined
  readonly #vectors: Float32Array<ArrayBuffer>
  #took_ms = 0

  constructor(message: EmbedMessage) {
    this.message = message
    this.#vectors = new Float32Array(message.texts.length * HIDDEN)
  }
  /** True when it was the last slice. */
  async slice(engine: InferenceEngine, tokens: Tokens, pace: Pace): Promise<boolean> {
    const { texts } = this.message
    const began = performance.now()
    if (this.#runs === undefined) {
      while (this.#tokens.length < texts.length && performance.now() - began < TOKENS_MS)
        this.#tokens.push(tokens(texts[this.#tokens.length]!))
      if (this.#tokens.length < texts.length) return false
      const lengths = this.#tokens.map(({ length }) => length)
      this.#runs = engine.kind === "native" ? [...runsOf(lengths, pace.tokensMax)] : [...runsOf(lengths, 0)]
    }
    const run = this.#runs.shift()
    if (run === undefined) return true
    const own = run.map((index) => this.#tokens[index]!)
    const runs_at = performance.now()
    const vectors = await engine.run({ texts: run.map((index) => texts[index]!), tokens: own })
    const ended = performance.now()
    pace.took(own.length * own.at(-1)!.length, ended - runs_at)
    this.#took_ms += ended - began
    for (const [at, index] of run.entries())
      this.#vectors.set(vectors.subarray(at * HIDDEN, (at + 1) * HIDDEN), index * HIDDEN)
    return this.#runs.length === 0
  }
  answer(): void {
    const tokens = Uint16Array.from(this.#tokens, ({ length }) => length)
    send({ kind: "embedded", id: this.message.id, vectors: this.#vectors, tokens, took_ms: this.#took_ms }, [
      this.#vectors.buffer,
      tokens.buffer
    ])
  }
}

/** The front has at most one message of each kind here. */
const queries: Array<Work> = []
const documents: Array<Work> = []
let isWorking = false
let isStopping = false

const open = async (): Promise<InferenceEngine> => {
  let why: string | undefined
  const engine = isPortable
    ? openPortable(folder)
    : await openNative(folder).catch((error: unknown) => {
        why = sentence(error)
        return openPortable(folder)
      })
  send({ kind: "loaded", engine: engine.kind, why })
  return engine
}

const work = async (engine: InferenceEngine, tokens: Tokens, pace: Pace) => {
  if (isWorking) return
  isWorking = true
  while (!isStopping) {
    const line = queries.length > 0 ? queries : documents
    const next = line[0]
    if (next === undefined) break
    try {
      if (await next.slice(engine, tokens, pace)) {
        line.shift()
        next.answer()
      }
    } catch (error) {
      line.shift()
      send({ kind: "refused", id: next.message.id, message: sentence(error) })
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  isWorking = false
  if (!isStopping) return
  await engine.close()
  process.exit(0)
}

const tokens = loadTokens(folder)
const engine = await open()
const pace = new Pace()
parentPort!.on("message", (message: ToThread) => {
  if (message.kind === "stop") isStopping = true
  else if (message.isQuery) queries.push(new Work(message))
  else documents.push(new Work(message))
  void work(engine, tokens, pace)
})
