/** Alerts about figures that cross a threshold. */
import { textIn } from "../http/json-fields.ts"
import type { Seeds } from "../room.ts"
import { defineRoom } from "../room.ts"
import { alertsTable } from "./alerts-repository.ts"
import { Alerts } from "./alerts.ts"
import { routes } from "./routes.ts"
import { expireSearchMinutes, searchMinutesTable } from "./stored-minutes.ts"

const alert = { name: "alert", metric: "searches", op: "<", threshold: 10, window_minutes: 5 }
const seeds: Seeds = { createAlert: [alert, { ...alert, collection: "goods" }], replaceAlert: [alert] }
/** An alert without a collection covers all of them. */
const named = ({ body }: { readonly body: unknown }) => {
  const names = textIn(body, "collection")
  // Invalid JSON is refused later, when it is decoded.
  return names.length === 0 && body !== undefined ? ("organization" as const) : names
}

export const room = defineRoom({
  name: "alerts",
  routes,
  reaches: {
    listAlerts: "filtered",
    createAlert: named,
    getAlert: "filtered",
    replaceAlert: named,
    deleteAlert: "filtered"
  },
  groups: { alerts: "Figures that somebody is told of when they are too high or too low." },
  layer: Alerts.layer,
  features: { alerts: { free: 5, standard: 100, unlimited: 1_000 } },
  roles: {
    listAlerts: "member",
    createAlert: "admin",
    getAlert: "member",
    replaceAlert: "admin",
    deleteAlert: "admin"
  },
  seeds,
  audited: {
    alert: (sql, { id, organizationId }) =>
      sql`SELECT json_build_object('id', id, 'name', name, 'metric', metric, 'op', op, 'threshold', threshold, 'window_minutes', window_minutes, 'collection', collection, 'enabled', enabled, 'updated_at', updated_at)::text AS row
        FROM alerts WHERE organization_id = ${organizationId} AND id = ${id}`
  },
  expiries: [(rowsMax) => expireSearchMinutes(rowsMax)],
  migrations: { "2026112312_search_minutes": searchMinutesTable, "2026112313_alerts": alertsTable }
})
