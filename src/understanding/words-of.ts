/** Words of queries and of facet values, cut alike whatever field they are of. */
import type { CollectionSchema } from "@dowser/engine-sdk"
import { type Analyzer, createAnalyzer } from "@dowser/engine-sdk/analysis"

const analyzers = new WeakMap<CollectionSchema, Analyzer>()
/** As the collection's own separators and symbols say, without a language: nothing is stemmed. One a schema. */
export const wordsOf = (schema: CollectionSchema): Analyzer => {
  let analyzer = analyzers.get(schema)
  if (analyzer === undefined)
    analyzers.set(
      schema,
      (analyzer = createAnalyzer({ symbolsToIndex: schema.symbols_to_index, tokenSeparators: schema.token_separators }))
    )
  return analyzer
}
