/** Outbound events, until they are sent. */
import { expireOutbox } from "./outbox-retention.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "outbox",
  expiries: [expireOutbox]
})
