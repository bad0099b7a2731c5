/** Organizations, made and changed by the operator. */
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "organizations",
  routes,
  groups: { organizations: "Tenants, for who runs the installation." },
  seeds,
  audited: {
    organization: (sql, { id }) => sql`SELECT row_to_json(t)::text AS row FROM organizations t WHERE id = ${id}`
  },
  roles: {
    listOrganizations: "member",
    getOrganization: "member",
    createOrganizationKey: "admin"
  }
})
