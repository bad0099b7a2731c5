/** The entry of the thread that trains the model of one collection. */
import type { Document } from "@dowser/engine-sdk"
import { sourceOf } from "@dowser/engine-sdk/embedding"
import { answerJob } from "../../jobs/answer-job.ts"
import { encodeModel } from "../../ports/text-embedder/lsa/model.ts"
import { LsaTraining } from "./training.ts"
import type { ToTrainer, TrainedBytes } from "./messages.ts"

const training = new LsaTraining()
let from: ReadonlyArray<string> = []

answerJob<ToTrainer>((ask): TrainedBytes | undefined => {
  if (ask.kind === "begin") {
    from = ask.from
    return undefined
  }
  if (ask.kind === "documents") {
    for (const line of ask.lines.split("\n")) training.add(sourceOf({ from }, JSON.parse(line) as Document) ?? "")
    return undefined
  }
  const trained = training.trained()
  const { characters, documents, features } = trained
  return { bytes: encodeModel(trained), documents, characters, features: features.length }
})
