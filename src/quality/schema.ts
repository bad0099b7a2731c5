/** Quality suites and their runs as the API returns them, and their limits. */
import { Schema } from "effect"
import { dateRefusal } from "../analytics/date-range.ts"
import { refusing } from "../http/checks.ts"

/** The most judgments of a suite. */
export const JUDGMENTS_MAX = 100_000
/** Decision: limit of a suite's judgments as JSON; 100,000 of usual length take 6 MB. Also the body's limit. */
export const SUITE_BYTES_MAX = 12_000_000
/** Decision: limited, because each query is a search in every run. */
export const QUERIES_MAX = 10_000
export const GRADE_MAX = 3
export const QUERY_BYTES_MAX = 1_024
export const DOCUMENT_ID_BYTES_MAX = 1_024
/** The most queries that a result lists: those that fell most, then the worst. */
export const QUERIES_LISTED_MAX = 1_000
export const TOLERANCE_BY_DEFAULT = 0.02

const Judgment = Schema.Struct({
  q: Schema.String,
  document_id: Schema.String,
  grade: Schema.Int.annotate({ description: "0 (not relevant) to 3." })
}).annotate({ identifier: "Judgment" })
const Params = Schema.Record(Schema.String, Schema.Unknown).annotate({
  identifier: "QualityParams",
  description: "Search parameters without `q`."
})
const Figures = {
  ndcg_at_10: Schema.Number,
  mrr: Schema.Number,
  recall_at_100: Schema.Number,
  judged_at_10: Schema.Number
}
const LastRun = Schema.Struct({ run_id: Schema.String, finished_at: Schema.Int, ...Figures }).annotate({
  identifier: "QualityLastRun"
})
const suiteFields = {
  id: Schema.String,
  name: Schema.String,
  collection: Schema.String,
  params: Params,
  tolerance: Schema.Number,
  schedule_cron: Schema.optionalKey(Schema.String),
  judgments_count: Schema.Int,
  created_at: Schema.Int,
  updated_at: Schema.Int,
  last_run: Schema.optionalKey(LastRun)
}
export const QualitySuiteSummary = Schema.Struct(suiteFields).annotate({ identifier: "QualitySuiteSummary" })
export type QualitySuiteSummary = typeof QualitySuiteSummary.Type
export const QualitySuite = Schema.Struct({ ...suiteFields, judgments: Schema.Array(Judgment) }).annotate({
  identifier: "QualitySuite"
})
export const QualitySuiteList = Schema.Struct({
  data: Schema.Array(QualitySuiteSummary),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "QualitySuiteList", description: "By id, without the judgments themselves." })
/** For the API document; `suite-input.ts` reads the body, and names every invalid field. */
export const QualitySuiteBody = Schema.Struct({
  name: Schema.String,
  collection: Schema.String,
  params: Schema.optionalKey(Params),
  judgments: Schema.Array(Judgment),
  tolerance: Schema.optionalKey(Schema.Number),
  schedule_cron: Schema.optionalKey(Schema.NullOr(Schema.String))
}).annotate({
  identifier: "QualitySuiteBody",
  description: `At most ${JUDGMENTS_MAX} judgments of ${QUERIES_MAX} queries; \`schedule_cron\` has five fields and is in UTC.`
})
export const RunBody = Schema.Struct({
  params: Schema.optionalKey(Params),
  profile: Schema.optionalKey(Schema.String)
}).annotate({
  identifier: "RunQualitySuite",
  description: "Runs other parameters, or a profile of the collection, instead of the stored parameters."
})
export const MeaningBody = Schema.Struct({
  profile: Schema.String.check(
    refusing((name: string) => (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name) ? undefined : "The name of a profile"))
  )
}).annotate({ identifier: "MeaningBody", description: "`profile`: of the suite's collection; its draft is measured." })
export const FromClicksBody = Schema.Struct({
  from: Schema.String.check(refusing(dateRefusal)),
  to: Schema.String.check(refusing(dateRefusal))
}).annotate({
  identifier: "JudgmentsFromClicks",
  description: "`from` and `to`: ISO 8601 dates or date-times, both inclusive."
})
export const QualityRun = Schema.Struct({
  id: Schema.String,
  suite_id: Schema.String,
  job_id: Schema.String,
  finished_at: Schema.Int,
  params: Params,
  profile: Schema.optionalKey(Schema.String),
  queries: Schema.Int,
  ...Figures,
  previous: Schema.NullOr(LastRun)
}).annotate({ identifier: "QualityRun" })
export type QualityRun = typeof QualityRun.Type
export const QualityRunList = Schema.Struct({
  data: Schema.Array(QualityRun),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "QualityRunList", description: "Newest first. The job of a run has its queries." })
