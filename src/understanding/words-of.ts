/** Words of queries and of facet values, tokenized alike whatever their field. */
import type { CollectionSchema } from "@dowser/engine-sdk"
import { type Analyzer, createAnalyzer } from "@dowser/engine-sdk/analysis"

const analyzers = new WeakMap<CollectionSchema, Analyzer>()
/** By the collection's own separators and symbols, without a language: nothing is stemmed. One analyzer per schema. */
export const wordsOf = (schema: CollectionSchema): Analyzer => {
  let analyzer = analyzers.get(schema)
  if (analyzer === undefined)
    analyzers.set(
      schema,
      (analyzer = createAnalyzer({ symbolsToIndex: schema.symbols_to_index, tokenSeparators: schema.token_separators }))
    )
  return analyzer
}
