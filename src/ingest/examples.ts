/** What the operations of ingest jobs do, in words, and a request of each that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"
import { sampleIds } from "../api/sample-ids.ts"

export const described = {
  reindexCollection: {
    description:
      "Starts a job that exports every document of a collection and imports it back, so that changed fields and embeddings are picked up; searches go on meanwhile. It answers the job as it is queued. One reindex of a collection runs at a time: another is a 409 that names the job.",
    example: { params: { collectionName: "products" }, body: { action: "upsert" } }
  },
  listIngestJobs: {
    description:
      "Lists ingest jobs, newest first, of the collections that the key reaches. A page has at most 250 (50 by default); `status` keeps those in one state.",
    example: { query: { limit: "20", status: "ready" } }
  },
  getIngestJob: {
    description:
      "Shows an ingest job: its state, its progress from 0 to 1, what it has read, written and refused, and the first 100 errors. Poll it until `status` is `ready`, `failed` or `cancelled`. An unknown id is a 404.",
    example: { params: { jobId: sampleIds.job } }
  },
  cancelIngestJob: {
    description:
      "Stops an ingest job that is not over; what it has written stays. A job that is over is answered as it ended. An unknown id is a 404.",
    example: { params: { jobId: sampleIds.job } }
  }
} as const satisfies Readonly<Record<string, Described>>
