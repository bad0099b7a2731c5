/** One sample, or several where a fact changes the answer, of every error that the room declares. */
import type { ErrorSample } from "../room.ts"
import { CollectionMissing, JobNotFound, ReindexInProgress } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["JobNotFound", new JobNotFound({ message: "Job job_1 does not exist." })],
  [
    "ReindexInProgress",
    new ReindexInProgress({ message: "A reindex of `products` is queued or running: job_1.", job_id: "job_1" })
  ],
  ["CollectionMissing", new CollectionMissing({ message: "Collection not found" })]
]
