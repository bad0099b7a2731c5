/** Descriptions of the operations of rerank models, each with an example request (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

const params = { collectionName: "products" }
export const described = {
  trainRerankModel: {
    description:
      "Queues a job that learns from the searches of a time range which hits visitors took, and stores the model as the next version of its name; `rerank_model` in a search or in rules names it. The result has nDCG@10 on held-out queries, without and with the model, and the interval of the difference. It fails if fewer than 50 searches led to anything. A plan without room for another name answers 403.",
    example: { params, body: { name: "spring", from: "2026-01-01", to: "2026-01-31", fields: ["title", "brand"] } }
  },
  listRerankModels: {
    description: "Lists the newest version of each model of the collection, by name. A missing collection is a 404.",
    example: { params }
  },
  getRerankModel: {
    description:
      "Shows the newest version of a model, and the figures of its ten newest versions. An unknown name is a 404.",
    example: { params: { ...params, modelName: "clicks" } }
  },
  deleteRerankModel: {
    description:
      "Deletes all versions of a model. If the collection's search rules or a preset names it, the answer is a 409 that says which.",
    example: { params: { ...params, modelName: "old_clicks" } }
  }
} as const satisfies Readonly<Record<string, Described>>
