/**
 * The most popular documents of a collection among its visitors, for searches that find nothing. Cached in memory and
 * refreshed in the background, because no search waits for Postgres: right after a start the list is unknown, and the
 * caller falls back to another order.
 */
import { Clock, Context, Effect, FiberSet, Layer } from "effect"
import { BoundedMap } from "@dowser/engine-sdk/host"
import { SqlClient } from "effect/sql"
import { CatalogResources } from "../engine-plane/resources.ts"
import { DAY_MS, GRAINS } from "@dowser/streams/figures/grain"

/** A page never shows more of a fallback than the window of 250 hits. */
const IDS_MAX = 250
const DAYS = 30
const FRESH_MS = 60_000
/** For all collections together; the one read longest ago is evicted first. */
const BYTES_MAX = 32_000_000

interface CachedDocuments {
  readonly ids: ReadonlyArray<string>
  readonly asked_at: number
}

export class PopularDocuments extends Context.Service<
  PopularDocuments,
  {
    /** Best first, at most 250; empty while unknown. Never waits; starts a refresh when a minute has passed. O(1). */
    readonly ids: (organizationId: string, collection: string) => ReadonlyArray<string>
    /** Resolves when they are known, or could not be read, which is only logged. */
    readonly refresh: (organizationId: string, collection: string) => Effect.Effect<void>
  }
>()("dowser/analytics/PopularDocuments") {
  static readonly layer: Layer.Layer<PopularDocuments, never, CatalogResources | SqlClient.SqlClient> = Layer.effect(
    PopularDocuments,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const resources = yield* CatalogResources
      const clock = yield* Clock.Clock
      const fork = yield* FiberSet.makeRuntime<never>()
      const known = new BoundedMap<string, CachedDocuments>({
        bytes_max: BYTES_MAX,
        bytesOf: (key, { ids }) => ids.reduce((sum, id) => sum + 32 + 2 * id.length, 2 * key.length)
      })
      const keyOf = (organizationId: string, collection: string) => `${organizationId}\n${collection}`

      /**
       * Decision: over the last thirty days a view counts one, a click two, a cart five, a purchase ten: purchases
       * are the strongest signal, and a shop without purchases still gets an order. Events name the collection or one
       * of its aliases.
       */
      const read = (organizationId: string, collection: string, now_ms: number) => sql<{
        readonly document_id: string
      }>`
      SELECT document_id FROM analytics_product_rollup
      WHERE organization_id = ${organizationId} AND grain = ${GRAINS.day} AND bucket_at >= ${Math.floor(now_ms / DAY_MS - DAYS + 1) * DAY_MS}
        AND collection IN ${sql.in([
          collection,
          ...resources
            .list(organizationId, "alias")
            .filter(({ collection_name }) => collection_name === collection)
            .map(({ name }) => name)
        ])}
      GROUP BY document_id HAVING sum(views + 2 * clicks + 5 * add_to_carts + 10 * purchases) > 0
      ORDER BY sum(views + 2 * clicks + 5 * add_to_carts + 10 * purchases) DESC, document_id LIMIT ${IDS_MAX}`
      const refresh = (organizationId: string, collection: string): Effect.Effect<void> =>
        Effect.suspend(() => {
          const asked_at = clock.currentTimeMillisUnsafe(),
            key = keyOf(organizationId, collection)
          // Recorded immediately, so that searches in the meantime do not start another refresh.
          known.set(key, { ids: known.get(key)?.ids ?? [], asked_at })
          return Effect.matchEffect(read(organizationId, collection, asked_at), {
            onFailure: (error) =>
              Effect.logError(
                "The popular documents of a collection could not be read; asked again in a minute",
                error
              ),
            onSuccess: (rows) =>
              Effect.sync(() => known.set(key, { ids: rows.map(({ document_id }) => document_id), asked_at }))
          })
        })
      return PopularDocuments.of({
        ids: (organizationId, collection) => {
          const found = known.get(keyOf(organizationId, collection))
          if (found === undefined || clock.currentTimeMillisUnsafe() - found.asked_at >= FRESH_MS)
            fork(refresh(organizationId, collection))
          return found?.ids ?? []
        },
        refresh
      })
    })
  )
}
