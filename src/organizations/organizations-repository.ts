/** Rows of organizations, one function per statement. Times are cast to float8 so that they arrive as numbers. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"
import type { OrganizationRecord } from "./organization.ts"

interface OrganizationRow extends Omit<OrganizationRecord, "paused_reason"> {
  readonly paused_reason: "payment" | "manual" | null
}
const organizationOfRow = (row: OrganizationRow): OrganizationRecord => ({
  ...row,
  paused_reason: row.paused_reason ?? undefined
})

export const makeOrganizationsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const named = (subjects: ReadonlyArray<Subject> | "all") =>
    subjects === "all" ? sql`true` : sql`id = ANY(${subjects.map(({ id }) => id)}::text[])`
  return {
    organizations: (subjects: ReadonlyArray<Subject> | "all") =>
      Effect.map(
        sql<OrganizationRow>`SELECT id, name, status, paused_reason, plan, created_at::float8 AS created_at FROM organizations WHERE ${named(subjects)} ORDER BY created_at, id`,
        (rows) => rows.map(organizationOfRow)
      ),
    /** Locks it until the transaction ends. */
    lock: (id: string) =>
      Effect.map(
        sql<OrganizationRow>`SELECT id, name, status, paused_reason, plan, created_at::float8 AS created_at FROM organizations WHERE id = ${id} FOR UPDATE`,
        ([row]) => (row === undefined ? undefined : organizationOfRow(row))
      ),
    insert: (organization: OrganizationRecord) =>
      sql`INSERT INTO organizations (id, name, status, paused_reason, plan, created_at)
        VALUES (${organization.id}, ${organization.name}, ${organization.status}, ${organization.paused_reason ?? null}, ${organization.plan}, ${organization.created_at})`,
    update: (organization: OrganizationRecord) =>
      sql`UPDATE organizations SET name = ${organization.name}, status = ${organization.status}, paused_reason = ${organization.paused_reason ?? null}, plan = ${organization.plan} WHERE id = ${organization.id}`
  }
})
