/**
 * Splits `q` into words, phrases and exclusions (`docs/contract/text.md#queries`). The text is first split into chunks
 * that may still carry a minus or a quotation mark; each chunk is then analysed as the highest-weighted field would.
 */
import { createAnalyzer, type Analyzer } from "../analysis/mod.ts"

export interface QueryWords {
  /** Words before stemming. */ readonly words: ReadonlyArray<string>
  readonly phrases: ReadonlyArray<ReadonlyArray<string>>
  readonly excluded: ReadonlyArray<ReadonlyArray<string>>
  /** There were words, and all of them were stop words. */ readonly onlyStopwords: boolean
}
interface QueryTextOptions {
  readonly analyzer: Analyzer
  readonly locale: string
  readonly symbolsToIndex: ReadonlyArray<string>
  readonly tokenSeparators: ReadonlyArray<string>
  readonly stopwords: ReadonlySet<string>
  readonly preSegmented: boolean
  /** Words beyond this number are dropped. */ readonly words_max: number
}
const WORD_LENGTH_MAX = 100

const SYMBOLS = ["-", '"']
/** Cached by the lists of a schema, which exist as long as the schema does. */
const chunkers = new WeakMap<
  ReadonlyArray<string>,
  { readonly separators: ReadonlyArray<string>; readonly analyzer: Analyzer }
>()
const chunker = (symbols: ReadonlyArray<string>, separators: ReadonlyArray<string>): Analyzer => {
  const known = chunkers.get(symbols)
  if (known?.separators === separators) return known.analyzer
  const analyzer = createAnalyzer({
    symbolsToIndex: [...symbols, ...SYMBOLS],
    tokenSeparators: separators,
    truncateLength: 10_000
  })
  chunkers.set(symbols, { separators, analyzer })
  return analyzer
}
const chunksOf = (q: string, options: QueryTextOptions): string[] => {
  if (options.preSegmented) return q.split(" ").filter((chunk) => chunk !== "")
  if (options.locale === "" || options.locale === "en" || options.locale === "de_en")
    return chunker(options.symbolsToIndex, options.tokenSeparators).tokenize(q)
  const symbols = [...options.symbolsToIndex, ...SYMBOLS]
  const separators = options.tokenSeparators.filter((separator) => !symbols.includes(separator))
  let spaced = q
  for (const separator of separators) spaced = spaced.replaceAll(separator, " ")
  return spaced.split(/\s+/).filter((chunk) => chunk !== "")
}

/** O(text). A minus that is an indexed symbol does not exclude anything. */
export const parseQueryWords = (q: string, options: QueryTextOptions): QueryWords => {
  const all = chunksOf(q, options).slice(0, options.words_max)
  const chunks = options.stopwords.size === 0 ? all : withoutStopwords(all, options)
  if (chunks.length === 0) return { words: [], phrases: [], excluded: [], onlyStopwords: all.length > 0 }
  const excludes = !options.preSegmented && !options.symbolsToIndex.includes("-")
  const words: string[] = []
  const phrases: string[][] = []
  const excluded: string[][] = []
  let phrase: string[] = []
  let inPhrase = false
  let excluding = false
  let left = options.words_max
  for (let chunk of chunks) {
    if (left <= 0) break
    if (excludes && !inPhrase) {
      if (chunk === "-") continue
      if (chunk.startsWith("-")) {
        excluding = true
        chunk = chunk.slice(1)
      }
    }
    let opened = false
    let closes = false
    if (chunk.startsWith('"') && chunk.length > 1 && !inPhrase) {
      inPhrase = true
      opened = true
      chunk = chunk.slice(1)
    }
    if (chunk.endsWith('"')) {
      if (inPhrase) {
        closes = true
        chunk = chunk.slice(0, -1)
      } else if (chunk === '"' && !opened) {
        inPhrase = true
        chunk = ""
      }
    }
    const tokens = options.preSegmented
      ? [chunk.toLowerCase()].filter((token) => token !== "")
      : options.analyzer.unstemmed.tokenize(chunk)
    for (const token of tokens) {
      // In a script without spaces, one chunk has many words.
      if (left-- <= 0) break
      const cut = token.length > WORD_LENGTH_MAX ? token.slice(0, WORD_LENGTH_MAX) : token
      if (inPhrase) phrase.push(cut)
      else if (excluding) excluded.push([cut])
      else words.push(cut)
    }
    if (closes) {
      // A phrase without words matches nothing, as in the reference engine; if it is excluded, it excludes nothing.
      if (phrase.length > 0 || !excluding) (excluding ? excluded : phrases).push(phrase)
      phrase = []
      inPhrase = false
    }
    if (!inPhrase) excluding = false
  }
  // A quotation mark that is never closed does not start a phrase.
  if (phrase.length > 0) {
    if (excluding) excluded.push(phrase)
    else words.push(...phrase)
  }
  return { words, phrases, excluded, onlyStopwords: false }
}
const withoutStopwords = (chunks: ReadonlyArray<string>, options: QueryTextOptions): string[] =>
  chunks.filter(
    (chunk) =>
      !options.stopwords.has(chunk) &&
      !(options.locale !== "" && options.stopwords.has(options.analyzer.unstemmed.tokenize(chunk).join("")))
  )
