/** Trainings of models that rerank, and the operations on the models. */
import { defineRoom } from "../room.ts"
import { RerankModelInUse } from "./errors.ts"
import { routes } from "./routes.ts"
import { Trainings } from "./trainings.ts"

export const room = defineRoom({
  name: "rerank-models",
  routes,
  errorSamples: [
    [
      "RerankModelInUse",
      new RerankModelInUse({
        message: "The model `spring` is named by search rules of products.",
        named_by: ["search rules of products"]
      })
    ]
  ],
  reaches: {
    trainRerankModel: "path",
    listRerankModels: "path",
    getRerankModel: "path",
    deleteRerankModel: "path"
  },
  groups: { "rerank models": "Models that put a collection's hits in another order, learned from what visitors took." },
  engineGroups: ["rerank models"],
  layer: Trainings.layer,
  roles: {
    trainRerankModel: "admin",
    listRerankModels: "member",
    getRerankModel: "member",
    deleteRerankModel: "admin"
  },
  seeds: { trainRerankModel: [{ name: "clicks", from: "2026-01-01", to: "2026-01-02" }] }
})
