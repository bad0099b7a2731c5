/** Threads between visitors and the people of a shop. */
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"
import { supportTables } from "./migration.ts"
import { routes } from "./routes.ts"
import { expireThreads } from "./support-repository.ts"
import { Support } from "./support.ts"

export const room = defineRoom({
  name: "support",
  routes,
  groups: { support: "Threads between visitors and the people of a shop, live both ways." },
  layer: Support.layer,
  reaches: {
    listSupportThreads: "session",
    createSupportThread: "session",
    getSupportThread: "session",
    updateSupportThread: "session",
    deleteSupportThread: "organization",
    listSupportMessages: "session",
    postSupportMessage: "session",
    streamSupportThread: "session",
    getSupportAttachment: "session"
  },
  features: { support_threads: { free: 1_000, standard: 100_000, unlimited: 1_000_000 } },
  roles: {
    listSupportThreads: "member",
    createSupportThread: "member",
    getSupportThread: "member",
    updateSupportThread: "member",
    deleteSupportThread: "admin",
    listSupportMessages: "member",
    postSupportMessage: "member",
    streamSupportThread: "member",
    getSupportAttachment: "member"
  },
  seeds: {
    createSupportThread: [{ subject: "Where is my lamp?", text: "I ordered it on Monday.", session_id: "ses-1" }],
    updateSupportThread: [{ status: "pending" }, { visitor: { name: "Ada" } }, { assignee_id: null }],
    postSupportMessage: [{ text: "It left the warehouse." }]
  },
  audited: {
    support_thread: (sql, { id, organizationId }) =>
      sql`SELECT json_build_object('id', id, 'session_id', session_id, 'status', status, 'created_at', created_at)::text AS row FROM support_threads WHERE organization_id = ${organizationId} AND id = ${id}`
  },
  errorSamples,
  expiries: [expireThreads],
  migrations: { "2026112721_support": supportTables }
})
