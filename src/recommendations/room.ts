/** Recommendations from what visitors do. */
import { textIn } from "../http/json-fields.ts"
import { defineRoom, type Seeds } from "../room.ts"
import { Recommender } from "./recommender.ts"
import { routes } from "./routes.ts"

const model = { name: "model", collection: "goods", type: "also_viewed" }
const seeds: Seeds = {
  createRecommendationModel: [model, { ...model, type: "popular", params: { event: "any" } }],
  replaceRecommendationModel: [model],
  recommend: [{ model_id: "rec_1", document_ids: ["1"], limit: 3 }]
}
const named = ({ body }: { readonly body: unknown }) => textIn(body, "collection")

export const room = defineRoom({
  name: "recommendations",
  routes,
  reaches: {
    listRecommendationModels: "filtered",
    createRecommendationModel: named,
    getRecommendationModel: "filtered",
    replaceRecommendationModel: named,
    deleteRecommendationModel: "filtered",
    trainRecommendationModel: "filtered",
    recommend: named
  },
  groups: { recommendations: "What goes with a document, and what a visitor may want, from what visitors did." },
  engineGroups: ["recommendations"],
  layer: Recommender.layer,
  roles: { listRecommendationModels: "member", getRecommendationModel: "member" },
  seeds
})
