/**
 * What an engine could not read of an organization at its start, if even the collection's name is unknown: a list
 * would omit the collection and its name could be reused, so all requests of the organization are refused. A
 * collection that cannot be opened is refused by the engine itself when it is used.
 */
import { Effect, Layer } from "effect"
import { Configuration } from "../configuration/configuration.ts"
import { Engine } from "../ports/engine/engine.ts"

export const layerEngineDamages = Layer.effectDiscard(
  Effect.gen(function* () {
    const { damages } = yield* Configuration
    for (const [i, { collection, message, namespace }] of ((yield* Engine).damaged?.() ?? []).entries()) {
      yield* Effect.logError(
        `The engine: ${message} ${namespace === "" ? "The organization is unknown." : `${namespace} is refused.`}`
      )
      if (collection === undefined && namespace !== "")
        damages.note("engine", { organizationId: namespace, id: String(i) }, message)
    }
  })
)
