/**
 * Aliases, presets, synonym and curation sets, stopwords and stemming dictionaries of every organization: rows in
 * Postgres, read once at start, in memory afterwards, because every search needs several. A write is durable before it
 * is seen.
 */
import { memoryResources, type ResourceKind, type ResourceKinds, type Resources } from "../../engine-sdk/src/operations/mod.ts"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"

/** What a row holds: only stemming dictionaries are not JSON as they stand. */
const toRow = (kind: ResourceKind, value: unknown): unknown => kind === "stemming_dictionary" ? { ...value as ResourceKinds["stemming_dictionary"], words: [...(value as ResourceKinds["stemming_dictionary"]).words] } : value
const fromRow = (kind: ResourceKind, value: unknown): unknown => kind === "stemming_dictionary" ? { ...value as object, words: new Map((value as { readonly words: ReadonlyArray<readonly [string, string]> }).words) } : value

interface Row { readonly organization_id: string; readonly kind: ResourceKind; readonly name: string; readonly value: unknown }

export interface CatalogResourcesShape extends Resources {
  /** Organizations that had any resource at the start. */ readonly stored: ReadonlyArray<string>
}

export class CatalogResources extends Context.Service<CatalogResources, CatalogResourcesShape>()("dowser/catalog/CatalogResources") {
  static readonly layer: Layer.Layer<CatalogResources, never, SqlClient.SqlClient> = Layer.effect(CatalogResources, Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const seen = memoryResources()
    const rows = yield* Effect.orDie(sql<Row>`SELECT organization_id, kind, name, value FROM engine_resources`)
    yield* Effect.promise(async () => { for (const row of rows) await seen.put(row.organization_id, row.kind, row.name, fromRow(row.kind, row.value) as ResourceKinds[ResourceKind]) })
    const stored = [...new Set(rows.map((row) => row.organization_id))]

    const context = yield* Effect.context<never>()
    const run = (effect: Effect.Effect<unknown, unknown>) => Effect.runPromiseWith(context)(Effect.asVoid(Effect.orDie(effect)))
    return CatalogResources.of({
      stored,
      get: seen.get,
      list: seen.list,
      put: async (organizationId, kind, name, value) => {
        await run(sql`INSERT INTO engine_resources (organization_id, kind, name, value) VALUES (${organizationId}, ${kind}, ${name}, ${JSON.stringify(toRow(kind, value))}::text::jsonb)
          ON CONFLICT (organization_id, kind, name) DO UPDATE SET value = EXCLUDED.value`)
        await seen.put(organizationId, kind, name, value)
      },
      remove: async (organizationId, kind, name) => {
        await run(sql`DELETE FROM engine_resources WHERE organization_id = ${organizationId} AND kind = ${kind} AND name = ${name}`)
        await seen.remove(organizationId, kind, name)
      }
    })
  }))
}
