/** Organizations, created and changed by the operator. */
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "tenants",
  routes,
  groups: { organizations: "Tenants, for who runs the installation." },
  seeds,
  roles: {
    listOrganizations: "member",
    getOrganization: "member",
    createOrganizationKey: "admin"
  }
})
