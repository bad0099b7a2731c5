/**
 * Judgments from what visitors chose, as a job. Searches of a range are read from the log; the lists of searches that
 * do not record what they showed are taken from what the suite's parameters find today; and each pair that was shown
 * often enough gets a grade (`clicked-grades.ts` of the SDK).
 */
import { Clock, Effect } from "effect"
import { givingWay } from "@dowser/engine-sdk/host"
import { makeAuditRecorder } from "../audit/record.ts"
import { makeClickedSearches } from "../clicks/clicked-searches.ts"
import { collectionNames } from "../clicks/collection-names.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { type ClaimedJob, type JobEnd, JobFailed } from "../jobs/job-worker.ts"
import { Search } from "../search/search.ts"
import { ClickedQueries, type ClickedQuery, merged } from "./clicked-queries.ts"
import { ranked } from "./evaluate.ts"
import { textsOf } from "./run-suite.ts"
import type { StoredJudgment } from "./suite-input.ts"
import { makeSuitesRepository, type StoredSuite } from "./suites-repository.ts"

export const FROM_CLICKS = "judgments_from_clicks"
/** The configuration of a job. */
export interface FromClicksConfig extends Readonly<Record<string, unknown>> {
  readonly suite_id: string
  readonly collection: string
  /** Unix milliseconds. */ readonly from_at: number
  readonly before_at: number
}
/** Fewer impressions of a query and document are not reliable. */
const IMPRESSIONS_MIN = 20
/** Hits of a first page that count as seen, if the suite does not set its length. */
const PAGE = 10
const PAGE_MAX = 50
type ReportProgress = (progress: number) => Effect.Effect<void>

const pageOf = ({ per_page }: StoredSuite["params"]): number => {
  const asked = Number(per_page ?? PAGE)
  return Number.isInteger(asked) && asked >= 1 ? Math.min(asked, PAGE_MAX) : PAGE
}
/** Grades of all queries, relative to the average of all of them. */
const gradesOf = (queries: ReadonlyArray<ClickedQuery>): ReadonlyArray<StoredJudgment> => {
  const all = queries.map(({ grades }) => grades.totals)
  const looks = all.reduce((sum, one) => sum + one.looks, 0)
  const usual = looks === 0 ? 0 : all.reduce((sum, one) => sum + one.gains, 0) / looks
  return queries.flatMap(({ grades, q }) =>
    grades.grades(IMPRESSIONS_MIN, usual).map(({ documentId, grade }): StoredJudgment => [q, documentId, grade, 1])
  )
}

/** Today's lists for the searches that do not record what they showed. */
const listed = Effect.fnUntraced(function* (
  search: Search["Service"],
  { collection, organization_id: organizationId, params }: StoredSuite,
  queries: ReadonlyArray<ClickedQuery>,
  report: ReportProgress
) {
  const give = givingWay()
  const asked = { organizationId, collection, parameters: textsOf(params) }
  for (const [i, { gains, grades, q, unlisted }] of queries.entries()) {
    if (unlisted > 0) grades.add(yield* ranked(search, asked, q, pageOf(params)), unlisted, gains)
    yield* report(0.5 + (i + 1) / queries.length / 2)
    const way = give()
    if (way !== undefined) yield* Effect.promise(() => way)
  }
})

export const makeFromClicks = Effect.gen(function* () {
  const search = yield* Search
  const contextOf = yield* makeContexts
  const repository = yield* makeSuitesRepository
  const audit = yield* makeAuditRecorder
  const read = yield* makeClickedSearches

  const counted = Effect.fnUntraced(function* (
    organizationId: string,
    { before_at, collection, from_at }: FromClicksConfig,
    report: ReportProgress
  ) {
    const queries = new ClickedQueries()
    const collections = collectionNames(contextOf(organizationId), collection)
    const asked = { organizationId, collections, from: from_at, before: before_at }
    yield* Effect.mapError(
      read(
        asked,
        (one) => queries.add(one),
        (done) => report(done / 2)
      ),
      ({ message }) => new JobFailed({ message: `The event log could not be read: ${message}` })
    )
    return queries
  })
  return Effect.fn("Quality.fromClicks")(function* (
    { config, organizationId }: ClaimedJob,
    report: ReportProgress
  ): Effect.fn.Return<JobEnd, JobFailed> {
    const asked = config as FromClicksConfig
    const id = asked.suite_id
    const deleted = new JobFailed({ message: "The suite was deleted." })
    const suite = yield* Effect.orDie(repository.get(organizationId, id))
    if (suite === undefined) return yield* deleted
    const counts = yield* counted(organizationId, asked, report)
    const queries = counts.often(IMPRESSIONS_MIN)
    yield* listed(search, suite, queries, report)
    const clicked = gradesOf(queries)
    // For the figures. Storing merges again, so that a judgment made by hand in the meantime stays.
    const now = merged(yield* Effect.orDie(repository.judgments(organizationId, id)), clicked)
    const stored = Effect.gen(function* () {
      if ((yield* repository.lock(organizationId, id)) === undefined) return
      const { judgments } = merged(yield* repository.judgments(organizationId, id), clicked)
      yield* repository.putJudgments(organizationId, id, judgments)
      yield* repository.countJudgments(organizationId, id, judgments.length, yield* Clock.currentTimeMillis)
    })
    return {
      result: {
        searches: counts.searches,
        queries: queries.length,
        judgments_from_clicks: now.added,
        judgments: now.judgments.length,
        left_out: now.left_out
      },
      alongside: audit.recorded({ kind: "quality_suite", organizationId, id }, stored)
    }
  })
})
