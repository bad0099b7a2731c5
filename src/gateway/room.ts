/** Search for storefronts and installations, in the gateway's own shapes. */
import { routes } from "./routes.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "gateway",
  routes,
  engineGroups: ["gateway search", "gateway documents"]
})
