/** Whether all parts of the program work. */
import { Health } from "./health.ts"
import { metrics } from "./metrics.ts"
import { routes } from "./routes.ts"
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"

export const room = defineRoom({
  name: "health",
  routes,
  errorSamples,
  groups: { health: "Probes, and the operator's view of every part." },
  layer: Health.layer(),
  metrics
})
