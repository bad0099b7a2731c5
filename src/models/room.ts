/** The models that the program runs itself. What is done with them, other rooms do through the port. */
import { defineRoom } from "../room.ts"
import { metrics } from "./metrics.ts"

export const room = defineRoom({ name: "models", metrics })
