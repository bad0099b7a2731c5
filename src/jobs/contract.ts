/** Jobs of every kind; ingest jobs are listed here as well. Full key. */
import { Schema } from "effect"
import { optionalText } from "../http/checks.ts"
import { operation } from "../http/operation.ts"
import { pageLimit } from "../http/page.ts"
import { Job, JOB_STATUSES, JobList } from "./schema.ts"
import { Conflict, NotFound } from "../http/errors.ts"
import { described } from "./examples.ts"

const nameRefusal = (text: string): string | undefined =>
  /^[a-zA-Z0-9_]{1,64}$/.test(text) ? undefined : "Letters, digits and `_`"

const at = { group: "jobs", plane: "control", scope: "full" } as const
const one = { ...at, params: { jobId: Schema.String.annotate({ description: "The id of a job, `job_…`." }) } } as const
export const listJobs = operation({
  ...at,
  ...described.listJobs,
  id: "listJobs",
  summary: "List jobs, newest first",
  method: "GET",
  path: "/v1/jobs",
  query: Schema.Struct({
    type: optionalText(nameRefusal),
    status: optionalText((text) =>
      (JOB_STATUSES as ReadonlyArray<string>).includes(text) ? undefined : `One of ${JOB_STATUSES.join(", ")}`
    ),
    limit: pageLimit({ max: 250, byDefault: 50 }),
    cursor: optionalText(nameRefusal)
  }),
  success: JobList
})
export const getJob = operation({
  ...one,
  ...described.getJob,
  id: "getJob",
  summary: "Get a job with its result or error",
  method: "GET",
  path: "/v1/jobs/:jobId",
  success: Job,
  errors: [NotFound]
})
export const cancelJob = operation({
  ...one,
  ...described.cancelJob,
  id: "cancelJob",
  summary: "Cancel a job",
  method: "POST",
  path: "/v1/jobs/:jobId/cancel",
  success: Job,
  errors: [Conflict, NotFound]
})
