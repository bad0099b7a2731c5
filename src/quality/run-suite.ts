/**
 * A run of a suite, as a job. Its figures are compared with the last run of the suite's own parameters. A run with
 * other parameters, or a profile, shows the comparison too, but neither raises an alarm nor becomes the baseline of
 * later runs.
 */
import { Clock, Effect } from "effect"
import { Identifiers } from "@dowser/log/identifiers"
import { Outbox } from "@dowser/log/outbox"
import { type ClaimedJob, type JobEnd, JobFailed } from "../jobs/job-worker.ts"
import { Search } from "../search/search.ts"
import { evaluate, type Evaluated, hasRelevant } from "./evaluate.ts"
import { QUERIES_LISTED_MAX } from "./schema.ts"
import type { Params } from "./suite-input.ts"
import { type LastStored, makeRunsRepository, type NewRun } from "./runs-repository.ts"
import { makeSuitesRepository, type StoredSuite } from "./suites-repository.ts"

export const RUN = "quality_run"
/** The configuration of a job. */
export interface RunConfig extends Readonly<Record<string, unknown>> {
  readonly suite_id: string
  readonly collection: string
  readonly params?: Params
  readonly profile?: string
}
/** Sums of doubles differ in their last digits. */
const ROUNDING = 1e-9

export const textsOf = (params: Params): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]))

/** Queries that fell most first, then those with the lowest figures. */
const listed = ({ queries }: Evaluated, before: ReadonlyMap<string, number>) =>
  queries
    .map(({ ndcg_at_10, q }) => {
      const previous = before.get(q)
      return { q, ndcg_at_10, ...(previous === undefined ? {} : { previous }) }
    })
    .sort(
      (a, b) =>
        a.ndcg_at_10 - (a.previous ?? a.ndcg_at_10) - (b.ndcg_at_10 - (b.previous ?? b.ndcg_at_10)) ||
        a.ndcg_at_10 - b.ndcg_at_10
    )
    .slice(0, QUERIES_LISTED_MAX)

const previousOf = (last: LastStored | undefined): NewRun["previous"] => {
  if (last === undefined) return null
  const { per_query: _, ...figures } = last
  return figures
}

export const makeRunSuite = Effect.gen(function* () {
  const search = yield* Search
  const outbox = yield* Outbox
  const identifiers = yield* Identifiers
  const repository = yield* makeSuitesRepository
  const runs = yield* makeRunsRepository

  /** Writes the run's row, and the alarm if the quality fell, in one transaction. */
  const kept = Effect.fnUntraced(function* (suite: StoredSuite, run: NewRun) {
    const current = yield* repository.lock(suite.organization_id, suite.id)
    // The suite was deleted while it ran: the job still shows the result.
    if (current === undefined) return
    yield* runs.insertRun(suite.organization_id, run)
    yield* runs.pruneRuns(suite.organization_id, suite.id)
    const { previous } = run
    if (run.is_stored && previous !== null && previous.ndcg_at_10 - run.ndcg_at_10 > current.tolerance + ROUNDING)
      yield* outbox.put(suite.organization_id, "quality.regression", {
        suite_id: suite.id,
        collection: suite.collection,
        before: previous.ndcg_at_10,
        after: run.ndcg_at_10,
        run_id: run.id
      })
  })

  return Effect.fn("Quality.run")(function* (
    { config, id: job_id, organizationId }: ClaimedJob,
    report: (progress: number) => Effect.Effect<void>
  ): Effect.fn.Return<JobEnd, JobFailed> {
    const { params: other, profile, suite_id } = config as RunConfig
    const suite = yield* Effect.orDie(repository.get(organizationId, suite_id))
    if (suite === undefined) return yield* new JobFailed({ message: "The suite was deleted." })
    const judgments = yield* Effect.orDie(repository.judgments(organizationId, suite_id))
    if (!hasRelevant(judgments))
      return yield* new JobFailed({ message: "The suite has no judgment with a grade above 0." })
    const params = other ?? suite.params
    // With a profile, a storefront sends only the words: the profile decides everything else.
    const parameters = profile === undefined ? textsOf(params) : { profile }
    const { collection } = suite
    const evaluated = yield* evaluate(search, { organizationId, collection, parameters, judgments }, report)
    const last = yield* Effect.orDie(runs.previous(organizationId, suite_id))
    const { queries, ...figures } = evaluated
    const run: NewRun = {
      id: yield* identifiers.make("qrn"),
      suite_id,
      job_id,
      is_stored: other === undefined && profile === undefined,
      params,
      ...(profile === undefined ? {} : { profile }),
      queries: queries.length,
      ...figures,
      previous: previousOf(last),
      per_query: queries.map(({ ndcg_at_10, q }) => [q, ndcg_at_10] as const),
      finished_at: yield* Clock.currentTimeMillis
    }
    return {
      result: {
        run_id: run.id,
        ...figures,
        queries: queries.length,
        per_query: listed(evaluated, new Map(last?.per_query)),
        previous: run.previous,
        ...(profile === undefined ? {} : { profile }),
        params
      },
      alongside: kept(suite, run)
    }
  })
})
