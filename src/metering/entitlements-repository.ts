/** Plan, quota and overage of organizations, for the in-memory copy in `Entitlements`. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"

interface EntitlementRow {
  readonly id: string
  readonly plan: string
  readonly quota_units: number | null
  readonly has_overage: boolean
}

export const makeEntitlementsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    read: (subjects: ReadonlyArray<Subject> | "all") =>
      sql<EntitlementRow>`SELECT id, plan, quota_units::float8 AS quota_units, has_overage FROM organizations WHERE ${subjects === "all" ? sql`true` : sql`id = ANY(${subjects.map(({ id }) => id)}::text[])`}`,
    /** False if the organization does not exist. */
    update: ({ has_overage, id, plan, quota_units }: EntitlementRow) =>
      Effect.map(
        sql`UPDATE organizations SET plan = ${plan}, quota_units = ${quota_units === null ? null : String(quota_units)}::text::int8, has_overage = ${has_overage} WHERE id = ${id} RETURNING id`,
        (rows) => rows.length > 0
      )
  }
})
