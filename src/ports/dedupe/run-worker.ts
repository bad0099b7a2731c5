/** The entry of the thread that seals and merges runs, so that neither blocks the thread that accepts events. */
import { parentPort, workerData } from "node:worker_threads"
import { giveWayHere } from "@dowser/log/process/background"
import type { FromRuns, RunThreadSettings, ToRuns } from "./messages.ts"
import { RunCorrupt } from "./run-format.ts"
import { RunStore } from "./run-store.ts"
import type { OpenedRun } from "./run-writer.ts"

giveWayHere()

const settings = workerData as RunThreadSettings
const send = (message: FromRuns, runs: ReadonlyArray<OpenedRun> = []) =>
  parentPort!.postMessage(
    message,
    runs.flatMap(({ fences, filter }) => [fences, filter])
  )

const fail = (error: unknown) => {
  const run = error instanceof RunCorrupt ? error.run : undefined
  if (run !== undefined) store.discard([run])
  send({ kind: "failed", message: error instanceof Error ? error.message : String(error), run })
  // The message is delivered at the end of the event loop's turn; exiting immediately would lose it.
  setTimeout(() => process.exit(1), 20)
}
process.on("uncaughtException", fail)
process.on("unhandledRejection", fail)

const store = new RunStore(settings)
let oldestHour = settings.oldestHour
let isCompacting = false
/** A seal arrived during compaction. */
let isAsked = false

/** One slice per turn, so that new messages are handled in between. */
const compact = () => {
  isAsked = isCompacting
  if (isCompacting) return
  isCompacting = true
  const steps = store.compact(() => oldestHour)
  const step = () => {
    const { done, value } = steps.next()
    if (done === true) {
      isCompacting = false
      return isAsked ? compact() : undefined
    }
    if (value !== undefined) send({ kind: "changed", ...value }, value.added === undefined ? [] : [value.added])
    setImmediate(step)
  }
  setImmediate(step)
}

parentPort!.on("message", (message: ToRuns) => {
  switch (message.kind) {
    case "add":
      store.add(new Uint32Array(message.buffer), message.parts)
      return send({ kind: "took", bytes: message.buffer.byteLength })
    case "seal": {
      oldestHour = message.oldestHour
      const run = store.seal(message.range)
      send({ kind: "sealed", run }, [run])
      return compact()
    }
    case "begin":
      return compact()
    case "release":
      return store.release(message.names)
    case "discard":
      store.discard(message.names)
      return send({ kind: "discarded" })
    case "stop":
      return process.exit(0)
  }
})

const { discarded, runs } = store.open()
send({ kind: "opened", runs, discarded }, runs)
