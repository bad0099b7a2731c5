/** The guide without a running program: its API pages are generated from the declared contracts. */
import { twinId } from "../../console/twins.ts"
import { allOperations } from "../../declared-operations.ts"
import { rooms } from "../../rooms.ts"
import { apiDocuments } from "../routes.ts"
import type { ApiDocument } from "./api-pages.ts"
import { GuideSite } from "./site.ts"

export const declaredSite = async (): Promise<GuideSite> => {
  const operations = await allOperations()
  const roles = new Map(
    [...rooms.table("roles")].flatMap(([id, role]) => [[id, role] as const, [twinId(id), role] as const])
  )
  const { gateway, tenant } = apiDocuments(operations, { groups: rooms.table("groups"), roles })
  return new GuideSite(() => JSON.parse(JSON.stringify([tenant, gateway])) as ReadonlyArray<ApiDocument>)
}
