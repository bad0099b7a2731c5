/** What an analyzer makes of a text, and what it is asked to make. */
import { type AsciiTokens } from "./ascii-tokens.ts"

export interface TokenSpan {
  token: string
  start: number
  end: number
}
export interface Analyzer {
  /** Tokens in order; positions are indexes. O(text). */
  tokenize(text: string): string[]
  /**
   * The same as bytes, where the text is ASCII and words stay as they are written; false where `tokenize` has to do it.
   * O(text).
   */
  asciiTokens(text: string, into: AsciiTokens): boolean
  /**
   * The same tokens with where they came from: dropped characters at the edges are outside, inside they are covered.
   */
  tokenizeWithOffsets(text: string): Array<TokenSpan>
  /**
   * The same spans for a caller that looks for few words: a token may be left empty where none of `wanted` can be it.
   * Cost: one pass over the characters, without a string per token.
   */
  spansFor(text: string, wanted: WantedTokens): Array<TokenSpan>
  /**
   * The tokens of an ASCII text that may be among the wanted ones, where words need no folding; false where `spansFor`
   * has to do it. O(text).
   */
  fewTokens(text: string, wanted: WantedTokens, into: FewTokens): boolean
  readonly typosAllowed: boolean
  readonly stems: boolean
  /**
   * The same analysis without stemming: phrases of a query and words for highlighting. Itself when nothing is stemmed.
   */
  readonly unstemmed: Analyzer
  /** Root of one token of `unstemmed`; the token itself when nothing is stemmed. */
  stem(token: string): string
  /** True when every character of `symbol` (one ASCII character) stays inside tokens. */
  indexesSymbol(symbol: string): boolean
}
/**
 * Tokens that are looked for: which ASCII characters they begin with, capitals too; every token that begins otherwise
 * is kept.
 */
export type WantedTokens = Uint8Array
export const wantedTokens = (tokens: Iterable<string>): WantedTokens => {
  const firsts = new Uint8Array(128)
  for (const token of tokens) {
    const code = token.charCodeAt(0)
    if (code < 128) firsts[code] = 1
    if (code >= 97 && code < 123) firsts[code - 32] = 1
  }
  return firsts
}
/** Tokens of a text that a caller may be looking for, reused from text to text: the first `size` of each list. */
export class FewTokens {
  size = 0
  readonly tokens: string[] = []
  /** Places among all tokens. */ readonly places: number[] = []
  readonly starts: number[] = []
  readonly ends: number[] = []
  /** All tokens of the text. */ count = 0
}
export type Dictionaries = (name: string) => ReadonlyMap<string, string> | undefined

export interface AnalyzerOptions {
  readonly locale: string
  readonly symbolsToIndex: ReadonlyArray<string>
  readonly tokenSeparators: ReadonlyArray<string>
  readonly truncateLength: number
  readonly stem: (token: string) => string
  readonly stems: boolean
}
export const TRUNCATE_LENGTH = 100
/** No language has longer words; stemmers keep the words they were asked. */
export const STEMMED_LENGTH_MAX = 256
export const sameToken = (token: string): string => token
