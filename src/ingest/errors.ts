/** Failures of the ingest room. */
import { Schema } from "effect"

export class JobNotFound extends Schema.TaggedError<JobNotFound>()(
  "JobNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}
/** Spec part 3: one reindex of a collection at a time; the message names it. */
export class ReindexInProgress extends Schema.TaggedError<ReindexInProgress>()(
  "ReindexInProgress",
  { message: Schema.String, job_id: Schema.String },
  { httpApiStatus: 409 }
) {}
export class CollectionMissing extends Schema.TaggedError<CollectionMissing>()(
  "CollectionMissing",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}
