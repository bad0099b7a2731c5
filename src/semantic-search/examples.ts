/** Descriptions of the operations, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  semanticSearch: {
    description:
      "Searches a collection by what a query means beside its words: hits by words and hits by the distance of vectors are fused, and `hybrid_search_info` shows how. The body is search parameters, with a required `q` and without `vector_query`; it costs 0.1 credits and a search; a query is answered by words alone (`embedder.used: false`) if the model does not know its language or any of its words, or if the key sees only some of the fields that the vectors are made of. A collection without an embedding field gets vectors of its own beside its schema, by a model trained on the collection itself if no installed one reads its language: the first request starts the job that computes them and answers 409 with its `job_id` until it is done; from then on every write keeps them up to date.",
    example: {
      params: { collectionName: "meanings" },
      body: { q: "something to read by at night", per_page: 5 },
      headers: { "x-svc-session-id": "session-1" }
    }
  }
} as const satisfies Readonly<Record<string, Described>>
