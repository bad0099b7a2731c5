/** Merchandising rules of a collection's searches. */
import { SearchRules } from "./search-rules.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"

export const room = defineRoom({
  name: "rules",
  routes,
  errorSamples,
  reaches: { getSearchRule: "path", upsertSearchRule: "path", deleteSearchRule: "path", previewSearchRule: "path" },
  groups: { "search rules": "Merchandising of a collection, and its preview." },
  seeds,
  engineGroups: ["search rules"],
  layer: SearchRules.layer,
  audited: {
    search_rule_set: (sql, { id, organizationId }) =>
      sql`SELECT rule_set::text AS row FROM search_rule_sets WHERE organization_id = ${organizationId} AND collection = ${id}`
  }
})
