/** Rows of search policies. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"

export interface StoredPolicy {
  readonly organization_id: string
  readonly name: string
  readonly params: Readonly<Record<string, string | number | boolean>>
  /** Unix milliseconds. */ readonly created_at: number
  readonly updated_at: number
}
export interface PolicyRow extends Omit<StoredPolicy, "params"> {
  readonly params: unknown
}
/** Values larger than a policy's maximum are not read. */
const COLUMNS =
  "organization_id, name, CASE WHEN bytes > 1000000 THEN NULL ELSE params END AS params, created_at::float8 AS created_at, updated_at::float8 AS updated_at"

export const makePoliciesRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    /** `id` of a subject: the name. */
    read: (subjects: ReadonlyArray<Subject> | "all") =>
      subjects === "all"
        ? sql.unsafe<PolicyRow>(`SELECT ${COLUMNS} FROM search_policies`)
        : sql.unsafe<PolicyRow>(
            `SELECT ${COLUMNS} FROM search_policies WHERE (organization_id, name) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
            [subjects.map(({ organizationId }) => organizationId), subjects.map(({ id }) => id)]
          ),
    /** Until the transaction ends, no profile starts to name a policy, and none is deleted. */
    lock: (organizationId: string) =>
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${`search policies of ${organizationId}`}, 0))`,
    exists: (organizationId: string, name: string) =>
      Effect.map(
        sql`SELECT 1 FROM search_policies WHERE organization_id = ${organizationId} AND name = ${name}`,
        (rows) => rows.length > 0
      ),
    upsert: ({ created_at, name, organization_id, params, updated_at }: StoredPolicy) =>
      sql`INSERT INTO search_policies (organization_id, name, params, created_at, updated_at)
        VALUES (${organization_id}, ${name}, ${JSON.stringify(params)}::text::json, ${String(created_at)}::text::int8, ${String(updated_at)}::text::int8)
        ON CONFLICT (organization_id, name) DO UPDATE SET params = EXCLUDED.params, updated_at = EXCLUDED.updated_at`,
    remove: (organizationId: string, name: string) =>
      sql`DELETE FROM search_policies WHERE organization_id = ${organizationId} AND name = ${name}`,
    /** Profiles whose draft or active release names the policy, at most 100. */
    usedBy: (organizationId: string, name: string) =>
      sql<{
        readonly collection: string
        readonly name: string
      }>`SELECT p.collection, p.name FROM search_profiles p LEFT JOIN search_profile_releases r ON r.id = p.active_release_id AND r.organization_id = p.organization_id
        WHERE p.organization_id = ${organizationId} AND (p.manifest->>'search_policy' = ${name} OR r.manifest->>'search_policy' = ${name}) ORDER BY p.collection, p.name LIMIT 100`
  }
})
