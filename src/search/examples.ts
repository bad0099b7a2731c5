/** Descriptions of the operations of search, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  searchCollection: {
    description:
      "Searches a collection or an alias: typing errors are forgiven, and rules, synonyms, filters, facets and sorts apply; it counts as one search unit of the month (429 with `resets_at` when they are used up). `search_cutoff_ms` and the plan bound its time: a search that is cut off answers what it has, with `search_cutoff: true`. The answer says what its query said (`query_understanding`) and how it is written without typing errors (`correction`); with `query_rewrite` one that finds nothing is tried on other keyboard layouts, in other scripts and split, six searches of a request at most, and parameters that are not known are ignored. With `conversation=true` and a `conversation_model_id` what is found is answered in words too, from credits (`conversation` in the answer), and with `conversation_stream=true` as it is written, as server-sent events.",
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
      "Runs up to 50 searches in one request and answers a result for each, a failed one with its `code` and `error`; with `union` their hits become one list. Query parameters are the defaults of all of them. The request counts as one search unit of the month. With `conversation=true` in the query string all of them have its `q`, and one answer in words.",
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
