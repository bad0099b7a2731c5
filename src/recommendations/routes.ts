/** Handlers of recommendations: the model is looked up before the body is read. */
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { reachesOwnName } from "../engine-plane/reached.ts"
import { withoutLimit } from "../engine-plane/time-limit.ts"
import { inputInvalid } from "../http/errors.ts"
import { byId, pageOf } from "../http/page.ts"
import type { Caller } from "../identity/caller.ts"
import { collectionClosed, reachesCollection } from "../identity/reach.ts"
import { Installation } from "../installation.ts"
import { searchRequestOf } from "../search/routes.ts"
import * as contract from "./contract.ts"
import { RecommendationModels, modelMissing } from "../recommendation-models/models.ts"
import { Recommender } from "./recommender.ts"
import type { ModelBody, StoredModel } from "../recommendation-models/schema.ts"

export const routes = Effect.gen(function* () {
  const models = yield* RecommendationModels
  const recommender = yield* Recommender
  const contextOf = yield* makeContexts
  const { countryHeader } = yield* Installation
  const isReached = (caller: Caller, { collection }: StoredModel) =>
    reachesOwnName(contextOf(caller.organizationId), caller, collection)
  const found = (caller: Caller, id: string) => {
    const model = models.find(caller.organizationId, id)
    return model === undefined || !isReached(caller, model) ? Effect.fail(modelMissing(id)) : Effect.succeed(model)
  }
  const shown = ({ organization_id, ...model }: StoredModel) =>
    Effect.map(recommender.statusOf({ organization_id, ...model }), (status) => ({ ...model, status }))
  const checked = Effect.fnUntraced(function* (caller: Caller, body: ModelBody) {
    if (!reachesCollection(caller, body.collection)) return yield* collectionClosed()
    if (resolveCollection(contextOf(caller.organizationId), body.collection) === undefined)
      return yield* inputInvalid("collection", "There is no such collection")
    return body
  })
  return [
    implement(
      contract.listRecommendationModels,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { cursor, limit } = yield* query
        const own = models
          .list(caller.organizationId)
          .filter((model) => (cursor === undefined || model.id > cursor) && isReached(caller, model))
        return pageOf(yield* Effect.forEach(own.slice(0, limit + 1), shown), limit, byId)
      })
    ),
    implement(
      contract.createRecommendationModel,
      Effect.fnUntraced(function* ({ caller, payload }) {
        return yield* Effect.flatMap(
          models.create(caller.organizationId, yield* checked(caller, yield* payload)),
          shown
        )
      })
    ),
    implement(contract.getRecommendationModel, ({ caller, params }) =>
      Effect.flatMap(found(caller, params.modelId), shown)
    ),
    implement(
      contract.replaceRecommendationModel,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const { id } = yield* found(caller, params.modelId)
        return yield* Effect.flatMap(
          models.replace(caller.organizationId, id, yield* checked(caller, yield* payload)),
          shown
        )
      })
    ),
    implement(contract.deleteRecommendationModel, ({ caller, params }) =>
      Effect.flatMap(found(caller, params.modelId), ({ id }) => models.remove(caller.organizationId, id))
    ),
    implement(contract.trainRecommendationModel, ({ caller, params }) =>
      Effect.flatMap(found(caller, params.modelId), (model) => recommender.train(model))
    ),
    implement(
      contract.recommend,
      Effect.fnUntraced(function* (input) {
        const body = yield* input.payload
        const model = yield* found(input.caller, body.model_id)
        return yield* withoutLimit(recommender.recommend(searchRequestOf(input, countryHeader), model, body))
      })
    )
  ]
})
