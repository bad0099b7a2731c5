/** A job, as returned by every operation that starts one. */
import { Schema } from "effect"

/** `fetching` and `importing` are the running states of an ingest job. */
export const JOB_STATUSES = ["queued", "running", "fetching", "importing", "ready", "failed", "cancelled"] as const
export const Job = Schema.Struct({
  id: Schema.String,
  /**
   * `ingest`, `event_replay`, `recommendation_replay`, `subject_erasure`, `quality_run`, `judgments_from_clicks`,
   * `rerank_model_training`, `recommendation_training`, `seo_generation`, `seo_audit`,
   * `graph_generation`, `synonym_suggestions`, `assistant_evaluation`,
   * `meaning_weight`,
   * `catalog_push`.
   */
  type: Schema.String,
  status: Schema.Literals(JOB_STATUSES),
  /** 0..1. */ progress: Schema.Number,
  /** The parameters of the request. */ config: Schema.Record(Schema.String, Schema.Unknown),
  /** Set when it is ready. */ result: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  /** Set when it has failed. */ error: Schema.optionalKey(Schema.String),
  created_at: Schema.Int,
  updated_at: Schema.Int,
  finished_at: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "Job" })
export type Job = typeof Job.Type

export const JobList = Schema.Struct({
  data: Schema.Array(Job),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "JobList", description: "Newest first." })
