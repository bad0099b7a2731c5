/** Errors of the ingest room. */
import { Schema } from "effect"

export class JobNotFound extends Schema.TaggedError<JobNotFound>()(
  "JobNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}
/** A collection has one reindex at a time; the message names the job. */
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
/** The organization has reached its limit of concurrent jobs or schedules. */
export class IngestJobsExhausted extends Schema.TaggedError<IngestJobsExhausted>()(
  "IngestJobsExhausted",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** The organization's stored feeds have reached their limit of space. */
export class FeedSpaceExhausted extends Schema.TaggedError<FeedSpaceExhausted>()(
  "FeedSpaceExhausted",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** A raw upload must send its length. */
export class LengthRequired extends Schema.TaggedError<LengthRequired>()(
  "LengthRequired",
  { message: Schema.String },
  { httpApiStatus: 411 }
) {}
export class FeedTooLarge extends Schema.TaggedError<FeedTooLarge>()(
  "FeedTooLarge",
  { message: Schema.String },
  { httpApiStatus: 413 }
) {}
export class UploadNotFound extends Schema.TaggedError<UploadNotFound>()(
  "UploadNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}
/** The upload was not finished in time. */
export class UploadExpired extends Schema.TaggedError<UploadExpired>()(
  "UploadExpired",
  { message: Schema.String },
  { httpApiStatus: 410 }
) {}
/** The sent bytes do not start at the upload's current offset. */
export class UploadOffsetWrong extends Schema.TaggedError<UploadOffsetWrong>()(
  "UploadOffsetWrong",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** The request's protocol version is not 1.0.0. */
export class TusVersionUnknown extends Schema.TaggedError<TusVersionUnknown>()(
  "TusVersionUnknown",
  { message: Schema.String },
  { httpApiStatus: 412 }
) {}
/** Another request is writing the feed. */
export class FeedBusy extends Schema.TaggedError<FeedBusy>()(
  "FeedBusy",
  { message: Schema.String },
  { httpApiStatus: 423 }
) {}
/** The received bytes do not match the checksum (tus). */
export class ChecksumMismatch extends Schema.TaggedError<ChecksumMismatch>()(
  "ChecksumMismatch",
  { message: Schema.String },
  { httpApiStatus: 460 }
) {}
