/** Long work: how far it is, and its end. */
import { Jobs } from "./jobs.ts"
import { expireJobs } from "./jobs-retention.ts"
import { routes } from "./routes.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "jobs",
  routes,
  reaches: { listJobs: "filtered", getJob: "filtered", cancelJob: "filtered" },
  groups: { jobs: "Everything that goes on after its request was answered." },
  layer: Jobs.layer,
  expiries: [(rowsMax) => expireJobs(rowsMax)]
})
