/** Search by meaning. */
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"
import { routes } from "./routes.ts"
import { SemanticSearch } from "./semantic-search.ts"

export const room = defineRoom({
  name: "semantic-search",
  routes,
  errorSamples,
  layer: SemanticSearch.layer,
  groups: { "semantic search": "Search by what a query means." },
  engineGroups: ["semantic search"],
  reaches: { semanticSearch: "path" },
  seeds: {
    semanticSearch: [
      { q: "something to read by" },
      { q: "lamp", query_by: "title", per_page: 3, filter_by: "price:>1" }
    ]
  }
})
