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
      "Shows the models that read searches in words, oldest first, without their credentials. It changes nothing.",
    example: {}
  },
  createNlSearchModel: {
    description:
      "Names a model that searches with `nl_query=true` are read by: the one of the id `default` where a search names none. Any server that speaks the OpenAI interface is `openai` or `vllm` with its `api_url`. The server is asked once before anything is stored; where it does not answer, that is a 400 with the reason. At most 100; without any, this program's own `dowser/rules` reads them.",
    example: { body: model }
  },
  getNlSearchModel: {
    description: "Shows one model without its credential. It changes nothing.",
    example: { params: { modelId: "default" } }
  },
  updateNlSearchModel: {
    description:
      "Changes what the body names and asks the server once. A credential that comes back as it was shown stays; where the address changes, it has to be given again.",
    example: { params: { modelId: "default" }, body: { temperature: 0.1 } }
  },
  deleteNlSearchModel: {
    description: "Removes the model and answers with it. Searches that name it go on as they are asked, and say so.",
    example: { params: { modelId: "default" } }
  }
} as const satisfies Readonly<Record<string, Described>>
