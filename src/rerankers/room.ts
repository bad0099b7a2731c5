/** Trained models that searches rerank with. Their operations are in `src/rerank-models`. */
import { defineRoom } from "../room.ts"
import { rerankModelsTable } from "./models-repository.ts"
import { Rerankers } from "./rerankers.ts"

export const room = defineRoom({
  name: "rerankers",
  layer: Rerankers.layer,
  features: { rerank_models: { free: 2, standard: 50, unlimited: 1_000 } },
  audited: {
    rerank_model: (sql, { id, organizationId }) => {
      // Names have no slash; collections may.
      const slash = id.indexOf("/")
      return sql`SELECT json_build_object('name', name, 'collection', collection, 'version', version, 'metrics', metrics)::text AS row FROM rerank_models
        WHERE organization_id = ${organizationId} AND name = ${id.slice(0, slash)} AND collection = ${id.slice(slash + 1)} ORDER BY version DESC LIMIT 1`
    }
  },
  migrations: { "2026112314_rerank_models": rerankModelsTable }
})
