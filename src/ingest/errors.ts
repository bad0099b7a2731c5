/** Failures of the ingest room. */
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
/** The organization has as many jobs, or schedules, as it may have at a time. */
export class IngestJobsExhausted extends Schema.TaggedError<IngestJobsExhausted>()(
  "IngestJobsExhausted",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** Feeds that wait or are read take as much as they may. */
export class FeedSpaceExhausted extends Schema.TaggedError<FeedSpaceExhausted>()(
  "FeedSpaceExhausted",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** A raw upload must say how long it is. */
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
/** Nobody finished it within its time. */
export class UploadExpired extends Schema.TaggedError<UploadExpired>()(
  "UploadExpired",
  { message: Schema.String },
  { httpApiStatus: 410 }
) {}
/** What is sent does not begin where the upload stands. */
export class UploadOffsetWrong extends Schema.TaggedError<UploadOffsetWrong>()(
  "UploadOffsetWrong",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** The version of the protocol is not 1.0.0. */
export class TusVersionUnknown extends Schema.TaggedError<TusVersionUnknown>()(
  "TusVersionUnknown",
  { message: Schema.String },
  { httpApiStatus: 412 }
) {}
/** Another request writes it at this moment. */
export class FeedBusy extends Schema.TaggedError<FeedBusy>()(
  "FeedBusy",
  { message: Schema.String },
  { httpApiStatus: 423 }
) {}
/** The bytes that came are not those of the checksum (tus). */
export class ChecksumMismatch extends Schema.TaggedError<ChecksumMismatch>()(
  "ChecksumMismatch",
  { message: Schema.String },
  { httpApiStatus: 460 }
) {}
