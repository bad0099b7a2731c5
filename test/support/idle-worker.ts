/** A stream worker that neither counts nor reports anything, and stops on request. */
import { parentPort } from "node:worker_threads"
import type { ToStreams } from "../../streams/host/messages.ts"

parentPort?.on("message", (message: ToStreams) => {
  if (message.kind === "stop") process.exit(0)
})
