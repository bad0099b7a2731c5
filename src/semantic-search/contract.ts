/** Search by meaning. */
import { Schema } from "effect"
import { embeddingErrors } from "../embedding/errors.ts"
import { SearchResponse } from "../engine-plane/search-response.ts"
import { Conflict, NotFound } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { aiErrors } from "../metering/errors.ts"
import { searchErrors } from "../search/search-errors.ts"
import { VectorsNotReady } from "./errors.ts"
import { described } from "./examples.ts"

const UsedEmbedder = Schema.Struct({
  name: Schema.String,
  embedded: Schema.Boolean,
  used: Schema.Boolean.annotate({ description: "Whether the query was embedded, or answered by words alone." })
}).annotate({ identifier: "UsedEmbedder" })

export const semanticSearch = operation({
  ...described.semanticSearch,
  group: "semantic search",
  plane: "control",
  scope: "search",
  isAi: true,
  id: "semanticSearch",
  summary: "Search by meaning and by words",
  method: "POST",
  path: "/v1/collections/:collectionName/documents/semantic_search",
  payload: Schema.Record(Schema.String, Schema.Unknown).annotate({
    identifier: "SemanticSearchBody",
    description: "Search parameters, including `q`."
  }),
  success: Schema.Struct({ ...SearchResponse.fields, embedder: UsedEmbedder }).annotate({
    identifier: "SemanticSearchResponse"
  }),
  errors: [NotFound, Conflict, VectorsNotReady, ...searchErrors, ...aiErrors, ...embeddingErrors]
})
