/**
 * Prints words of a plan as a text that is parsed to the same words. The plan's words have been analysed already; if
 * analysing one again changes it, an original word is searched for, and if there is none the plan is refused.
 */
import type { Analyzer } from "../analysis/mod.ts"
import type { TextQuery } from "../plan.ts"
import { parseQueryWords } from "../query/mod.ts"
import { Unprintable } from "./refusals.ts"

/** The endings that stemmers remove most often. */
const ENDINGS = ["s", "e", "es", "ed", "ing", "er", "ly", "y", "n", "en"]
const PLAIN = /^[a-z0-9]+$/
/** Whether analysing it again leaves it unchanged, whatever the field. */
const isPlain = (token: string, analyzer: Analyzer): boolean => !analyzer.stems && PLAIN.test(token)

const same = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a.length === b.length && a.every((token, i) => token === b[i])

/** A word that is analysed as `token`; undefined if none was found. `near`: words that may be the original. */
const wordOf = (token: string, analyzer: Analyzer, near: ReadonlyArray<string>): string | undefined => {
  if (isPlain(token, analyzer)) return token
  const tried = [token, ...near, ...ENDINGS.map((ending) => token + ending), token.replace(/i$/, "y")]
  return tried.find((word) => same(analyzer.tokenize(word), [token]))
}
/** A text that is analysed as `tokens`. */
export const textOf = (
  tokens: ReadonlyArray<string>,
  analyzer: Analyzer,
  parameter: string,
  near: ReadonlyArray<string> = []
): string => {
  const words = tokens.map((token) => wordOf(token, analyzer, near))
  const text = words.join(" ")
  if (words.includes(undefined) || !(words.length === 1 || same(analyzer.tokenize(text), tokens)))
    throw new Unprintable("text_score_values", parameter, `way to say the words \`${tokens.join(" ").slice(0, 100)}\``)
  return text
}

interface AskedWords {
  readonly q: string
  readonly pre_segmented_query?: true
}
interface WordsContext {
  readonly analyzer: Analyzer
  readonly locale: string
  readonly symbolsToIndex: ReadonlyArray<string>
  readonly tokenSeparators: ReadonlyArray<string>
  /** The query as requested. */ readonly asked: string
}
const quoted = (words: ReadonlyArray<string>): string => `"${words.join(" ")}"`
const MANY = 100_000

/**
 * `q`, and how to parse it. The text as requested is used if it yields these words, because highlighting also reads it;
 * otherwise the words, which are already segmented and must not be segmented again.
 */
export const printWords = (text: TextQuery, context: WordsContext): AskedWords => {
  const { analyzer, asked, symbolsToIndex } = context
  if (asked.trim() !== "*" && asked !== "" && isReadAs(text, asked, false, context)) return { q: asked }
  const near = asked.toLowerCase().split(/[^\p{L}\p{N}]+/u)
  const excluded = text.excluded.map((words) =>
    words.length === 1 ? `-${textOf(words, analyzer, "q", near)}` : `-${quoted(words)}`
  )
  const parts = [...text.surface, ...text.phrases.map(quoted), ...excluded]
  // A text without words matches everything, like an empty query.
  const nothing = symbolsToIndex.includes("-") ? "!" : "-"
  const q = parts.length === 0 ? nothing : parts.join(" ")
  const isCut = excluded.length === 0 && parts.length > 0
  if (isCut && isReadAs(text, q, true, context)) return { q, pre_segmented_query: true }
  if (isReadAs(text, q, false, context)) return { q }
  throw new Unprintable("text_score_values", "q", "way to say these words")
}
const isReadAs = (text: TextQuery, q: string, preSegmented: boolean, context: WordsContext): boolean => {
  const { analyzer } = context
  const read = parseQueryWords(q, { ...context, stopwords: new Set(), preSegmented, words_max: MANY })
  const stems = (words: ReadonlyArray<string>) =>
    words.length === 1 ? words.map((word) => analyzer.stem(word)) : words
  return (
    same(read.words, text.surface) &&
    JSON.stringify(read.phrases) === JSON.stringify(text.phrases) &&
    JSON.stringify(read.excluded.map(stems)) === JSON.stringify(text.excluded)
  )
}
