/**
 * Aliases, presets, synonym and curation sets, stopwords and stemming dictionaries of every organization: rows in
 * Postgres, read once at start, in memory afterwards, because every search needs several. A write is durable before it
 * is seen.
 */
import type { ResourceKind, ResourceKinds, Resources } from "../../engine-sdk/src/operations/mod.ts"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"

/** What a row holds: only stemming dictionaries are not JSON as they stand. */
const toRow = (kind: ResourceKind, value: unknown): unknown => kind === "stemming_dictionary" ? { ...value as ResourceKinds["stemming_dictionary"], words: [...(value as ResourceKinds["stemming_dictionary"]).words] } : value
const fromRow = (kind: ResourceKind, value: unknown): unknown => kind === "stemming_dictionary" ? { ...value as object, words: new Map((value as { readonly words: ReadonlyArray<readonly [string, string]> }).words) } : value

interface Row { readonly organization_id: string; readonly kind: ResourceKind; readonly name: string; readonly value: unknown }

export interface CatalogResourcesShape extends Resources {
  /** Organizations that have any resource. */ readonly namespaces: () => ReadonlyArray<string>
}

export class CatalogResources extends Context.Service<CatalogResources, CatalogResourcesShape>()("dowser/catalog/CatalogResources") {
  static readonly layer: Layer.Layer<CatalogResources, never, SqlClient.SqlClient> = Layer.effect(CatalogResources, Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const organizations = new Map<string, Map<ResourceKind, Map<string, unknown>>>()
    const kindOf = (organizationId: string, kind: ResourceKind): Map<string, unknown> => {
      let kinds = organizations.get(organizationId)
      if (kinds === undefined) organizations.set(organizationId, kinds = new Map())
      let values = kinds.get(kind)
      if (values === undefined) kinds.set(kind, values = new Map())
      return values
    }
    for (const row of yield* Effect.orDie(sql<Row>`SELECT organization_id, kind, name, value FROM engine_resources`)) kindOf(row.organization_id, row.kind).set(row.name, fromRow(row.kind, row.value))

    const context = yield* Effect.context<never>()
    const run = (effect: Effect.Effect<unknown, unknown>) => Effect.runPromiseWith(context)(Effect.asVoid(Effect.orDie(effect)))
    return CatalogResources.of({
      namespaces: () => [...organizations.keys()],
      get: <K extends ResourceKind>(organizationId: string, kind: K, name: string) => organizations.get(organizationId)?.get(kind)?.get(name) as ResourceKinds[K] | undefined,
      list: <K extends ResourceKind>(organizationId: string, kind: K) => [...organizations.get(organizationId)?.get(kind) ?? []].sort(([a], [b]) => a < b ? -1 : 1).map(([, value]) => value as ResourceKinds[K]),
      put: async (organizationId, kind, name, value) => {
        await run(sql`INSERT INTO engine_resources (organization_id, kind, name, value) VALUES (${organizationId}, ${kind}, ${name}, ${JSON.stringify(toRow(kind, value))}::text::jsonb)
          ON CONFLICT (organization_id, kind, name) DO UPDATE SET value = EXCLUDED.value`)
        kindOf(organizationId, kind).set(name, value)
      },
      remove: async (organizationId, kind, name) => {
        await run(sql`DELETE FROM engine_resources WHERE organization_id = ${organizationId} AND kind = ${kind} AND name = ${name}`)
        kindOf(organizationId, kind).delete(name)
      }
    })
  }))
}
