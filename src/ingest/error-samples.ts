/** A sample of every error that the room declares; several if a fact changes the response. */
import type { ErrorSample } from "../room.ts"
import * as errors from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["JobNotFound", new errors.JobNotFound({ message: "Job job_1 does not exist." })],
  [
    "ReindexInProgress",
    new errors.ReindexInProgress({ message: "A reindex of `products` is queued or running: job_1.", job_id: "job_1" })
  ],
  ["CollectionMissing", new errors.CollectionMissing({ message: "Collection not found" })],
  ["IngestJobsExhausted", new errors.IngestJobsExhausted({ message: "20 ingest jobs wait or are at work." })],
  ["FeedSpaceExhausted", new errors.FeedSpaceExhausted({ message: "Feeds take 2000000000 bytes at most." })],
  ["LengthRequired", new errors.LengthRequired({ message: "Header `Content-Length` is required." })],
  ["FeedTooLarge", new errors.FeedTooLarge({ message: "A feed is at most 500000000 bytes long." })],
  ["UploadNotFound", new errors.UploadNotFound({ message: "Upload fed_1 does not exist." })],
  ["UploadExpired", new errors.UploadExpired({ message: "Upload fed_1 was not finished within 24 hours." })],
  ["UploadOffsetWrong", new errors.UploadOffsetWrong({ message: "The upload stands at 10." })],
  ["TusVersionUnknown", new errors.TusVersionUnknown({ message: "Header `Tus-Resumable: 1.0.0` is required." })],
  ["FeedBusy", new errors.FeedBusy({ message: "Another request writes this upload." })],
  ["ChecksumMismatch", new errors.ChecksumMismatch({ message: "The received bytes do not match the checksum." })]
]
