/** Conversations: searches that are answered in words, and the models that answer them. */
import { Layer } from "effect"
import { modelsTable } from "../language-models/model-rows.ts"
import { defineRoom } from "../room.ts"
import { layerConversations } from "./conversing.ts"
import { layerExpiry } from "./expiry.ts"
import { ConversationModels } from "./models.ts"
import { routes } from "./routes.ts"

export const room = defineRoom({
  name: "conversations",
  routes,
  layer: Layer.provideMerge(Layer.mergeAll(layerConversations, layerExpiry), ConversationModels.layer),
  // The engine also validates the settings stored with a model, such as a collection for its history.
  engineGroups: ["conversation models"],
  groups: { "conversation models": "Models that answer searches in words." },
  reaches: {
    listConversationModels: "organization",
    createConversationModel: "organization",
    getConversationModel: "organization",
    updateConversationModel: "organization",
    deleteConversationModel: "organization"
  },
  roles: {
    listConversationModels: "member",
    createConversationModel: "admin",
    getConversationModel: "member",
    updateConversationModel: "admin",
    deleteConversationModel: "admin"
  },
  seeds: {
    createConversationModel: [
      { id: "own", model_name: "dowser/extractive", max_bytes: 1_000, history_collection: "talks" },
      {
        model_name: "vllm/any",
        max_bytes: 8_000,
        vllm_url: "http://127.0.0.1:9",
        api_key: "k",
        history_collection: "x"
      }
    ],
    updateConversationModel: [{ max_bytes: 2_000, ttl: 60 }]
  },
  audited: {
    conversation_model: (sql, { id, organizationId }) =>
      sql`SELECT json_build_object('id', id, 'value', value, 'has_api_key', sealed_api_key IS NOT NULL)::text AS row FROM conversation_models WHERE organization_id = ${organizationId} AND id = ${id}`
  },
  migrations: { "2026112731_conversation_models": modelsTable("conversation_models") }
})
