/** Organizations; the operator's operations on them are in the room `tenants`. */
import { Organizations } from "./organizations.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "organizations",
  layer: Organizations.layer,
  audited: {
    organization: (sql, { id }) => sql`SELECT row_to_json(t)::text AS row FROM organizations t WHERE id = ${id}`
  }
})
