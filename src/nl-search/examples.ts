/** Descriptions of the operations, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

const model = {
  id: "default",
  model_name: "openai/gpt-4.1-mini",
  max_bytes: 16_000,
  api_key: "sk-example",
  api_url: "https://models.example/v1"
}
export const described = {
  listNlSearchModels: {
    description:
      "Lists the models that interpret searches in words, oldest first, without their credentials. It changes nothing.",
    example: {}
  },
  createNlSearchModel: {
    description:
      "Creates a model that interprets searches with `nl_query=true`; a search that names none uses the model with the id `default`. Any server with the OpenAI interface is `openai` or `vllm` with its `api_url`. The server is called once before anything is stored; if it does not answer, that is a 400 with the reason. An organization has at most 100; without any, the built-in `dowser/rules` interprets them.",
    example: { body: model }
  },
  getNlSearchModel: {
    description: "Shows one model without its credential. It changes nothing.",
    example: { params: { modelId: "default" } }
  },
  updateNlSearchModel: {
    description:
      "Changes the given fields and calls the server once. A masked credential that comes back unchanged is kept, unless the address changes: then it must be given again.",
    example: { params: { modelId: "default" }, body: { temperature: 0.1 } }
  },
  deleteNlSearchModel: {
    description: "Removes the model and returns it. Searches that name it run as typed, and say so.",
    example: { params: { modelId: "default" } }
  }
} as const satisfies Readonly<Record<string, Described>>
