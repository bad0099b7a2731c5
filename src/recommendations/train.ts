/**
 * A training, as a job: the collection's events of the last 90 days, as far as the log keeps them, are read once and
 * processed in order (`trial.ts`). The live state is streamed and needs none of this: a training yields better
 * parameters, and figures.
 */
import { KINDS, type ModelEvent } from "@dowser/engine-sdk/recommend"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Clock, Effect } from "effect"
import { collectionNames } from "../clicks/collection-names.ts"
import { makeEventReader } from "../clicks/read-events.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { type ClaimedJob, type JobEnd, JobFailed } from "../jobs/job-worker.ts"
import type { BehaviouralEvent } from "@dowser/log/event-schema"
import { RecommendationModels } from "../recommendation-models/models.ts"
import { NewestEvents } from "./newest-events.ts"
import { measured } from "./trial.ts"

export const TRAINING = "recommendation_training"
const DAYS = 90
const DAY_MS = 86_400_000
/** The events of a shop in a busy month. */
const EVENTS_MAX = 1_000_000

const eventOf = (event: BehaviouralEvent): ModelEvent | undefined => {
  const kind = (KINDS as ReadonlyArray<string>).indexOf(event.type)
  const documents =
    event.items?.map((item) => item.document_id) ?? (event.document_id === undefined ? [] : [event.document_id])
  if (kind < 0 || documents.length === 0) return undefined
  const person = event.user_id || event.anonymous_id || ""
  return { kind, documents, visitor: event.session_id || person, person, at: event.timestamp }
}

export const makeTraining = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const models = yield* RecommendationModels
  const read = yield* makeEventReader
  return Effect.fn("RecommendationModels.measure")(function* (
    { config, organizationId }: ClaimedJob,
    report: (progress: number) => Effect.Effect<void>
  ): Effect.fn.Return<JobEnd, JobFailed> {
    const { model_id: id } = config as { readonly model_id: string }
    const model = models.find(organizationId, id)
    if (model === undefined) return yield* new JobFailed({ message: "The model was deleted meanwhile." })
    const now = yield* Clock.currentTimeMillis
    const events = new NewestEvents(EVENTS_MAX)
    const context = contextOf(organizationId)
    const collections = collectionNames(context, model.collection)
    // Earlier events belong to another collection of this name.
    const since = (resolveCollection(context, model.collection)?.created_at ?? 0) * 1_000
    const failed = (message: string) =>
      Effect.andThen(
        Effect.ignore(models.storeResult(organizationId, id, "failed", null)),
        Effect.fail(new JobFailed({ message }))
      )
    yield* Effect.catchTag(
      read(
        { organizationId, collections, from: Math.max(since, now - DAYS * DAY_MS), before: now },
        (event) => {
          const own = eventOf(event)
          if (own !== undefined) events.add(own)
        },
        (done) => report(done / 2)
      ),
      "EventLogUnavailable",
      ({ message }) => failed(`The event log could not be read: ${message}`)
    )
    const metrics = yield* Effect.promise(() => events.inOrder().then((all) => measured(all, model.type, model.params)))
    yield* Effect.ignore(models.storeResult(organizationId, id, "ready", metrics))
    return { result: { model_id: id, ...metrics } }
  })
})
