/**
 * What a model recommends to a visitor whose search found nothing (`zero_hits_fallback: "recommendations"`): the only
 * interface between searches and recommendations. A search waits for it briefly; after a time-out, searches of the
 * next second do not wait at all.
 */
import type { RecommendedAsked } from "@dowser/engine-sdk/pipeline"
import { Clock, Context, Effect, Layer } from "effect"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import type { CatalogResources } from "../engine-plane/resources.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import type { Engine } from "../ports/engine/engine.ts"
import { askOf, isOfCollection } from "./ask-of.ts"
import { RecommendModels } from "./live/recommend-models.ts"
import { RecommendationModels } from "./models.ts"

/** Milliseconds that a search waits: several times the duration of an answer under a heavy load of events. */
export const FallbackWait = Context.Reference<number>("dowser/recommendation-models/FallbackWait", {
  defaultValue: () => 25
})
const QUIET_MS = 1_000
const NOTHING: ReadonlyArray<string> = []

export class FallbackModels extends Context.Service<
  FallbackModels,
  {
    /**
     * Ids, best first, by the model and down its chain. Empty if the model was deleted or is of another collection,
     * while the live state is unavailable, or if it knows nothing. Takes at most 25 ms.
     */
    readonly recommended: (organizationId: string, asked: RecommendedAsked) => Promise<ReadonlyArray<string>>
    /** Why the rules of a collection (its own name) cannot name a model, in words; undefined if they can. */
    readonly refusal: (organizationId: string, collection: string, id: string) => string | undefined
  }
>()("dowser/recommendation-models/FallbackModels") {
  static readonly layer: Layer.Layer<
    FallbackModels,
    never,
    CatalogResources | Engine | Entitlements | RecommendationModels | RecommendModels
  > = Layer.effect(
    FallbackModels,
    Effect.gen(function* () {
      const contextOf = yield* makeContexts
      const models = yield* RecommendationModels
      const state = yield* RecommendModels
      const clock = yield* Clock.Clock
      const within_ms = yield* FallbackWait
      const services = yield* Effect.context<never>()
      let quietUntil = 0
      return FallbackModels.of({
        recommended: async (organizationId, { collection, limit, model: id, visitor: { person = "", session } }) => {
          const now = clock.currentTimeMillisUnsafe()
          const model = models.find(organizationId, id)
          const context = contextOf(organizationId)
          if (now < quietUntil || model === undefined || !isOfCollection(context, model, collection)) return NOTHING
          const ask = askOf(context, model, { seeds: [], visitor: session ?? person, person, now, most: limit })
          const answer = await Effect.runPromiseWith(services)(state.ask(ask, within_ms))
          if (answer === undefined) quietUntil = clock.currentTimeMillisUnsafe() + QUIET_MS
          return answer?.candidates.slice(0, limit).map((candidate) => candidate.id) ?? NOTHING
        },
        refusal: (organizationId, collection, id) => {
          const model = models.find(organizationId, id)
          if (model === undefined) return "there is no such recommendation model"
          return isOfCollection(contextOf(organizationId), model, collection)
            ? undefined
            : `the model is of the collection \`${model.collection}\``
        }
      })
    })
  )
}
