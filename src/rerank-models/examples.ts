/** What the operations of rerank models do, in words, and a request of each (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

const params = { collectionName: "products" }
export const described = {
  trainRerankModel: {
    description:
      "Queues a job that learns from the searches of a time which of their hits visitors took, and keeps the model as the next version of its name; `rerank_model` in a search or in rules names it. The result has nDCG@10 on queries that were held out, without the model and with it, and the interval of the difference. It fails where something was taken of fewer than 50 searches. A plan without room for one more name refuses it with 403.",
    example: { params, body: { name: "spring", from: "2026-01-01", to: "2026-01-31", fields: ["title", "brand"] } }
  },
  listRerankModels: {
    description: "Lists the newest version of each model of the collection, by name. A missing collection is a 404.",
    example: { params }
  },
  getRerankModel: {
    description:
      "Shows the newest version of a model and the ten newest versions with what each was worth. An unknown name is a 404.",
    example: { params: { ...params, modelName: "clicks" } }
  },
  deleteRerankModel: {
    description:
      "Deletes all versions of a model. One that the collection's search rules or a preset names is a 409 that says who names it.",
    example: { params: { ...params, modelName: "old_clicks" } }
  }
} as const satisfies Readonly<Record<string, Described>>
