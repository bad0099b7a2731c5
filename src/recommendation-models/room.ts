/** Which recommendation models exist, and what they know. What is done with them is in `src/recommendations`. */
import { Effect, Layer } from "effect"
import { type Measure, single } from "../metrics/measure.ts"
import { defineRoom } from "../room.ts"
import { RecommendationModelInUse } from "./errors.ts"
import { FallbackModels } from "./fallback-models.ts"
import { RecommendModels } from "./live/recommend-models.ts"
import { RecommendationModels } from "./models.ts"
import { ModelRebuilds } from "./rebuilds.ts"
import { modelsTable } from "./models-repository.ts"
import { expireRebuilds, rebuildsTable } from "./rebuilds-repository.ts"

const metrics = Effect.map(RecommendModels, ({ state }): ReadonlyArray<Measure> => [
  {
    name: "dowser_recommend_collections",
    type: "gauge",
    help: "Collections with events in the state of recommendations.",
    read: Effect.map(state, ({ collections }) => single(collections))
  },
  {
    name: "dowser_recommend_bytes",
    type: "gauge",
    help: "Memory of the state of recommendations.",
    read: Effect.map(state, ({ bytes }) => single(bytes))
  },
  {
    name: "dowser_recommend_records_behind",
    type: "gauge",
    help: "Records of events that the state of recommendations has not read yet.",
    read: Effect.map(state, ({ records_behind }) => single(records_behind))
  },
  {
    name: "dowser_recommend_dropped_total",
    type: "counter",
    help: "Collections whose state left because others needed the memory.",
    read: Effect.map(state, ({ dropped }) => single(dropped))
  }
])

export const room = defineRoom({
  name: "recommendation-models",
  metrics,
  layer: Layer.provideMerge(
    FallbackModels.layer,
    Layer.mergeAll(RecommendModels.layer, RecommendationModels.layer, ModelRebuilds.layer)
  ),
  features: { recommendation_models: { free: 3, standard: 50, unlimited: 1_000 } },
  errorSamples: [
    [
      "RecommendationModelInUse",
      new RecommendationModelInUse({
        message: "The model rec_1 is named by the search rules of `products`.",
        collections: ["products"],
        experiments: []
      })
    ]
  ],
  audited: {
    recommendation_model: (sql, { id, organizationId }) =>
      sql`SELECT json_build_object('id', id, 'name', name, 'collection', collection, 'type', type, 'params', params, 'parameters', metrics->'parameters', 'updated_at', updated_at)::text AS row
        FROM recommendation_models WHERE organization_id = ${organizationId} AND id = ${id}`
  },
  expiries: [expireRebuilds],
  migrations: {
    "2026112341_recommendation_models": modelsTable,
    "2026112350_recommendation_rebuilds": rebuildsTable
  }
})
