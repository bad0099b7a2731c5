/** What was promised to be told, until it is. */
import { expireOutbox } from "./outbox-retention.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "outbox",
  expiries: [expireOutbox]
})
