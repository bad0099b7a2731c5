/** Rows of search rule sets. One function per statement. */
import { emptyRuleSet, type RuleSet } from "@dowser/engine-sdk/rules"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"

export interface StoredRuleSet {
  readonly organization_id: string
  /** The real name. */ readonly collection: string
  /** Unix seconds: when the collection was created. */ readonly collection_created_at: number
  readonly ruleSet: RuleSet
  /** Unix milliseconds. */ readonly updated_at: number
}
/** More than a set may have (`LIST_BYTES_MAX`), and more than older programs accepted. */
const READ_BYTES_MAX = 16_000_000
/** The stored form; a set that is too large to read is null. */
export type RuleSetRow = Omit<StoredRuleSet, "ruleSet"> & { readonly rule_set: unknown }
/** A set that an older program stored lacks newer fields. */
export const ruleSetOf = (stored: Partial<RuleSet>): RuleSet => ({ ...emptyRuleSet, ...stored })

export const makeRuleSetsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    /** `id` of a subject: the collection. */
    read: (subjects: ReadonlyArray<Subject> | "all") =>
      sql<RuleSetRow>`SELECT organization_id, collection, collection_created_at::float8 AS collection_created_at, CASE WHEN bytes > ${READ_BYTES_MAX}::int4 THEN NULL ELSE rule_set END AS rule_set, updated_at::float8 AS updated_at FROM search_rule_sets
        WHERE ${subjects === "all" ? sql`true` : sql`(organization_id, collection) IN (SELECT * FROM unnest(${subjects.map(({ organizationId }) => organizationId)}::text[], ${subjects.map(({ id }) => id)}::text[]))`}`,
    /** Until the transaction ends, nobody else writes or removes the rules of the collection. */
    lock: (organizationId: string, collection: string) =>
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${`search rules of ${organizationId}/${collection}`}, 0))`,
    upsert: (stored: StoredRuleSet) =>
      sql`INSERT INTO search_rule_sets (organization_id, collection, collection_created_at, rule_set, updated_at)
        VALUES (${stored.organization_id}, ${stored.collection}, ${stored.collection_created_at}, ${JSON.stringify(stored.ruleSet)}::text::json, ${stored.updated_at})
        ON CONFLICT (organization_id, collection) DO UPDATE SET collection_created_at = EXCLUDED.collection_created_at, rule_set = EXCLUDED.rule_set, updated_at = EXCLUDED.updated_at`,
    remove: (organizationId: string, collection: string) =>
      sql`DELETE FROM search_rule_sets WHERE organization_id = ${organizationId} AND collection = ${collection}`
  }
})
