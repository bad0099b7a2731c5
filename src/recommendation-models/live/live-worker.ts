/** The entry of the thread that keeps the models, so that no event delays the thread that answers. */
import { parentPort, workerData } from "node:worker_threads"
import type { FingerprintKey } from "@dowser/log/fingerprint"
import { Erasures } from "@dowser/streams/erasure/erasures"
import { LiveModels } from "./live-models.ts"
import type { FromThread, ThreadSettings, ToThread } from "./messages.ts"
import { loadSnapshot, storeSnapshot } from "./snapshot.ts"

const settings = workerData as ThreadSettings
const send = (message: FromThread) => parentPort!.postMessage(message)
const fail = (error: unknown) => {
  send({ kind: "failed", message: error instanceof Error ? error.message : String(error) })
  // The message is delivered at the end of the event loop's turn; exiting immediately would lose it.
  setTimeout(() => process.exit(1), 20)
}
process.on("uncaughtException", fail)
process.on("unhandledRejection", fail)

const models = new LiveModels(settings.bytesMax)
/** Computing the figures walks over all models, so it is done no more often. */
const FIGURES_EVERY_MS = 500
let figures = models.figures()
let countAt = 0

const take = ({ buffer, next, only, partition, parts }: Extract<ToThread, { readonly kind: "records" }>) => {
  let from = 0
  for (const { appendedAt, length, offset } of parts) {
    models.take({ partition, offset, appendedAt, value: new Uint8Array(buffer, from, length) }, only)
    from += length
  }
  const appendedAt = parts.at(-1)?.appendedAt
  if (only === undefined && appendedAt !== undefined) models.passed({ partition, next, appendedAt })
  if (performance.now() >= countAt) {
    figures = models.figures()
    countAt = performance.now() + FIGURES_EVERY_MS
  }
  send({ kind: "took", bytes: buffer.byteLength, figures })
}

parentPort!.on("message", (message: ToThread) => {
  switch (message.kind) {
    case "ask":
      return send({ kind: "answer", number: message.number, ...models.answer(message.ask) })
    case "records":
      return take(message)
    case "tombstones":
      models.erasures = new Erasures(message.tombstones, settings.key as FingerprintKey)
      return
    case "forget":
      return models.forget(message.organizationId)
    case "count":
      return send({ kind: "counted", events: models.takenAgain(message.organizationId) })
    case "clear":
      return models.clear()
    case "snapshot":
      if (settings.folder !== undefined) storeSnapshot(settings.folder, models)
      return send({ kind: "stored" })
    case "stop":
      return process.exit(0)
  }
})

const positions = settings.folder === undefined ? [] : loadSnapshot(settings.folder, models)
send({ kind: "opened", positions })
