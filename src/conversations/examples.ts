/** Descriptions of the operations, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

const model = {
  id: "shop-assistant",
  model_name: "dowser/extractive",
  max_bytes: 16_000,
  history_collection: "conversations",
  ttl: 86_400
}
export const described = {
  listConversationModels: {
    description:
      "Lists the models that answer searches in words, oldest first, without their credentials. It changes nothing.",
    example: {}
  },
  createConversationModel: {
    description:
      "Creates a model that answers searches with `conversation=true` and its id as `conversation_model_id`. Any server with the OpenAI interface is `openai` with its `openai_url`, or `vllm` with its `vllm_url`; the built-in `dowser/extractive` answers with sentences of the documents and needs no credential. The collection for the history must exist with its fields, and the server is called once before anything is stored; a problem with either is a 400. An organization has at most 100.",
    example: { body: model }
  },
  getConversationModel: {
    description: "Shows one model that answers searches in words, without its credential. It changes nothing.",
    example: { params: { modelId: "shop-assistant" } }
  },
  updateConversationModel: {
    description:
      "Changes the given fields of a model that answers searches in words; its history collection and its server are checked as on creation. A masked credential that comes back unchanged is kept, unless the address changes: then it must be given again.",
    example: { params: { modelId: "shop-assistant" }, body: { system_prompt: "You work for a shop that sells lamps." } }
  },
  deleteConversationModel: {
    description: "Removes the model and returns it. Its conversations stay in their collection.",
    example: { params: { modelId: "shop-assistant" } }
  }
} as const satisfies Readonly<Record<string, Described>>
