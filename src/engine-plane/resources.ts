/**
 * Aliases, presets, synonym and curation sets, stopwords and stemming dictionaries of all organizations: rows in
 * Postgres, cached in memory because every search needs several, and re-read after a write by any process
 * (`Configuration`). A write is durable before it is visible.
 */
import type { ResourceKind, ResourceKinds, Resources } from "@dowser/engine-sdk/operations"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { CurrentOrigin, type Origin, systemOrigin } from "../identity/origin.ts"
import { Configuration } from "../configuration/configuration.ts"
import type { EngineRefusal } from "../http/errors.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import { makeNamedResources } from "../metering/named-resources.ts"
import { keepResources } from "./resource-memory.ts"
import { fromRow, resourceOf, type Row, subjectOf, tooLarge, toRow } from "./resource-rows.ts"

export { resourceOf }

interface CatalogResourcesShape extends Resources {
  /** Organizations that have a resource, or had one since the start. */
  readonly organizations: () => ReadonlyArray<string>
  /** The same resources, with writes recorded for `origin`: the engine package calls them outside the actor's fiber. */
  readonly on: (origin: Origin) => Resources
}

/** Writes rows on behalf of an actor; the engine package expects promises. */
const makeWrites = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const configuration = yield* Configuration
  const named = yield* makeNamedResources
  const { memory, organizations } = yield* keepResources
  const context = yield* Effect.context<never>()
  const write = <A>(
    origin: Origin,
    organizationId: string,
    kind: ResourceKind,
    name: string,
    statement: Effect.Effect<A, SqlError.SqlError | EngineRefusal>
  ): Promise<A> =>
    Effect.runPromiseWith(context)(
      Effect.provideService(
        configuration.write(
          { kind: "engine_resource", organizationId, id: subjectOf(kind, name) },
          named.within(organizationId, statement)
        ),
        CurrentOrigin,
        origin
      )
    )
  const stored = (organizationId: string, kind: ResourceKind, name: string, value: unknown) =>
    Effect.suspend((): Effect.Effect<unknown, SqlError.SqlError | EngineRefusal> => {
      const row = toRow(kind, value)
      const refusal = tooLarge(kind, row)
      if (refusal !== undefined) return Effect.fail(refusal)
      return sql`INSERT INTO engine_resources (organization_id, kind, name, value) VALUES (${organizationId}, ${kind}, ${name}, ${JSON.stringify(row)}::text::jsonb)
    ON CONFLICT (organization_id, kind, name) DO UPDATE SET value = EXCLUDED.value`
    })
  const on = (origin: Origin): Resources => ({
    get: (organizationId, kind, name) => memory().get(organizationId, kind, name),
    list: (organizationId, kind) => memory().list(organizationId, kind),
    put: (organizationId, kind, name, value) =>
      write(origin, organizationId, kind, name, Effect.asVoid(stored(organizationId, kind, name, value))),
    change: <K extends ResourceKind>(
      organizationId: string,
      kind: K,
      name: string,
      make: (value: ResourceKinds[K] | undefined) => ResourceKinds[K] | undefined
    ) =>
      write(
        origin,
        organizationId,
        kind,
        name,
        Effect.gen(function* () {
          const rows = yield* sql<
            Pick<Row, "value">
          >`SELECT value FROM engine_resources WHERE organization_id = ${organizationId} AND kind = ${kind} AND name = ${name} FOR UPDATE`
          const value = make(rows[0] === undefined ? undefined : (fromRow(kind, rows[0].value) as ResourceKinds[K]))
          if (value !== undefined) yield* stored(organizationId, kind, name, value)
          return value
        })
      ),
    remove: (organizationId, kind, name) =>
      write(
        origin,
        organizationId,
        kind,
        name,
        Effect.asVoid(
          sql`DELETE FROM engine_resources WHERE organization_id = ${organizationId} AND kind = ${kind} AND name = ${name}`
        )
      )
  })
  return { on, organizations }
})

export class CatalogResources extends Context.Service<CatalogResources, CatalogResourcesShape>()(
  "dowser/catalog/CatalogResources"
) {
  static readonly layer: Layer.Layer<CatalogResources, never, Configuration | Entitlements | SqlClient.SqlClient> =
    Layer.effect(
      CatalogResources,
      Effect.gen(function* () {
        const { on, organizations } = yield* makeWrites
        return CatalogResources.of({ ...on(systemOrigin), organizations, on })
      })
    )
}
