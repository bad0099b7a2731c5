/** Search parameters that profiles and requests build on. */
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"
import { migrations } from "./migrations.ts"
import { routes } from "./routes.ts"
import { SearchPolicies } from "./search-policies.ts"

export const room = defineRoom({
  name: "policies",
  routes,
  errorSamples,
  migrations,
  groups: { "search policies": "Search parameters below those of profiles and requests." },
  reaches: {
    listSearchPolicies: "organization",
    getSearchPolicy: "organization",
    upsertSearchPolicy: "organization",
    deleteSearchPolicy: "organization"
  },
  roles: {
    listSearchPolicies: "member",
    getSearchPolicy: "member",
    upsertSearchPolicy: "admin",
    deleteSearchPolicy: "admin"
  },
  seeds: { upsertSearchPolicy: [{ params: { num_typos: "1", query_by: "title" } }, { params: { per_page: 5 } }] },
  layer: SearchPolicies.layer,
  audited: {
    search_policy: (sql, { id, organizationId }) =>
      sql`SELECT row_to_json(t)::text AS row FROM search_policies t WHERE organization_id = ${organizationId} AND name = ${id}`
  }
})
