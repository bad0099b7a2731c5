/**
 * Descriptions of the operations of suggestions, each with an example request that succeeds (`src/http/operation.ts`).
 */
import type { Described } from "../http/operation.ts"

export const described = {
  getSuggestions: {
    description:
      "Completes what is being typed: popular queries of the collection first, then facet values with the filter that keeps their documents, typing errors corrected. At most 50 are answered, 10 by default. Restrictions of the key hold, so nothing is offered that it could not find. The request counts as one search unit of the month.",
    example: { params: { collectionName: "products" }, query: { q: "mu", limit: "5" } }
  },
  getPrompts: {
    description:
      "Offers something before anything is typed: queries that were used most lately, then facet values with most documents. At most 50 are answered, 10 by default. The request counts as one search unit of the month.",
    example: { params: { collectionName: "products" }, query: { limit: "5" } }
  }
} as const satisfies Readonly<Record<string, Described>>
