/** The entry of the decoding thread. Exceptions of its libraries are the file's fault; each file gets new decoders. */
import { parentPort } from "node:worker_threads"
import { giveWayHere, HALF_BACKGROUND } from "@dowser/log/process/background"
import type { FromLine } from "../worker-line.ts"
import type { DecodedAudio } from "./audio-decoder.ts"
import { decodedAudio } from "./decode.ts"
import { AudioRefused, NO_AUDIO } from "./format.ts"

/** `samples`: the buffer of a `Float32Array`. */
export interface DecodedPlain extends Omit<DecodedAudio, "samples"> {
  readonly samples: ArrayBuffer
}
giveWayHere(HALF_BACKGROUND)
// The libraries log a line to it for each broken packet, and anybody may send such a file.
Object.assign(console, { error() {} })
const send = (report: FromLine<DecodedPlain>, transfer: ReadonlyArray<ArrayBuffer> = []) =>
  parentPort!.postMessage(report, transfer)

parentPort!.on("message", (bytes: ArrayBuffer) => {
  decodedAudio(new Uint8Array(bytes)).then(
    ({ samples: own, ...answer }) => {
      const samples = own.buffer as ArrayBuffer
      send({ kind: "done", answer: { ...answer, samples } }, [samples])
    },
    (error: unknown) =>
      send({
        kind: "refused",
        message: error instanceof AudioRefused ? error.message : `The sound cannot be decoded. ${NO_AUDIO}`
      })
  )
})
send({ kind: "ready" })
