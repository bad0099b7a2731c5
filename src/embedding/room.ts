/** Vectors of texts: on request, and for documents that existed before their field. */
import { Layer } from "effect"
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"
import { FallbackMeanings } from "./fallback-meanings.ts"
import { EmbeddingFills } from "./fills.ts"
import { trainedModels } from "./lsa/migration.ts"
import { routes } from "./routes.ts"

export const room = defineRoom({
  name: "embedding",
  routes,
  errorSamples,
  layer: Layer.mergeAll(EmbeddingFills.layer, FallbackMeanings.layer),
  groups: { embeddings: "Vectors of texts." },
  reaches: { createEmbeddings: "none" },
  roles: { createEmbeddings: "admin" },
  migrations: { "2026112701_trained_models": trainedModels },
  seeds: { createEmbeddings: [{ input: "a quiet fridge" }, { input: ["lamp", "chair"], model: "dowser/minilm-l6-v2" }] }
})
