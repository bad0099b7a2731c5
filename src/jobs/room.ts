/** Long work: how far it is, and its end. */
import { Jobs } from "./jobs.ts"
import { expireJobs } from "./jobs-retention.ts"
import { routes } from "./routes.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "jobs",
  routes,
  layer: Jobs.layer,
  expiries: [(rowsMax) => expireJobs(rowsMax)]
})
