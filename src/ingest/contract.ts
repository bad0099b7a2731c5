/** Reindex and the jobs it makes (spec part 4, contract part 4). */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import { IngestJob } from "./schema.ts"
import { CollectionMissing, JobNotFound, ReindexInProgress } from "./errors.ts"
import { described } from "./examples.ts"

export const reindexCollection = operation({
  ...described.reindexCollection,
  id: "reindexCollection",
  group: "collections",
  summary: "Export every document and import it back",
  method: "POST",
  path: "/v1/collections/:collectionName/reindex",
  plane: "control",
  scope: "full",
  payload: Schema.Struct({
    action: Schema.optionalKey(Schema.Literals(["create", "upsert", "update", "emplace"]))
  }).annotate({ identifier: "ReindexBody" }),
  success: IngestJob,
  status: 202,
  errors: [CollectionMissing, ReindexInProgress]
})
const at = { group: "ingest jobs", plane: "control", scope: "full" } as const
const one = {
  ...at,
  params: { jobId: Schema.String.annotate({ description: "The id of an ingest job, `job_…`." }) }
} as const
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
  summary: "Cancel an ingest job",
  method: "POST",
  path: "/v1/ingest/jobs/:jobId/cancel",
  success: IngestJob,
  errors: [JobNotFound]
})
