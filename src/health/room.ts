/** Whether everything works. */
import { Health } from "./health.ts"
import { routes } from "./routes.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "health",
  routes,
  groups: { health: "Probes, and the operator's view of every part." },
  layer: Health.layer()
})
