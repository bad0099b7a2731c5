/**
 * Parses a request in words into a query, a filter and an order: the embedded model `dowser/rules` (English, German,
 * Spanish, French, Russian). It reads from the left, and the longest reading at each position counts: a comparison with
 * its number, an exclusion, an order, a boolean field, a value of a facet. Every other word stays in the query. Pure;
 * some ten microseconds a word.
 */
import { filterText } from "./constraints.ts"
import type { RuleFacts } from "./facts.ts"
import { leftOver } from "./left-over.ts"
import { Reader } from "./reader.ts"
import { tokensOf } from "./tokens.ts"
import { type Language, languageOfWords } from "./words.ts"
import { merged } from "./merged.ts"

interface ParsedRules {
  /** The rest of the query, `*` if nothing is left. */ readonly q: string
  /** Empty if the request contains none. */ readonly filter_by: string
  readonly sort_by: string
}

/** Of a longer text, the rest stays in the query. */
const CHARACTERS_MAX = 1_000
const CLAUSES_MAX = 16
const SORTS_MAX = 3

const COMMA_LANGUAGES: ReadonlySet<Language | undefined> = new Set<Language | undefined>(["de", "es", "fr", "ru"])

export const parseRules = (text: string, facts: RuleFacts): ParsedRules => {
  const q = text.slice(0, CHARACTERS_MAX).toWellFormed().replace(/\s/g, " ")
  const words = tokensOf(q, false)
  const language = languageOfWords(words.map((token) => token.text))
  const tokens = tokensOf(q, COMMA_LANGUAGES.has(language))
  const { asked, readings } = new Reader(q, tokens, facts, language).read()
  const constraints = merged(tokens, readings)
  const filters = new Set<string>()
  for (const constraint of constraints) {
    const filter = filterText(constraint)
    if (filter !== undefined && filters.size < CLAUSES_MAX) filters.add(filter)
  }
  const sorts = new Map<string, string>()
  for (const { sort } of readings)
    if (sort !== undefined && sorts.size < SORTS_MAX && !sorts.has(sort.field)) sorts.set(sort.field, sort.order)
  const rest = text.slice(CHARACTERS_MAX)
  return {
    q: leftOver(q, tokens, readings, asked) + rest,
    filter_by: [...filters].join(" && "),
    sort_by: [...sorts].map(([field, order]) => `${field}:${order}`).join(",")
  }
}
