/** The demo shop. */
import { Demo } from "./demo.ts"
import { routes } from "./routes.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "demo",
  routes,
  groups: { demo: "The demo shop." },
  layer: Demo.layer
})
