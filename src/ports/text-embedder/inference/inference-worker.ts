/**
 * The entry of the thread that runs the model. Work is done in slices of some forty milliseconds, and new messages are
 * read before each: a query waits only for the current slice, however much other work there is.
 */
import { parentPort, workerData } from "node:worker_threads"
import { giveWayHere, HALF_BACKGROUND } from "@dowser/log/process/background"
import { openMiniLm } from "../minilm/engines.ts"
import { openOperatorModel } from "../operator/engine.ts"
import type { Opened } from "./engine.ts"
import type { EmbedMessage, FromThread, ThreadSettings, ToThread } from "./messages.ts"
import { Pace, runsOf } from "./runs.ts"

giveWayHere(HALF_BACKGROUND)

const settings = workerData as ThreadSettings
const send = (message: FromThread, transfer: ReadonlyArray<ArrayBuffer> = []) =>
  parentPort!.postMessage(message, transfer)
const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error))
const fail = (error: unknown) => {
  send({ kind: "failed", message: sentence(error) })
  // The message is delivered at the end of the event loop's turn; exiting immediately would lose it.
  setTimeout(() => process.exit(1), 20)
}
process.on("uncaughtException", fail)
process.on("unhandledRejection", fail)

/** How long texts are tokenized before other work gets its turn. */
const TOKENS_MS = 10

/** The texts of one message in progress: first they are all tokenized, then embedded run by run. */
class Work {
  readonly message: EmbedMessage
  readonly #tokens: Array<ReadonlyArray<number>> = []
  #runs: Array<ReadonlyArray<number>> | undefined
  readonly #vectors: Float32Array<ArrayBuffer>
  #took_ms = 0

  constructor(message: EmbedMessage, { dimensions }: Opened) {
    this.message = message
    this.#vectors = new Float32Array(message.texts.length * dimensions)
  }
  /** Returns true after the last slice. */
  async slice({ dimensions, engine, tokens }: Opened, pace: Pace): Promise<boolean> {
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
      this.#vectors.set(vectors.subarray(at * dimensions, (at + 1) * dimensions), index * dimensions)
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

/** The front sends at most one message of each kind at a time. */
const queries: Array<Work> = []
const documents: Array<Work> = []
let isWorking = false
let isStopping = false

const work = async (opened: Opened, pace: Pace) => {
  if (isWorking) return
  isWorking = true
  while (!isStopping) {
    const line = queries.length > 0 ? queries : documents
    const next = line[0]
    if (next === undefined) break
    try {
      if (await next.slice(opened, pace)) {
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
  await opened.engine.close()
  process.exit(0)
}

const opened = await (settings.kind === "minilm" ? openMiniLm(settings) : openOperatorModel(settings))
send({ kind: "loaded", engine: opened.engine.kind, why: opened.why })
const pace = new Pace()
parentPort!.on("message", (message: ToThread) => {
  if (message.kind === "stop") isStopping = true
  else if (message.isQuery) queries.push(new Work(message, opened))
  else documents.push(new Work(message, opened))
  void work(opened, pace)
})
