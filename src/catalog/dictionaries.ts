/**
 * The engine analyses text with stemming dictionaries that it does not store: it gets the stored ones after a start,
 * before any write, and again whenever a process changes one.
 */
import { Effect, Layer } from "effect"
import { Configuration } from "../configuration/configuration.ts"
import { Engine } from "../ports/engine/engine.ts"
import { resourceOf } from "../engine-plane/resource-rows.ts"
import { CatalogResources } from "../engine-plane/resources.ts"

export const layerDictionaries = Layer.effectDiscard(
  Effect.gen(function* () {
    const configuration = yield* Configuration
    const engine = yield* Engine
    const resources = yield* CatalogResources
    const update = (organizationId: string, id: string) =>
      Effect.promise(async () =>
        engine.setDictionary?.(organizationId, id, resources.get(organizationId, "stemming_dictionary", id)?.words)
      )
    // Called after the resources have read the same rows, because they registered earlier.
    yield* configuration.keep("engine_resource", (subjects) =>
      Effect.forEach(
        subjects === "all"
          ? resources
              .organizations()
              .flatMap((organizationId) =>
                resources.list(organizationId, "stemming_dictionary").map(({ id }) => ({ organizationId, name: id }))
              )
          : subjects.flatMap(({ id, organizationId }) => {
              const [kind, name] = resourceOf(id)
              return kind === "stemming_dictionary" ? [{ organizationId, name }] : []
            }),
        ({ name, organizationId }) => update(organizationId, name),
        { discard: true }
      )
    )
  })
)
