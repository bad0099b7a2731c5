/** What shops count, log and publish from their events. */
import { isObject, textIn } from "../http/json-fields.ts"
import { expireRuleEvents } from "./events-retention.ts"
import { layerRulesPublisher } from "./publisher.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"

const namedInRule = (body: unknown): ReadonlyArray<string> => [
  ...textIn(body, "collection"),
  ...textIn(isObject(body) ? body.params : undefined, "destination_collection")
]

export const room = defineRoom({
  name: "analytics-rules",
  routes,
  reaches: {
    listAnalyticsRules: "filtered",
    createAnalyticsRule: ({ body }) => (Array.isArray(body) ? body : [body]).flatMap(namedInRule),
    getAnalyticsRule: "filtered",
    upsertAnalyticsRule: ({ body }) => namedInRule(body),
    deleteAnalyticsRule: "filtered",
    getAnalyticsEvents: "filtered"
  },
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
