/** An ingest job as the API shows it, and the states it can be in (`docs/contract/catalogues.md#ingest-jobs`). */
import { Schema } from "effect"

const JobStatus = Schema.Literals(["queued", "fetching", "importing", "ready", "failed", "cancelled"])
export const JobStats = Schema.Struct({
  /** Records, rows or pages that were read. */ fetched: Schema.Int,
  /** Documents that were written. */ imported: Schema.Int,
  failed: Schema.Int,
  /** Records behind which the last batch ended that was written. */ cursor: Schema.Int,
  /** How often the whole source was read: of a schedule, by all its jobs so far. */ passes: Schema.Int,
  /** Documents that were deleted, those that were missing in a `full` pass among them. */
  deleted: Schema.optionalKey(Schema.Int),
  /** Of a source that has several ways to read: which it took. */ source_kind: Schema.optionalKey(Schema.String),
  errors: Schema.Array(Schema.Struct({ id: Schema.String, error: Schema.String }))
})
export type JobStats = typeof JobStats.Type
export const IngestJob = Schema.Struct({
  id: Schema.String,
  type: Schema.String,
  name: Schema.String,
  collection: Schema.String,
  source: Schema.String,
  status: JobStatus,
  /** 0..1. */ progress: Schema.Number,
  config: Schema.Record(Schema.String, Schema.Unknown),
  stats: JobStats,
  /** It is done again at these minutes: five fields of cron, in UTC. */ schedule_cron: Schema.optionalKey(
    Schema.String
  ),
  error: Schema.optionalKey(Schema.String),
  created_at: Schema.Int,
  updated_at: Schema.Int,
  finished_at: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "IngestJob" })
export type IngestJob = typeof IngestJob.Type

/** Errors listed in a job; further ones are only counted. */
export const JOB_ERRORS_MAX = 100
export const noStats: JobStats = { fetched: 0, imported: 0, failed: 0, cursor: 0, passes: 0, errors: [] }
/** Jobs of an organization that wait or are at work. */
export const UNFINISHED_MAX = 20
