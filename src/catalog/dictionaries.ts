/** An engine analyses with stemming dictionaries that it does not keep: after a start it is told the stored ones, before any write. */
import { Effect, Layer } from "effect"
import { Engine } from "../ports/engine.ts"
import { CatalogResources } from "./resources.ts"

export const layerDictionaries = Layer.effectDiscard(Effect.gen(function*() {
  const engine = yield* Engine
  const resources = yield* CatalogResources
  for (const organizationId of resources.stored) {
    for (const { id, words } of resources.list(organizationId, "stemming_dictionary")) yield* Effect.promise(async () => engine.setDictionary?.(organizationId, id, words))
  }
}))
