/** How the index knows words (`SearchEngine.words`): looks into the dictionaries of fields, no documents. */
import { analyzerOf, type Dictionaries } from "../analysis/analyzer.ts"
import type { WordsRequest, WordUse } from "../engine.ts"
import { encodeUtf8 } from "../index/bytes.ts"
import type { CollectionReader } from "../index/reader.ts"
import { fieldNamed } from "../query/query-context.ts"

/** O(words · fields · segments · log terms). A text that is several words to a field is known where all of them are. */
export const wordUses = (
  reader: CollectionReader,
  { fields, words }: WordsRequest,
  dictionaries: Dictionaries | undefined
): ReadonlyArray<WordUse> => {
  const asked = fields.flatMap((name) => {
    const field = fieldNamed(reader.schema, name)
    if (field === undefined) return []
    const columns = reader.views.flatMap(({ segment }) => segment.text(name) ?? [])
    return columns.length === 0 ? [] : [{ analyzer: analyzerOf(reader.schema, field, dictionaries), columns }]
  })
  return words.map((word) => {
    let documents = 0,
      isBeginning = false
    for (const { analyzer, columns } of asked) {
      const tokens = analyzer.tokenize(word).map(encodeUtf8)
      if (tokens.length === 0) continue
      let least = Infinity
      for (const token of tokens) {
        let own = 0
        for (const column of columns) {
          const term = column.terms.find(token)
          if (term >= 0) own += column.frequency(term)
          if (tokens.length > 1 || isBeginning) continue
          const from = column.terms.lowerBound(token)
          isBeginning = column.terms.prefixEnd(token, from) > from
        }
        least = Math.min(least, own)
      }
      documents += least
    }
    return { documents, isBeginning }
  })
}
