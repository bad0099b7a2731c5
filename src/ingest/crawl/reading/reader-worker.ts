/** The entry of the thread that reads pages, so that no page blocks the main thread. */
import { parentPort } from "node:worker_threads"
import type { FromReader, ToReader } from "./messages.ts"
import { readPage } from "./page-documents.ts"

const send = (message: FromReader) => parentPort!.postMessage(message)
parentPort!.on("message", ({ asked, buffer, length, number }: ToReader) => {
  try {
    send({ number, kind: "read", page: readPage(new Uint8Array(buffer, 0, length), asked) })
  } catch (error) {
    send({ number, kind: "unread", message: error instanceof Error ? error.message.slice(0, 300) : "unknown" })
  }
})
send({ kind: "ready" })
