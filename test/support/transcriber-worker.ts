/** A substitute for the transcriber's thread, controlled by the first sample of the audio. */
import { parentPort } from "node:worker_threads"

parentPort!.on("message", (sent: ArrayBuffer) => {
  const [first] = new Float32Array(sent)
  if (first === 1) parentPort!.postMessage({ kind: "done", answer: { words: [{ text: "heard", score: 1 }] } })
  else if (first === 2) process.exit(3)
  else if (first === 4) parentPort!.postMessage({ kind: "refused", message: "it cannot be heard" })
})
parentPort!.postMessage({ kind: "ready" })
