/** How much an organization stores, or has used over time, of each feature that its plan limits. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Engine, EngineAbsence } from "../ports/engine/engine.ts"
import type { KeptFeature } from "./plans.ts"
import { makeNamedResources } from "./named-resources.ts"
import { WindowedCaps } from "./windowed-caps.ts"

type Usage = { readonly [F in KeptFeature]?: number }
type EngineUse = Pick<Usage, "collections" | "documents" | "stored_bytes">

/** The engine's totals are summed over collections, for one organization at most once within this time. */
const SUMMED_EVERY_MS = 3_000
const SUMS_MAX = 1_000

export const makeUsage = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const engine = yield* Engine
  const absence = yield* EngineAbsence
  const caps = yield* WindowedCaps
  const resources = yield* makeNamedResources
  const clock = yield* Clock.Clock
  const sums = new Map<string, { readonly at: number; readonly use: EngineUse }>()
  /** Empty without an engine, because this process cannot know. O(collections). */
  const engineUse = (organizationId: string): EngineUse => {
    if (absence() !== undefined) return {}
    const now = clock.currentTimeMillisUnsafe(),
      known = sums.get(organizationId)
    if (known !== undefined && now >= known.at && now - known.at < SUMMED_EVERY_MS) return known.use
    const collections = engine.listCollections(organizationId)
    let documents = 0,
      stored_bytes = 0
    for (const {
      schema: { name }
    } of collections) {
      const usage = engine.usage(organizationId, name)
      documents += usage?.documents ?? 0
      stored_bytes += usage?.document_bytes ?? 0
    }
    const use = { collections: collections.length, documents, stored_bytes }
    sums.delete(organizationId)
    sums.set(organizationId, { at: now, use })
    if (sums.size > SUMS_MAX)
      for (const oldest of sums.keys()) {
        sums.delete(oldest)
        break
      }
    return use
  }
  return Effect.fnUntraced(function* (organizationId: string) {
    const [rows, named, browser_keys_per_hour, event_bytes_per_day] = yield* Effect.all(
      [
        Effect.orDie(sql<{ readonly api_keys: number; readonly webhooks: number; readonly members: number }>`SELECT
        (SELECT count(*) FROM api_keys WHERE organization_id = ${organizationId} AND revoked_at IS NULL AND scope <> 'installation')::float8 AS api_keys,
        (SELECT count(*) FROM webhook_endpoints WHERE organization_id = ${organizationId})::float8 AS webhooks,
        (SELECT count(*) FROM members WHERE organization_id = ${organizationId})::float8 AS members`),
        Effect.orDie(resources.kept(organizationId)),
        caps.browser_keys_per_hour.used(organizationId),
        caps.event_bytes_per_day.used(organizationId)
      ],
      { concurrency: "unbounded" }
    )
    const { api_keys, members, webhooks } = rows[0]!
    return {
      api_keys,
      webhooks,
      ...engineUse(organizationId),
      named_resources: named.items,
      named_resource_bytes: named.bytes,
      members,
      browser_keys_per_hour,
      event_bytes_per_day
    } satisfies Usage
  })
})
