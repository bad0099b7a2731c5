/**
 * Which collection a name in an address refers to: a real collection takes precedence over an alias of the same name
 * (`docs/contract/collections.md#names`).
 */
import { Context, Effect, Layer } from "effect"
import { Engine } from "../ports/engine/engine.ts"
import { CatalogResources } from "../engine-plane/resources.ts"

export class CatalogNames extends Context.Service<
  CatalogNames,
  {
    /** The collection's own name, or undefined if there is neither. */
    readonly resolve: (organizationId: string, name: string) => string | undefined
  }
>()("dowser/catalog/CatalogNames") {
  static readonly layer: Layer.Layer<CatalogNames, never, Engine | CatalogResources> = Layer.effect(
    CatalogNames,
    Effect.gen(function* () {
      const engine = yield* Engine
      const resources = yield* CatalogResources
      return CatalogNames.of({
        resolve: (organizationId, name) => {
          const direct = engine.describeCollection(organizationId, name)
          if (direct !== undefined) return direct.schema.name
          const alias = resources.get(organizationId, "alias", name)
          return alias === undefined
            ? undefined
            : engine.describeCollection(organizationId, alias.collection_name)?.schema.name
        }
      })
    })
  )
}
