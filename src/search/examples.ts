/** Descriptions of the operations of search, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  searchCollection: {
    description:
      "Searches a collection or an alias with typo tolerance, rules, synonyms, filters, facets and sorts; it counts as one search unit of the month (429 with `resets_at` when they are used up). `search_cutoff_ms` and the plan bound its time: a search that is cut off answers what it has, with `search_cutoff: true`. The answer includes an analysis of the query (`query_understanding`) and its spelling without typos (`correction`); with `query_rewrite`, a query that finds nothing is tried on other keyboard layouts, in other scripts and split, in at most six searches; unknown parameters are ignored. With `conversation=true` and a `conversation_model_id` the answer also has `conversation`, in words and paid with credits; `conversation_stream=true` sends it while it is written, as server-sent events.",
    example: {
      params: { collectionName: "products" },
      query: {
        q: "enamel mgu",
        query_by: "title,brand",
        filter_by: "price:<50",
        facet_by: "brand,category",
        sort_by: "_text_match:desc,popularity:desc",
        per_page: "10"
      }
    }
  },
  multiSearch: {
    description:
      "Runs up to 50 searches in one request and returns a result for each, a failed one with its `code` and `error`; with `union` their hits become one list. Query parameters are the defaults of all of them. The request counts as one search unit of the month. With `conversation=true` in the query string all of them use its `q`, and get one answer in words.",
    example: {
      query: { query_by: "title" },
      body: {
        searches: [
          { collection: "products", q: "mug", filter_by: "category:=Kitchen" },
          { collection: "brands", q: "hearth", query_by: "name" }
        ]
      }
    }
  }
} as const satisfies Readonly<Record<string, Described>>
