/** Jobs of every kind (contract part 0); ingest jobs are seen here as well. Full key. */
import { Schema } from "effect"
import { operation } from "../wire/operation.ts"
import { Job, JobList } from "./schema.ts"

const at = { group: "jobs", plane: "control", scope: "full" } as const
export const listJobs = operation({
  ...at, id: "listJobs", summary: "List jobs, newest first", method: "GET", path: "/v1/jobs",
  query: Schema.Struct({ type: Schema.optionalKey(Schema.String), status: Schema.optionalKey(Schema.String), limit: Schema.optionalKey(Schema.String), cursor: Schema.optionalKey(Schema.String) }), success: JobList
})
export const getJob = operation({ ...at, id: "getJob", summary: "Get a job with its result or error", method: "GET", path: "/v1/jobs/:jobId", success: Job, errors: [404] })
export const cancelJob = operation({ ...at, id: "cancelJob", summary: "Cancel a job that can still be taken back", method: "POST", path: "/v1/jobs/:jobId/cancel", success: Job, errors: [404, 409] })
