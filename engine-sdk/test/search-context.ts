/** A context to compile searches in: one collection, without rules, synonyms or other resources. */
import type { SearchContext } from "../src/query/query-context.ts"
import type { CollectionSchema } from "../src/schema.ts"

export const searchContextOf = (schema: CollectionSchema, more: Partial<SearchContext> = {}): SearchContext => ({
  collection: { schema, num_documents: 0, created_at: 0 },
  collectionOf: () => undefined,
  now_s: 0,
  matchesAny: () => false,
  resources: {
    preset: () => undefined,
    stopwords: () => undefined,
    synonymSet: () => undefined,
    curationSet: () => undefined,
    stemmingDictionary: () => undefined
  },
  ...more
})
/** A restriction of a caller: only one brand. */
export const forcedBrand = {
  kind: "string",
  field: "brand",
  values: [{ tokens: ["acme"], match: "equals", prefix: false }],
  prefixCandidates: 4
} as const
