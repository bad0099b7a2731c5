/** Descriptions of the operations, each with a request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  listAiProviders: {
    description: "Shows which model is in use for each task and whether it runs in this program. It changes nothing.",
    example: {}
  },
  putAiProvider: {
    description:
      "Sets a model of the organization's own in place of this program's: `text_embedder` by `openai` (any compatible server), `jina`, `cohere`, `ollama` or `tei`, `reranker` by `tei`, `cohere` or `jina`, `transcriber` by `openai` (any server of `/audio/transcriptions`), `deepgram` or `assemblyai`. The server is called once before anything is stored; if it does not answer correctly, that is a 400 with the reason. Credentials are stored sealed and never shown again. Vectors beside a collection's schema are recomputed by its next semantic search.",
    example: {
      params: { port: "text_embedder" },
      body: { kind: "openai", model: "all-minilm", url: "https://models.example/v1", api_key: "sk-example" }
    }
  },
  deleteAiProvider: {
    description: "Returns to this program's own model. It does nothing if none was set.",
    example: { params: { port: "text_embedder" } }
  }
} as const satisfies Readonly<Record<string, Described>>
