/**
 * A substitute for the thread that runs the model: vectors that identify their text, and texts that make it die, refuse
 * or wait. It writes the texts it was sent, in order, to its folder.
 */
import { appendFileSync, existsSync } from "node:fs"
import { join } from "node:path"
import { parentPort, workerData } from "node:worker_threads"
import { HIDDEN } from "../../src/ports/text-embedder/minilm/graph.ts"
import type { FromThread, ThreadSettings, ToThread } from "../../src/ports/text-embedder/inference/messages.ts"

const { folder } = workerData as ThreadSettings
const send = (message: FromThread) => parentPort!.postMessage(message)
const told = (line: string) => appendFileSync(join(folder, "told"), `${line}\n`)

const queries: Array<Extract<ToThread, { readonly kind: "embed" }>> = []
const documents: typeof queries = []
const answer = () => {
  const next = queries.shift() ?? documents.shift()
  if (next === undefined) return
  for (const text of next.texts) told(text)
  if (next.texts.includes("die") || (next.texts.includes("die once") && !existsSync(join(folder, "died")))) {
    appendFileSync(join(folder, "died"), "")
    process.exit(7)
  }
  if (next.texts.includes("refuse")) return send({ kind: "refused", id: next.id, message: "not this one" })
  const vectors = new Float32Array(next.texts.length * HIDDEN)
  next.texts.forEach((text, i) => {
    vectors[i * HIDDEN + (text.length % HIDDEN)] = 1
  })
  send({ kind: "embedded", id: next.id, vectors, tokens: Uint16Array.from(next.texts, () => 3), took_ms: 1 })
}
parentPort!.on("message", (message: ToThread) => {
  if (message.kind === "stop") {
    told("stopped")
    process.exit(0)
  }
  if (message.isQuery) queries.push(message)
  else documents.push(message)
  // A short delay, so that what is sent in the meantime queues up.
  setTimeout(answer, message.texts.some((text) => text.startsWith("slow")) ? 40 : 2)
})
if (existsSync(join(folder, "broken"))) {
  told("broken")
  send({ kind: "failed", message: "the graph is broken" })
  setTimeout(() => process.exit(1), 20)
} else {
  told("loaded")
  send({ kind: "loaded", engine: "native", why: undefined })
}
