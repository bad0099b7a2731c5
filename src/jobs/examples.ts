/** Descriptions of the operations of jobs, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"
import { sampleIds } from "../api/sample-ids.ts"

export const described = {
  listJobs: {
    description:
      "Lists jobs of every kind, newest first: ingest jobs, event replays, erasures, pushes of connectors, runs of quality suites, trainings and others. `type` and `status` narrow the list. A page has at most 250, 50 by default.",
    example: { query: { limit: "20", type: "ingest" } }
  },
  getJob: {
    description:
      "Shows a job with its progress from 0 to 1, and its result or error once it is over. An unknown id, or another organization's, is a 404.",
    example: { params: { jobId: sampleIds.job } }
  },
  cancelJob: {
    description:
      "Cancels a job that can still be cancelled and returns it; a finished one is returned as it ended. An erasure, a push, and a replay that is already being swapped in cannot be cancelled: that is a 409.",
    example: { params: { jobId: sampleIds.job } }
  }
} as const satisfies Readonly<Record<string, Described>>
