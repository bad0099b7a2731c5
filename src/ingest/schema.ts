/** An ingest job as the specification shows it (spec part 2) and the states it can be in (part 3, contract part 4). */
import { Schema } from "effect"

const JobStatus = Schema.Literals(["queued", "fetching", "importing", "ready", "failed", "cancelled"])
export const JobStats = Schema.Struct({
  fetched: Schema.Int,
  imported: Schema.Int,
  failed: Schema.Int,
  /** Insertion position behind the last document that was written back. */ cursor: Schema.Int,
  passes: Schema.Int,
  errors: Schema.Array(Schema.Struct({ id: Schema.String, error: Schema.String }))
})
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
  error: Schema.optionalKey(Schema.String),
  created_at: Schema.Int,
  updated_at: Schema.Int,
  finished_at: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "IngestJob" })
export type IngestJob = typeof IngestJob.Type

/** Errors listed in a job; further ones are only counted. */
export const jobErrorsMax = 100
export const isTerminal = (status: IngestJob["status"]): boolean =>
  status === "ready" || status === "failed" || status === "cancelled"
