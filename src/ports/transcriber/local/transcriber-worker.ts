/** The entry of the thread that runs the transcriber: one piece of speech after the other. */
import { parentPort, workerData } from "node:worker_threads"
import { giveWayHere, HALF_BACKGROUND } from "@dowser/log/process/background"
import type { FromLine } from "../../worker-line.ts"
import { openMoonshine } from "../moonshine/model.ts"
import type { TranscriberSize } from "../moonshine/layout.ts"
import type { SpokenWord } from "../transcriber.ts"

export interface TranscriberSettings {
  readonly size: TranscriberSize
  /** Of its files. */ readonly folder: string
  /** Of what runs it. */ readonly runtime: string
}
giveWayHere(HALF_BACKGROUND)
const send = (said: FromLine<ReadonlyArray<SpokenWord>>) => parentPort!.postMessage(said)
const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const { folder, runtime, size } = workerData as TranscriberSettings
try {
  const model = await openMoonshine(size, folder, runtime)
  parentPort!.on("message", (samples: ArrayBuffer) => {
    model.words(new Float32Array(samples)).then(
      (answer) => send({ kind: "done", answer }),
      (error: unknown) => send({ kind: "refused", message: sentence(error) })
    )
  })
  send({ kind: "ready" })
} catch (error) {
  send({ kind: "refused", message: sentence(error) })
}
