/** Descriptions of the operations, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  semanticSearch: {
    description:
      "Searches a collection by what a query means beside what it says: hits by words and hits by the distance of vectors are fused, and `hybrid_search_info` says how. The body is search parameters, where `q` is needed and `vector_query` is refused; it costs 0.1 credits and a search, and a query in a language that the model does not know, or of which it has read nothing, or of a key that sees only some of the fields that the vectors are made of, is answered by words alone (`embedder.used: false`). A collection without an embedding field gets vectors of its own beside its schema, of a model that is trained on the collection itself where none is installed that reads its language: the first request starts the job that makes them and answers 409 with its `job_id` until it is done; from then on every write keeps them up to date.",
    example: {
      params: { collectionName: "meanings" },
      body: { q: "something to read by at night", per_page: 5 },
      headers: { "x-svc-session-id": "session-1" }
    }
  }
} as const satisfies Readonly<Record<string, Described>>
