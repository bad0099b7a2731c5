/** Imports that are fetched. */
import { Ingest } from "./ingest.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"

export const room = defineRoom({
  name: "ingest",
  routes,
  errorSamples,
  reaches: {
    reindexCollection: "path",
    listIngestJobs: "filtered",
    getIngestJob: "filtered",
    cancelIngestJob: "filtered"
  },
  groups: { "ingest jobs": "Jobs that write many documents." },
  seeds,
  layer: Ingest.layer
})
