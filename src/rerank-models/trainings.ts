/** Trainings of rerank models: their jobs, run in the process that has the engine. */
import { Context, Effect, Layer } from "effect"
import type { Conflict } from "../http/errors.ts"
import { makeJobStarter } from "../jobs/jobs.ts"
import type { Job } from "../jobs/schema.ts"
import { makeJobWorker } from "../jobs/job-worker.ts"
import { OwnsEngine } from "../ports/engine/engine.ts"
import { makeTraining, TRAINING, type TrainingConfig } from "./train.ts"

export class Trainings extends Context.Service<
  Trainings,
  { readonly start: (organizationId: string, config: TrainingConfig) => Effect.Effect<Job, Conflict> }
>()("dowser/rerank-models/Trainings") {
  static readonly layer = Layer.effect(
    Trainings,
    Effect.gen(function* () {
      const jobs = yield* makeJobStarter
      const wake = (yield* OwnsEngine)
        ? (yield* makeJobWorker({ type: TRAINING, run: yield* makeTraining })).wake
        : Effect.void
      return Trainings.of({
        start: Effect.fn("Trainings.start")(function* (organizationId, config) {
          const job = yield* jobs
            .start(organizationId, TRAINING, config, () => jobs.requirePlace(organizationId, TRAINING))
            .pipe(Effect.catchTag("SqlError", Effect.die))
          yield* wake
          return job
        })
      })
    })
  )
}
