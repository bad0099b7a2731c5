/**
 * Descriptions of the operations of suggestions, each with an example request that succeeds (`src/http/operation.ts`).
 */
import type { Described } from "../http/operation.ts"

export const described = {
  getSuggestions: {
    description:
      "Completes what is being typed: popular queries of the collection first, then facet values with the filter that selects their documents, with typos corrected. At most 50 are answered, 10 by default. Restrictions of the key apply, so everything offered can be found. The request counts as one search unit of the month.",
    example: { params: { collectionName: "products" }, query: { q: "mu", limit: "5" } }
  },
  getPrompts: {
    description:
      "Offers suggestions before anything is typed: the queries most used recently, then the facet values with the most documents. At most 50 are answered, 10 by default. The request counts as one search unit of the month.",
    example: { params: { collectionName: "products" }, query: { limit: "5" } }
  }
} as const satisfies Readonly<Record<string, Described>>
