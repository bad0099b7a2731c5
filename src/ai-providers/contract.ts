/** Operations on an organization's own models. They require a full key. */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { described } from "./examples.ts"
import { PORTS, Provider, ProviderBody, ProvidersInUse } from "./schema.ts"

const at = { group: "AI providers", plane: "control", scope: "full" } as const
const port = Schema.String.annotate({ description: `One of ${PORTS.join(", ")}.` })
export const listAiProviders = operation({
  ...at,
  ...described.listAiProviders,
  id: "listAiProviders",
  summary: "Show which models are in use",
  method: "GET",
  path: "/v1/ai/providers",
  success: ProvidersInUse
})
export const putAiProvider = operation({
  ...at,
  ...described.putAiProvider,
  id: "putAiProvider",
  summary: "Set a model of your own",
  method: "PUT",
  path: "/v1/ai/providers/:port",
  params: { port },
  payload: ProviderBody,
  success: Provider
})
export const deleteAiProvider = operation({
  ...at,
  ...described.deleteAiProvider,
  id: "deleteAiProvider",
  summary: "Return to the built-in model",
  method: "DELETE",
  path: "/v1/ai/providers/:port",
  params: { port },
  success: Schema.Struct({ port: Schema.String }).annotate({ identifier: "DeletedAiProvider" })
})
