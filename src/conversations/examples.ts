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
      "Shows the models that answer searches in words, oldest first, without their credentials. It changes nothing.",
    example: {}
  },
  createConversationModel: {
    description:
      "Names a model that answers searches with `conversation=true` and its id as `conversation_model_id`. Any server that speaks the OpenAI interface is `openai` with its `openai_url`, or `vllm` with its `vllm_url`; `dowser/extractive` is this program's own, which answers with sentences of the documents and needs no credential. The collection for the history must exist with its fields, and the server is asked once before anything is stored; what is wrong with either is a 400. At most 100.",
    example: { body: model }
  },
  getConversationModel: {
    description: "Shows one model that answers searches in words, without its credential. It changes nothing.",
    example: { params: { modelId: "shop-assistant" } }
  },
  updateConversationModel: {
    description:
      "Changes what the body names of a model that answers searches in words; its history's collection and its server are looked at as when it was made. A credential that comes back as it was shown stays, and is given again where the address changes.",
    example: { params: { modelId: "shop-assistant" }, body: { system_prompt: "You work for a shop that sells lamps." } }
  },
  deleteConversationModel: {
    description: "Removes the model and answers with it. What was said stays in its collection.",
    example: { params: { modelId: "shop-assistant" } }
  }
} as const satisfies Readonly<Record<string, Described>>
