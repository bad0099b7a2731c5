/** What shops count, log and publish of their events. */
import { expireRuleEvents } from "./events-retention.ts"
import { layerRulesPublisher } from "./publisher.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "analytics-rules",
  routes,
  groups: { "analytics rules": "Rules that count or keep events." },
  seeds,
  engineGroups: ["analytics rules"],
  layer: layerRulesPublisher(),
  audited: {
    analytics_rule: (sql, { id, organizationId }) =>
      sql`SELECT row_to_json(t)::text AS row FROM analytics_rules t WHERE organization_id = ${organizationId} AND name = ${id}`
  },
  expiries: [(rowsMax) => expireRuleEvents(rowsMax)]
})
