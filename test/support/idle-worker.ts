/** A stream worker that neither counts nor says anything, and stops when it is told to. */
import { parentPort } from "node:worker_threads"
import type { ToStreams } from "../../streams/host/messages.ts"

parentPort?.on("message", (message: ToStreams) => {
  if (message.kind === "stop") process.exit(0)
})
