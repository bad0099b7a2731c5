/** Recommendation models (full key) and recommendations (search key). */
import { Schema } from "effect"
import { Conflict, NotFound } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import { Job } from "../jobs/schema.ts"
import { RecommendationModelInUse } from "../recommendation-models/errors.ts"
import { Model, ModelBody, ModelList } from "../recommendation-models/schema.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { searchErrors } from "../search/search-errors.ts"
import { described } from "./examples.ts"
import { RecommendBody, Recommended } from "./schema.ts"

const at = { group: "recommendations", plane: "control", scope: "full" } as const
const one = {
  ...at,
  params: { modelId: Schema.String.annotate({ description: "The id of a model, `rec_…`." }) }
} as const
const path = "/v1/recommendations/models/:modelId"

export const listRecommendationModels = operation({
  ...at,
  ...described.listRecommendationModels,
  id: "listRecommendationModels",
  summary: "List recommendation models",
  method: "GET",
  path: "/v1/recommendations/models",
  query: Schema.Struct(pageFields({ max: 250, byDefault: 50 })),
  success: ModelList
})
export const createRecommendationModel = operation({
  ...at,
  ...described.createRecommendationModel,
  id: "createRecommendationModel",
  summary: "Create a recommendation model",
  method: "POST",
  path: "/v1/recommendations/models",
  payload: ModelBody,
  success: Model,
  status: 201,
  errors: [FeatureNotInPlan]
})
export const getRecommendationModel = operation({
  ...one,
  ...described.getRecommendationModel,
  id: "getRecommendationModel",
  summary: "Get a model with its figures",
  method: "GET",
  path,
  success: Model,
  errors: [NotFound]
})
export const replaceRecommendationModel = operation({
  ...one,
  ...described.replaceRecommendationModel,
  id: "replaceRecommendationModel",
  summary: "Replace a model",
  method: "PUT",
  path,
  payload: ModelBody,
  success: Model,
  errors: [NotFound, RecommendationModelInUse]
})
export const deleteRecommendationModel = operation({
  ...one,
  ...described.deleteRecommendationModel,
  id: "deleteRecommendationModel",
  summary: "Delete a model",
  method: "DELETE",
  path,
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedRecommendationModel" }),
  errors: [NotFound, RecommendationModelInUse]
})
export const trainRecommendationModel = operation({
  ...one,
  ...described.trainRecommendationModel,
  id: "trainRecommendationModel",
  summary: "Tune and measure a model on the last 90 days",
  method: "POST",
  path: "/v1/recommendations/models/:modelId/train",
  success: Job,
  status: 202,
  errors: [Conflict, NotFound]
})
export const recommend = operation({
  ...described.recommend,
  id: "recommend",
  group: "recommendations",
  plane: "control",
  scope: "search",
  summary: "Recommend documents",
  method: "POST",
  path: "/v1/recommendations",
  payload: RecommendBody,
  success: Recommended,
  errors: [NotFound, ...searchErrors]
})
