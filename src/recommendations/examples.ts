/** Descriptions of the operations of recommendations, each with an example request that succeeds. */
import type { Described } from "../http/operation.ts"
import { sampleIds } from "../api/sample-ids.ts"

const params = { modelId: sampleIds.recommendationModel }
const model = { name: "Bought together", collection: "products", type: "frequently_bought_together" as const }
export const described = {
  listRecommendationModels: {
    description: "Lists models by id. A page has at most 250, 50 by default.",
    example: { query: { limit: "20" } }
  },
  createRecommendationModel: {
    description:
      "Creates a recommendation model over a collection's events: a type, with parameters of that type. It needs no training: every event is in the next answer. An unknown collection, type or parameter is a 400; a plan without room for another model is a 403.",
    example: { body: { ...model, params: { popularity_bias: 0.4, min_support: 3 } } }
  },
  getRecommendationModel: {
    description:
      "Shows a model with the figures of its last training. `status` is `new` until events of the collection were seen. An unknown id, or another organization's, is a 404.",
    example: { params }
  },
  replaceRecommendationModel: {
    description:
      "Replaces a model as a whole; omitted parameters return to their defaults. With another type, collection or parameters, the figures and tuned values of its training are dropped. A model that search rules fall back on must keep its collection: 409 with `data.collections`.",
    example: { params, body: { ...model, name: "Goes with it" } }
  },
  deleteRecommendationModel: {
    description:
      "Deletes a model and returns its id. An unknown id is a 404. A model that search rules fall back on cannot be deleted: 409 with `data.collections`.",
    example: { params: { modelId: sampleIds.oldRecommendationModel } }
  },
  trainRecommendationModel: {
    description:
      "Queues a job that walks through the collection's events of the last 90 days, as far as the log keeps them, in order. On the fourth fifth it tries up to a dozen parameters of the model's type, on the last one it measures the best of them by what came next in a visit, or into a basket. The result, kept in `metrics`, has HR@20, MRR@20 and nDCG@10 beside those of the most popular documents and of the previous parameters, and in `parameters` what the model uses from then on. Below 200 cases its confidence is `low` and nothing is tuned; 409 while twenty such jobs wait or run.",
    example: { params }
  },
  recommend: {
    description:
      "Recommends up to 100 documents by a model: for documents (`document_id`, `document_ids`), for a visitor, or for both. Documents that the key, its profile or the collection's rules filter out are never among them, nor are the documents asked about and those of `exclude_ids`. A short answer is filled down a chain (personalized, also viewed, trending, popular of the same category, popular, newest), so it is empty only if the filters let nothing through; `fallback_used` and each hit's `reason` say where a hit came from. It costs one search unit; an unknown model is a 404.",
    example: { body: { model_id: sampleIds.recommendationModel, document_id: "p1", limit: 5 } }
  }
} as const satisfies Readonly<Record<string, Described>>
