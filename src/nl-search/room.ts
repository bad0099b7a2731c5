/** Searches in words: their interpretation by this program's own model or one of the organization's. */
import { Effect, Layer } from "effect"
import { modelsTable } from "../language-models/model-rows.ts"
import { type Measure, single } from "../metrics/measure.ts"
import { defineRoom } from "../room.ts"
import { NlModels } from "./models/nl-models.ts"
import { NlSearch } from "./nl-search.ts"
import { routes } from "./routes.ts"

const metrics = Effect.map(NlSearch, ({ bytes }): ReadonlyArray<Measure> => [
  {
    name: "dowser_nl_facts_bytes",
    type: "gauge",
    help: "Memory of facet values that requests in words are read with.",
    read: Effect.map(Effect.sync(bytes), single)
  }
])

export const room = defineRoom({
  name: "nl-search",
  routes,
  layer: Layer.provideMerge(NlSearch.layer, NlModels.layer),
  metrics,
  groups: { "NL search models": "Models that read searches in words." },
  reaches: {
    listNlSearchModels: "organization",
    createNlSearchModel: "organization",
    getNlSearchModel: "organization",
    updateNlSearchModel: "organization",
    deleteNlSearchModel: "organization"
  },
  roles: {
    listNlSearchModels: "member",
    createNlSearchModel: "admin",
    getNlSearchModel: "member",
    updateNlSearchModel: "admin",
    deleteNlSearchModel: "admin"
  },
  seeds: {
    createNlSearchModel: [
      { id: "own", model_name: "dowser/rules", max_bytes: 1_000 },
      { model_name: "vllm/any", max_bytes: 8_000, api_url: "http://127.0.0.1:9", api_key: "sk-key", temperature: 0.5 },
      { model_name: "google/any", max_bytes: 8_000, api_key: "k", top_p: 0.5, top_k: 1, stop_sequences: ["x"] }
    ],
    updateNlSearchModel: [{ max_bytes: 2_000, system_prompt: "Prices are in euros." }]
  },
  audited: {
    nl_search_model: (sql, { id, organizationId }) =>
      sql`SELECT json_build_object('id', id, 'value', value, 'has_api_key', sealed_api_key IS NOT NULL)::text AS row FROM nl_search_models WHERE organization_id = ${organizationId} AND id = ${id}`
  },
  migrations: { "2026112711_nl_search_models": modelsTable("nl_search_models") }
})
