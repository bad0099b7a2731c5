/** The models that the program runs itself. Other rooms use them through the port. */
import { defineRoom } from "../room.ts"
import { metrics } from "./metrics.ts"

export const room = defineRoom({ name: "models", metrics })
