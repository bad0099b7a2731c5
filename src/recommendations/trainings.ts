/** Jobs about recommendation models, run where the engine is: trainings, and replays of what the models know. */
import { Effect } from "effect"
import type { Conflict } from "../http/errors.ts"
import { makeJobWorker } from "../jobs/job-worker.ts"
import { makeJobStarter } from "../jobs/jobs.ts"
import type { Job } from "../jobs/schema.ts"
import { OwnsEngine } from "../ports/engine/engine.ts"
import { RecommendationModels } from "../recommendation-models/models.ts"
import type { StoredModel } from "../recommendation-models/schema.ts"
import { REPLAY } from "../recommendation-models/replay.ts"
import { makeReplay } from "./replay.ts"
import { makeTraining, TRAINING } from "./train.ts"

export const makeTrainings = Effect.gen(function* () {
  const jobs = yield* makeJobStarter
  const models = yield* RecommendationModels
  const isHere = yield* OwnsEngine
  if (isHere) yield* makeJobWorker({ type: REPLAY, run: yield* makeReplay })
  const wake = isHere ? (yield* makeJobWorker({ type: TRAINING, run: yield* makeTraining })).wake : Effect.void
  return {
    start: Effect.fn("RecommendationModels.train")(function* ({
      collection,
      id,
      organization_id
    }: StoredModel): Effect.fn.Return<Job, Conflict> {
      const job = yield* jobs
        .start(organization_id, TRAINING, { model_id: id, collection }, () =>
          jobs.requirePlace(organization_id, TRAINING)
        )
        .pipe(Effect.catchTag("SqlError", Effect.die))
      yield* Effect.ignore(models.storeResult(organization_id, id, "training", null))
      yield* wake
      return job
    })
  }
})
