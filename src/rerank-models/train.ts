/**
 * A training, as a job: searches of a range are read from the log, each query is ranked as the engine does today to get
 * the features of its hits, and the SDK's trainer learns from the clicks. One query in five is held out to measure the
 * model.
 */
import { givingWay } from "@dowser/engine-sdk/host"
import { mean, pairedBootstrap, scoreOf } from "@dowser/engine-sdk/judging"
import {
  type FeatureTable,
  featuresOf,
  type LinearModel,
  linearScores,
  type Reranker,
  trainingLinear
} from "@dowser/engine-sdk/rerank"
import { Effect } from "effect"
import { makeClickedSearches } from "../clicks/clicked-searches.ts"
import { collectionNames } from "../clicks/collection-names.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { type ClaimedJob, type JobEnd, JobFailed } from "../jobs/job-worker.ts"
import { Rerankers } from "../rerankers/rerankers.ts"
import type { TrainingMetrics } from "../rerankers/schema.ts"
import { Search } from "../search/search.ts"
import { clickedRows, gradesOf, isHeldOut, type RankedQuery, TrainedQueries } from "./trained-queries.ts"

export const TRAINING = "rerank_model_training"
/** The configuration of a job. */
export interface TrainingConfig extends Readonly<Record<string, unknown>> {
  readonly name: string
  /** The collection's real name. */ readonly collection: string
  readonly fields: ReadonlyArray<string>
  /** Unix milliseconds. */ readonly from_at: number
  readonly before_at: number
}
type ReportProgress = (progress: number) => Effect.Effect<void>

/** Hits of a query that are used. */
const DEPTH = 30
const SEED = 1
/** Minimum number of clicked searches; with fewer, figures reflect chance more than the collection. */
const CLICKED_MIN = 50
const HELD_OUT_MIN = 5

/** Keeps the order, and records the features that a model would have seen. */
const watching = (saw: (features: FeatureTable) => void): Reranker => ({
  name: "watching",
  score: ({ candidates, context, fields, scores }) => {
    saw(featuresOf(candidates, context.request.words, fields))
    for (let i = 0; i < candidates.length; i++) scores[i] = -i
  }
})

/** The model's quality on queries that it has not seen. Pure. */
const heldOutFigure = (
  model: LinearModel,
  queries: ReadonlyArray<RankedQuery>,
  below: (n: number) => number
): TrainingMetrics["ndcg_at_10"] => {
  const before: Array<number> = [],
    after: Array<number> = []
  for (const ranked of queries) {
    const grades = gradesOf(ranked)
    const scores = linearScores(model, ranked.features)
    const order = ranked.ids.map((_, row) => row).sort((a, b) => scores[b]! - scores[a]! || a - b)
    const plain = scoreOf(ranked.ids, grades)
    if (plain === undefined) continue
    before.push(plain.ndcg10)
    after.push(
      scoreOf(
        order.map((row) => ranked.ids[row]!),
        grades
      )!.ndcg10
    )
  }
  return { before: mean(before), after: mean(after), ...pairedBootstrap(after, before, below, 2_000) }
}
/** 0 … n − 1, from a seed: the same searches give the same interval (a linear congruential generator). */
const seeded = (seed: number) => {
  let state = seed >>> 0
  return (n: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 4_294_967_296) * n)
  }
}

const trained = Effect.fnUntraced(function* (queries: ReadonlyArray<RankedQuery>) {
  const work = trainingLinear(
    queries.flatMap((ranked) => clickedRows(ranked).map((clicked) => ({ features: ranked.features, clicked }))),
    { seed: SEED }
  )
  const give = givingWay()
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    const way = give()
    if (way !== undefined) yield* Effect.promise(() => way)
  }
})

/** Each query as the engine ranks it today, with the features of its hits. */
const ranked = Effect.fnUntraced(function* (
  search: Search["Service"],
  organizationId: string,
  { collection, fields }: TrainingConfig,
  queries: TrainedQueries,
  report: ReportProgress
) {
  const found: Array<RankedQuery> = []
  const give = givingWay()
  for (const [i, query] of queries.queries.entries()) {
    const seen: Array<FeatureTable> = []
    const parameters = {
      q: query.q,
      query_by: fields.join(","),
      rerank: "true",
      rerank_model: "watching",
      rerank_top_k: String(DEPTH)
    }
    const answer = yield* Effect.promise((signal) =>
      search.rank({
        organizationId,
        collection,
        parameters,
        depth: DEPTH,
        signal,
        isUnruled: true,
        reranker: () => watching((features) => seen.push(features))
      })
    )
    if (!answer.ok) return yield* new JobFailed({ message: `\`${query.q.slice(0, 80)}\`: ${answer.error.message}` })
    const [features] = seen
    if (features !== undefined) found.push({ query, ids: answer.value.slice(0, features.rows), features })
    yield* report(0.5 + (0.3 * (i + 1)) / queries.queries.length)
    const way = give()
    if (way !== undefined) yield* Effect.promise(() => way)
  }
  return found
})

export const makeTraining = Effect.gen(function* () {
  const search = yield* Search
  const contextOf = yield* makeContexts
  const rerankers = yield* Rerankers
  const read = yield* makeClickedSearches

  const remembered = Effect.fnUntraced(function* (
    organizationId: string,
    { before_at, collection, from_at }: TrainingConfig,
    report: ReportProgress
  ) {
    const queries = new TrainedQueries()
    const collections = collectionNames(contextOf(organizationId), collection)
    yield* Effect.mapError(
      read(
        { organizationId, collections, from: from_at, before: before_at },
        (one) => queries.add(one),
        (done) => report(done / 2)
      ),
      ({ message }) => new JobFailed({ message: `The event log could not be read: ${message}` })
    )
    if (queries.clicked < CLICKED_MIN)
      return yield* new JobFailed({
        message: `Only ${queries.clicked} searches led to a click; a training needs ${CLICKED_MIN}.`
      })
    return queries
  })
  return Effect.fn("RerankModels.train")(function* (
    { config, organizationId }: ClaimedJob,
    report: ReportProgress
  ): Effect.fn.Return<JobEnd, JobFailed> {
    const asked = config as TrainingConfig
    const queries = yield* remembered(organizationId, asked, report)
    const found = yield* ranked(search, organizationId, asked, queries, report)
    const heldOut = found.filter(({ query }) => isHeldOut(query.q))
    const seen = found.filter(({ query }) => !isHeldOut(query.q))
    if (heldOut.length < HELD_OUT_MIN || seen.length === 0)
      return yield* new JobFailed({
        message: `${found.length} queries find what was clicked; one in five, at least ${HELD_OUT_MIN}, is needed to measure the model.`
      })
    const model = yield* trained(seen)
    const metrics: TrainingMetrics = {
      clicked_searches: queries.clicked,
      queries_trained: seen.length,
      queries_held_out: heldOut.length,
      ndcg_at_10: heldOutFigure(model, heldOut, seeded(SEED))
    }
    const { collection, fields, name } = asked
    const stored = yield* Effect.mapError(
      rerankers.store({
        organization_id: organizationId,
        collection,
        name,
        fields,
        weights: model.weights,
        metrics,
        from: asked.from_at,
        to: asked.before_at - 1
      }),
      ({ message }) => new JobFailed({ message })
    )
    return { result: { name, collection, version: stored.version, ...metrics } }
  })
})
