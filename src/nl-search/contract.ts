/** NL search models (`docs/contract/models.md#nl-search-models`). Full key. */
import { Schema } from "effect"
import { engineRefusal } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { described } from "./examples.ts"

const at = { group: "NL search models", plane: "engine", scope: "full", payloadIsChecked: false } as const
const own = { ...at, path: "/v1/nl_search_models/:modelId" } as const
const anything = Schema.Record(Schema.String, Schema.Unknown)
const Model = Schema.StructWithRest(
  Schema.Struct({
    id: Schema.String,
    model_name: Schema.String,
    max_bytes: Schema.Int,
    api_key: Schema.optionalKey(Schema.String.annotate({ description: "The first characters of the key." }))
  }),
  [anything]
).annotate({ identifier: "NlSearchModel" })
const ModelBody = Schema.StructWithRest(
  Schema.Struct({
    id: Schema.optionalKey(Schema.String),
    model_name: Schema.optionalKey(
      Schema.String.annotate({
        description: "`provider/name`: openai, azure, cloudflare, vllm, google, gcp, or `dowser/rules`."
      })
    ),
    max_bytes: Schema.optionalKey(
      Schema.Int.annotate({
        description: "Seconds for which the description of the collection is cached for the model."
      })
    ),
    api_key: Schema.optionalKey(Schema.String)
  }),
  [anything]
).annotate({ identifier: "NlSearchModelBody" })

export const listNlSearchModels = operation({
  ...at,
  ...described.listNlSearchModels,
  id: "listNlSearchModels",
  summary: "List NL search models",
  method: "GET",
  path: "/v1/nl_search_models",
  success: Schema.Array(Model).annotate({ identifier: "NlSearchModelList" })
})
export const createNlSearchModel = operation({
  ...at,
  ...described.createNlSearchModel,
  id: "createNlSearchModel",
  summary: "Create an NL search model",
  method: "POST",
  path: "/v1/nl_search_models",
  payload: ModelBody,
  success: Model,
  status: 201,
  errors: [engineRefusal(400, 409)]
})
export const getNlSearchModel = operation({
  ...own,
  ...described.getNlSearchModel,
  id: "getNlSearchModel",
  summary: "Get an NL search model",
  method: "GET",
  success: Model,
  errors: [engineRefusal(404)]
})
export const updateNlSearchModel = operation({
  ...own,
  ...described.updateNlSearchModel,
  id: "updateNlSearchModel",
  summary: "Change an NL search model",
  method: "PUT",
  payload: ModelBody,
  success: Model,
  errors: [engineRefusal(400, 404, 409)]
})
export const deleteNlSearchModel = operation({
  ...own,
  ...described.deleteNlSearchModel,
  id: "deleteNlSearchModel",
  summary: "Delete an NL search model",
  method: "DELETE",
  success: Model,
  errors: [engineRefusal(404)]
})
