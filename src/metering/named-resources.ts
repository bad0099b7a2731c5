/**
 * Caps of named resources: presets, synonym and curation sets with their items, stopword sets, stemming dictionaries,
 * aliases, rules of searches and of analytics, experiments, search policies and profiles (whose releases count by their
 * bytes). They are counted in the transaction of the write, under the lock of the organization's row, so that the last
 * slot is given only once, by whichever process. The summed columns are maintained by the database (migration 37, and
 * those of the rooms).
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Entitlements } from "./entitlements.ts"
import type { FeatureNotInPlan } from "./errors.ts"

/**
 * Decision: the same for every plan, because every process reads a complete value, keeps it, and reads it again at each
 * start: 64 kB for a preset, an alias, a stopword set, an analytics rule and an item of a set; 1 MB for lists: a
 * stemming dictionary, an entire set of synonyms or curations, the search rules of a collection.
 */
export const VALUE_BYTES_MAX = 65_536
export const LIST_BYTES_MAX = 1_048_576

/** Bytes of a value as it is stored. */
export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "")

interface KeptResources {
  readonly items: number
  readonly bytes: number
}

export const makeNamedResources = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const entitlements = yield* Entitlements
  const kept = (organizationId: string) =>
    Effect.map(
      sql<KeptResources>`SELECT coalesce(sum(items), 0)::float8 AS items, coalesce(sum(bytes), 0)::float8 AS bytes FROM (
      SELECT items, bytes FROM engine_resources WHERE organization_id = ${organizationId}
      UNION ALL SELECT 1, bytes FROM search_rule_sets WHERE organization_id = ${organizationId}
      UNION ALL SELECT 1, bytes FROM analytics_rules WHERE organization_id = ${organizationId}
      UNION ALL SELECT 1, bytes FROM search_policies WHERE organization_id = ${organizationId}
      UNION ALL SELECT 1, bytes FROM experiments WHERE organization_id = ${organizationId}
      UNION ALL SELECT 1, bytes FROM search_profiles WHERE organization_id = ${organizationId}
      UNION ALL SELECT 0, bytes FROM search_profile_releases WHERE organization_id = ${organizationId}) AS each`,
      ([row]) => row!
    )
  return {
    kept,
    /**
     * Runs inside the write's transaction: fails if the change adds more than the plan allows. Changes that shrink or
     * only replace are allowed even beyond it.
     */
    within: Effect.fnUntraced(function* <A, E>(
      organizationId: string,
      change: Effect.Effect<A, E>
    ): Effect.fn.Return<A, E | FeatureNotInPlan | SqlError.SqlError> {
      const items = entitlements.cap(organizationId, "named_resources"),
        bytes = entitlements.cap(organizationId, "named_resource_bytes")
      if (items.max === Infinity && bytes.max === Infinity) return yield* change
      yield* sql`SELECT 1 FROM organizations WHERE id = ${organizationId} FOR NO KEY UPDATE`
      const before = yield* kept(organizationId)
      const answer = yield* change
      const after = yield* kept(organizationId)
      if (after.items > Math.max(items.max, before.items)) return yield* items.refusal
      if (after.bytes > Math.max(bytes.max, before.bytes)) return yield* bytes.refusal
      return answer
    })
  }
})
