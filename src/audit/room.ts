/** The audit log: who changed what. */
import { expireAudit } from "./audit-repository.ts"
import { routes } from "./routes.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "audit",
  routes,
  reaches: { listAudit: "organization" },
  groups: { audit: "Who changed what, and when." },
  roles: { listAudit: "admin" },
  expiries: [(rowsMax) => expireAudit(rowsMax)]
})
