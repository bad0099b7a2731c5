/** Reindexing, ingest jobs, and the feeds that are uploaded for them. */
import { Schema } from "effect"
import { engineErrors } from "../engine-plane/engine-errors.ts"
import { optionalText, refusing } from "../http/checks.ts"
import { ConfigurationUnavailable, OrganizationUnavailable } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import {
  ChecksumMismatch,
  CollectionMissing,
  FeedBusy,
  FeedSpaceExhausted,
  FeedTooLarge,
  IngestJobsExhausted,
  JobNotFound,
  LengthRequired,
  ReindexInProgress,
  TusVersionUnknown,
  UploadExpired,
  UploadNotFound,
  UploadOffsetWrong
} from "./errors.ts"
import { described } from "./examples.ts"
import { FEED_FORMATS } from "./readers/readers.ts"
import { IngestJob } from "./schema.ts"
import { SOURCE_NAMES } from "./sources/all.ts"

const NAME_CHARACTERS_MAX = 120
const nameRefusal = (text: string): string | undefined =>
  text.trim() === "" || [...text].length > NAME_CHARACTERS_MAX ? `1 to ${NAME_CHARACTERS_MAX} characters` : undefined
const collectionName = Schema.String.check(
  refusing((text: string) => (text === "" ? "The name of a collection" : undefined))
)

export const reindexCollection = operation({
  ...described.reindexCollection,
  id: "reindexCollection",
  group: "collections",
  summary: "Reindex a collection",
  method: "POST",
  path: "/v1/collections/:collectionName/reindex",
  plane: "control",
  scope: "full",
  payload: Schema.Struct({
    action: Schema.optionalKey(Schema.Literals(["create", "upsert", "update", "emplace"]))
  }).annotate({ identifier: "ReindexBody" }),
  success: IngestJob,
  status: 202,
  errors: [CollectionMissing, IngestJobsExhausted, ReindexInProgress]
})
const at = { group: "ingest jobs", plane: "control", scope: "full" } as const
const one = {
  ...at,
  params: { jobId: Schema.String.annotate({ description: "The id of an ingest job, `job_…`." }) }
} as const
/** Reasons why a job cannot be queued. */
const creationErrors = [
  CollectionMissing,
  ConfigurationUnavailable,
  FeedSpaceExhausted,
  IngestJobsExhausted,
  OrganizationUnavailable,
  ...engineErrors(409)
] as const

export const createIngestJob = operation({
  ...at,
  ...described.createIngestJob,
  id: "createIngestJob",
  summary: "Import the documents of a source into a collection",
  method: "POST",
  path: "/v1/ingest/jobs",
  payload: Schema.Struct({
    name: Schema.optionalKey(Schema.String.check(refusing(nameRefusal))),
    collection: collectionName,
    source: Schema.Literals(SOURCE_NAMES),
    config: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
    schedule_cron: Schema.optionalKey(Schema.String)
  }).annotate({ identifier: "CreateIngestJob" }),
  // Documents of up to 5 MB, plus the JSON around them.
  bodyBytesMax: 5_500_000,
  success: IngestJob,
  status: 202,
  errors: creationErrors
})
export const listIngestJobs = operation({
  ...at,
  ...described.listIngestJobs,
  id: "listIngestJobs",
  summary: "List ingest jobs, newest first",
  method: "GET",
  path: "/v1/ingest/jobs",
  query: Schema.Struct({
    ...pageFields({ max: 250, byDefault: 50 }),
    status: Schema.optionalKey(Schema.String)
  }),
  success: Schema.Struct({ data: Schema.Array(IngestJob), next_cursor: Schema.optionalKey(Schema.String) }).annotate({
    identifier: "IngestJobList"
  })
})
export const getIngestJob = operation({
  ...one,
  ...described.getIngestJob,
  id: "getIngestJob",
  summary: "Get an ingest job",
  method: "GET",
  path: "/v1/ingest/jobs/:jobId",
  success: IngestJob,
  errors: [JobNotFound]
})
export const cancelIngestJob = operation({
  ...one,
  ...described.cancelIngestJob,
  id: "cancelIngestJob",
  summary: "Cancel an ingest job, and its schedule",
  method: "POST",
  path: "/v1/ingest/jobs/:jobId/cancel",
  success: IngestJob,
  errors: [JobNotFound]
})

const uploads = { group: "ingest uploads", plane: "control", scope: "full" } as const
const oneUpload = {
  ...uploads,
  params: { uploadId: Schema.String.annotate({ description: "The id of an upload, `fed_…`." }) }
} as const
const flagText = optionalText((text) => (text === "true" || text === "false" ? undefined : "true or false"))
const uploadQuery = Schema.Struct({
  collection: collectionName,
  format: Schema.Literals(FEED_FORMATS),
  name: optionalText(nameRefusal),
  full: flagText,
  create_collection: flagText,
  confirm_deletes: flagText,
  id_field: Schema.optionalKey(Schema.String)
})
export const uploadIngestFeed = operation({
  ...uploads,
  ...described.uploadIngestFeed,
  id: "uploadIngestFeed",
  summary: "Upload a feed in one request and import it",
  method: "POST",
  path: "/v1/ingest/feeds",
  query: uploadQuery,
  payload: Schema.Unknown,
  payloadIsChecked: false,
  payloadType: "bytes",
  success: IngestJob,
  status: 202,
  errors: [...creationErrors, FeedBusy, FeedTooLarge, LengthRequired]
})
export const createIngestUpload = operation({
  ...uploads,
  ...described.createIngestUpload,
  id: "createIngestUpload",
  summary: "Begin a resumable upload of a feed (tus 1.0)",
  method: "POST",
  path: "/v1/ingest/uploads",
  query: uploadQuery,
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "IngestUploadCreated" }),
  status: 201,
  errors: [...creationErrors, FeedTooLarge, LengthRequired, TusVersionUnknown]
})
const IngestUpload = Schema.Struct({
  id: Schema.String,
  /** Bytes received so far. */ offset: Schema.Int,
  /** Total bytes of the upload. */ length: Schema.Int,
  /** Set once the upload is complete. */ job_id: Schema.optionalKey(Schema.String),
  expires_at: Schema.Int
}).annotate({ identifier: "IngestUpload" })
export const getIngestUpload = operation({
  ...oneUpload,
  ...described.getIngestUpload,
  id: "getIngestUpload",
  summary: "Where a resumable upload stands; HEAD answers the headers alone",
  method: "GET",
  path: "/v1/ingest/uploads/:uploadId",
  success: IngestUpload,
  errors: [...creationErrors, TusVersionUnknown, UploadExpired, UploadNotFound]
})
export const appendIngestUpload = operation({
  ...oneUpload,
  ...described.appendIngestUpload,
  id: "appendIngestUpload",
  summary: "Append to a resumable upload",
  method: "PATCH",
  path: "/v1/ingest/uploads/:uploadId",
  payload: Schema.Unknown,
  payloadIsChecked: false,
  payloadType: "bytes",
  payloadMedia: ["application/offset+octet-stream"],
  status: 204,
  errors: [
    ...creationErrors,
    ChecksumMismatch,
    FeedBusy,
    FeedTooLarge,
    TusVersionUnknown,
    UploadExpired,
    UploadNotFound,
    UploadOffsetWrong
  ]
})
export const deleteIngestUpload = operation({
  ...oneUpload,
  ...described.deleteIngestUpload,
  id: "deleteIngestUpload",
  summary: "Cancel a resumable upload",
  method: "DELETE",
  path: "/v1/ingest/uploads/:uploadId",
  status: 204,
  errors: [TusVersionUnknown, UploadNotFound]
})
