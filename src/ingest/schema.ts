/** An ingest job as the API shows it, and the states it can be in (`docs/contract/catalogues.md#ingest-jobs`). */
import { Schema } from "effect"

const JobStatus = Schema.Literals(["queued", "fetching", "importing", "ready", "failed", "cancelled"])
export const JobStats = Schema.Struct({
  /** Records, rows or pages read. */ fetched: Schema.Int,
  /** Documents written. */ imported: Schema.Int,
  failed: Schema.Int,
  /** Number of records up to the end of the last written batch. */ cursor: Schema.Int,
  /** How often the entire source was read; for a schedule, by all its jobs so far. */ passes: Schema.Int,
  /** Documents deleted, including those missing in a `full` pass. */
  deleted: Schema.optionalKey(Schema.Int),
  /** How the source was read, if there are several ways. */ source_kind: Schema.optionalKey(Schema.String),
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
  /** When the job is repeated: five cron fields, in UTC. */ schedule_cron: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(Schema.String),
  created_at: Schema.Int,
  updated_at: Schema.Int,
  finished_at: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "IngestJob" })
export type IngestJob = typeof IngestJob.Type

/** Limit of errors listed in a job; further ones are only counted. */
export const JOB_ERRORS_MAX = 100
export const noStats: JobStats = { fetched: 0, imported: 0, failed: 0, cursor: 0, passes: 0, errors: [] }
/** Limit of an organization's waiting and running jobs. */
export const UNFINISHED_MAX = 20
