/** The audit log: who changed what. */
import { expireAudit } from "./audit-repository.ts"
import { routes } from "./routes.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "audit",
  routes,
  roles: { listAudit: "admin" },
  expiries: [(rowsMax) => expireAudit(rowsMax)]
})
