/**
 * What the index knows about words (`SearchEngine.words`): it looks them up in the dictionaries of fields and checks
 * whether a visible document contains them.
 */
import { analyzerOf } from "../analysis/analyzer.ts"
import type { WordsRequest, WordUse } from "../engine.ts"
import { hasBit, type ReadonlyBits } from "../index/bits.ts"
import { encodeUtf8 } from "../index/bytes.ts"
import type { TextColumn } from "../index/columns.ts"
import type { CollectionReader } from "../index/reader.ts"
import { fieldNamed } from "../query/query-context.ts"
import { isOver, spend } from "../budget/cutoff.ts"
import { allowedBits } from "./filter/filters.ts"
import type { SearchScope } from "./scope.ts"

const LOOK_STEPS = 64
/** Maximum number of completions of a word that are checked for a visible document. */
const COMPLETIONS_MAX = 64

interface Dictionary {
  readonly column: TextColumn
  /** Documents that may be counted; undefined: all. */ readonly allowed: ReadonlyBits | undefined
}

/**
 * O(words · fields · segments · log terms), plus documents of words that a filter hides or that were deleted. undefined
 * if time runs out before all are known. A text that a field splits into words is indexed if all of them are.
 */
export const wordUses = (
  scope: SearchScope,
  reader: CollectionReader,
  { fields, filter, words }: WordsRequest
): ReadonlyArray<WordUse> | undefined => {
  const allowed = allowedBits(scope, reader, filter)
  const asked = fields.flatMap((name) => {
    const field = fieldNamed(reader.schema, name)
    if (field === undefined) return []
    const dictionaries = reader.views.flatMap(({ segment }, s): ReadonlyArray<Dictionary> => {
      const column = segment.text(name)
      return column === undefined ? [] : [{ column, allowed: allowed[s] }]
    })
    return [{ analyzer: analyzerOf(reader.schema, field, scope.dictionaries), dictionaries }]
  })
  const uses: WordUse[] = []
  for (const word of words) {
    let isIndexed = false,
      isBeginning = false
    for (const { analyzer, dictionaries } of asked) {
      const tokens = analyzer.tokenize(word).map(encodeUtf8)
      if (tokens.length === 0) continue
      isIndexed ||= tokens.every((token) => dictionaries.some((own) => holds(own, token)))
      isBeginning ||= tokens.length === 1 && dictionaries.some((own) => begins(own, tokens[0]))
      if (isIndexed && isBeginning) break
    }
    if (isOver()) return undefined
    uses.push({ isIndexed, isBeginning })
  }
  return uses
}

const leads = ({ allowed, column: { docs, starts } }: Dictionary, term: number): boolean => {
  if (allowed === undefined) return true
  for (let p = starts[term]; p < starts[term + 1] && !spend(1); p++) if (hasBit(allowed, docs[p])) return true
  return false
}
const holds = (own: Dictionary, token: Uint8Array): boolean => {
  if (spend(LOOK_STEPS)) return false
  const term = own.column.terms.find(token)
  return term >= 0 && leads(own, term)
}
const begins = (own: Dictionary, token: Uint8Array): boolean => {
  if (spend(LOOK_STEPS)) return false
  const { terms } = own.column
  const from = terms.lowerBound(token),
    end = Math.min(terms.prefixEnd(token, from), from + COMPLETIONS_MAX)
  for (let term = from; term < end; term++) if (leads(own, term)) return true
  return false
}
