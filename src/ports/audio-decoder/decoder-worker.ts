/** The entry of the thread that decodes sound. What its libraries throw is the file's fault; they are made anew each time. */
import { parentPort } from "node:worker_threads"
import { giveWayHere, HALF_BACKGROUND } from "@dowser/log/process/background"
import type { FromLine } from "../worker-line.ts"
import type { DecodedAudio } from "./audio-decoder.ts"
import { decodedAudio } from "./decode.ts"
import { AudioRefused, NO_AUDIO } from "./format.ts"

giveWayHere(HALF_BACKGROUND)
const send = (said: FromLine<DecodedAudio>, transfer: ReadonlyArray<ArrayBuffer> = []) =>
  parentPort!.postMessage(said, transfer)

parentPort!.on("message", (bytes: Uint8Array) => {
  decodedAudio(bytes).then(
    (answer) => send({ kind: "done", answer }, [answer.samples.buffer as ArrayBuffer]),
    (error: unknown) =>
      send({
        kind: "refused",
        message: error instanceof AudioRefused ? error.message : `The sound cannot be decoded. ${NO_AUDIO}`
      })
  )
})
send({ kind: "ready" })
