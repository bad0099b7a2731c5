/** Operations on conversation models. They require a full key. */
import { Schema } from "effect"
import { engineRefusal } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { described } from "./examples.ts"

const at = { group: "conversation models", plane: "engine", scope: "full", payloadIsChecked: false } as const
const own = { ...at, path: "/v1/conversations/models/:modelId" } as const
const anything = Schema.Record(Schema.String, Schema.Unknown)
const Model = Schema.StructWithRest(
  Schema.Struct({
    id: Schema.String,
    model_name: Schema.String,
    max_bytes: Schema.Int,
    history_collection: Schema.String,
    api_key: Schema.optionalKey(Schema.String.annotate({ description: "The first characters of the key." }))
  }),
  [anything]
).annotate({ identifier: "ConversationModel" })
const ModelBody = Schema.StructWithRest(
  Schema.Struct({
    id: Schema.optionalKey(Schema.String),
    model_name: Schema.optionalKey(
      Schema.String.annotate({
        description:
          "`provider/name`: openai, azure, cloudflare, vllm, google, anthropic, ollama, or `dowser/extractive`."
      })
    ),
    max_bytes: Schema.optionalKey(
      Schema.Int.annotate({ description: "Bytes of documents, history and question together, as sent to the model." })
    ),
    history_collection: Schema.optionalKey(
      Schema.String.annotate({
        description:
          "Has the fields `conversation_id`, `role`, `message`, `model_id` (string) and `timestamp` (int32, sorted)."
      })
    ),
    api_key: Schema.optionalKey(Schema.String),
    system_prompt: Schema.optionalKey(Schema.String),
    ttl: Schema.optionalKey(
      Schema.Int.annotate({ description: "Seconds for which a message is kept; 86400 by default." })
    )
  }),
  [anything]
).annotate({ identifier: "ConversationModelBody" })

export const listConversationModels = operation({
  ...at,
  ...described.listConversationModels,
  id: "listConversationModels",
  summary: "List conversation models",
  method: "GET",
  path: "/v1/conversations/models",
  success: Schema.Array(Model).annotate({ identifier: "ConversationModelList" })
})
export const createConversationModel = operation({
  ...at,
  ...described.createConversationModel,
  id: "createConversationModel",
  summary: "Create a conversation model",
  method: "POST",
  path: "/v1/conversations/models",
  payload: ModelBody,
  success: Model,
  status: 201,
  errors: [engineRefusal(400, 409)]
})
export const getConversationModel = operation({
  ...own,
  ...described.getConversationModel,
  id: "getConversationModel",
  summary: "Get a conversation model",
  method: "GET",
  success: Model,
  errors: [engineRefusal(404)]
})
export const updateConversationModel = operation({
  ...own,
  ...described.updateConversationModel,
  id: "updateConversationModel",
  summary: "Change a conversation model",
  method: "PUT",
  payload: ModelBody,
  success: Model,
  errors: [engineRefusal(400, 404, 409)]
})
export const deleteConversationModel = operation({
  ...own,
  ...described.deleteConversationModel,
  id: "deleteConversationModel",
  summary: "Delete a conversation model",
  method: "DELETE",
  success: Model,
  errors: [engineRefusal(404)]
})
