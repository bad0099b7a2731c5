/**
 * A replay with the target `recommendations`, as a job: this process rebuilds the organization's models from the log;
 * the others are notified within five seconds and do the same. Until a process is done it answers from what it has read
 * again so far. Other organizations are not affected.
 */
import { Effect } from "effect"
import { Outbox } from "@dowser/log/outbox"
import { type ClaimedJob, type JobEnd, JobFailed } from "../jobs/job-worker.ts"
import { RecommendModels } from "../recommendation-models/live/recommend-models.ts"
import { ModelRebuilds } from "../recommendation-models/rebuilds.ts"

const AGAIN_MS = 500
/** Wait for a state that is being opened, or is already rebuilding these models. */
const PATIENCE_MS = 120_000

interface Config {
  readonly from_at: number
  readonly before_at: number
}
const iso = (at: number): string => new Date(at).toISOString()

export const makeReplay = Effect.gen(function* () {
  const state = yield* RecommendModels
  const rebuilds = yield* ModelRebuilds
  const outbox = yield* Outbox
  return Effect.fn("RecommendationModels.replay")(function* (
    { config, id, organizationId }: ClaimedJob,
    report: (progress: number) => Effect.Effect<void>
  ): Effect.fn.Return<JobEnd, JobFailed> {
    const { before_at, from_at } = config as unknown as Config
    const rebuild = { organizationId, jobId: id }
    const failed = (why: unknown) =>
      new JobFailed({ message: `The state of recommendations could not be rebuilt: ${String(why)}` })
    yield* Effect.orDie(rebuilds.ask(rebuild))
    let done = 0
    const reporting = Effect.forever(
      Effect.andThen(
        Effect.sleep(AGAIN_MS),
        Effect.suspend(() => report(done))
      )
    )
    const rebuilt = Effect.mapError(
      state.rebuild(rebuild, (progress) => {
        done = progress
      }),
      failed
    )
    const patient = Effect.gen(function* () {
      for (let waited = 0; waited < PATIENCE_MS; waited += AGAIN_MS) {
        const events = yield* rebuilt
        if (events !== undefined) return events
        yield* Effect.sleep(AGAIN_MS)
      }
      return yield* failed("it has not caught up with the log for two minutes.")
    })
    const events = yield* Effect.raceFirst(patient, reporting)
    const summary = { target: "recommendations", from: iso(from_at), to: iso(before_at - 1), events }
    return { result: summary, alongside: outbox.put(organizationId, "event.replayed", { job_id: id, ...summary }) }
  })
})
