/** Descriptions of the operations, with a request of each that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  listAiProviders: {
    description:
      "Says for each thing that models do which one is in use and whether it runs in this program. It changes nothing.",
    example: {}
  },
  putAiProvider: {
    description:
      "Names a model of the organization's own in place of this program's: `text_embedder` by `openai` (any compatible server), `jina`, `cohere`, `ollama` or `tei`, `reranker` by `tei`, `cohere` or `jina`, `transcriber` by `openai` (any server of `/audio/transcriptions`), `deepgram` or `assemblyai`. The server is asked once before anything is stored; where it does not answer as it should, that is a 400 with the reason. Credentials are stored sealed and never shown again. Vectors beside a collection's schema are made anew by the next semantic search of it.",
    example: {
      params: { port: "text_embedder" },
      body: { kind: "openai", model: "all-minilm", url: "https://models.example/v1", api_key: "sk-example" }
    }
  },
  deleteAiProvider: {
    description: "Goes back to this program's own model. Where none was named nothing happens.",
    example: { params: { port: "text_embedder" } }
  }
} as const satisfies Readonly<Record<string, Described>>
