/** The entry of the thread that runs the transcriber: one span of speech after another. */
import { parentPort, workerData } from "node:worker_threads"
import { BoundedMap } from "@dowser/engine-sdk/host"
import { giveWayHere, HALF_BACKGROUND } from "@dowser/log/process/background"
import type { FromLine } from "../../worker-line.ts"
import { type Heard, openMoonshine } from "../moonshine/model.ts"
import type { TranscriberSize } from "../moonshine/layout.ts"
import { Openings } from "../moonshine/openings.ts"
import { openSilero } from "../silero/silero.ts"
import type { Likely } from "../transcriber.ts"
import { readQuestion } from "./question.ts"

export interface TranscriberSettings {
  readonly size: TranscriberSize
  /** Folder of the transcriber's files. */ readonly folder: string
  /** Folder of the model that tells speech from other sounds; without it all loud enough audio is transcribed. */
  readonly speech?: string | undefined
  /** Folder of the transcriber's runtime. */ readonly runtime: string
}
giveWayHere(HALF_BACKGROUND)
const send = (report: FromLine<Heard>) => parentPort!.postMessage(report)
const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Indexes of the openings of documents: half a second of work for each ten thousand. */
const OPENINGS_BYTES_MAX = 16_000_000
const kept = new BoundedMap<string, Openings>({
  bytes_max: OPENINGS_BYTES_MAX,
  bytesOf: (name, { bytes }) => 2 * name.length + bytes
})
const openingsOf = ({ name, openings }: Likely): Openings => {
  const known = kept.get(name)
  if (known !== undefined) return known
  const made = new Openings(new TextDecoder().decode(openings))
  kept.set(name, made)
  return made
}

const { folder, runtime, size, speech } = workerData as TranscriberSettings
try {
  const model = await openMoonshine(size, folder, runtime)
  const silero = speech === undefined ? undefined : await openSilero(speech, runtime)
  const listen = async (question: ArrayBuffer): Promise<Heard> => {
    const { likely, samples } = readQuestion(question)
    if (silero !== undefined && !(await silero.isSpoken(samples))) return { words: [] }
    return model.listen(samples, likely === undefined ? undefined : openingsOf(likely))
  }
  parentPort!.on("message", (question: ArrayBuffer) => {
    listen(question).then(
      (answer) => send({ kind: "done", answer }),
      (error: unknown) => send({ kind: "refused", message: sentence(error) })
    )
  })
  send({ kind: "ready" })
} catch (error) {
  send({ kind: "refused", message: sentence(error) })
}
