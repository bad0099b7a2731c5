/** Input and output of an analyzer. */
import { type AsciiTokens } from "./ascii-tokens.ts"

export interface TokenSpan {
  token: string
  start: number
  end: number
}
export interface Analyzer {
  /** Tokens in order; positions are indexes. O(text). */
  tokenize(text: string): string[]
  /** The same as bytes, if the text is ASCII and words are not stemmed; false if `tokenize` must be used. O(text). */
  asciiTokens(text: string, into: AsciiTokens): boolean
  /**
   * The same tokens with their offsets: dropped characters are excluded at the edges of a token and included inside.
   */
  tokenizeWithOffsets(text: string): Array<TokenSpan>
  /**
   * The same spans for a caller that looks for a few words: a token that cannot be in `wanted` may be left empty. Cost:
   * one pass over the characters, without a string per token.
   */
  spansFor(text: string, wanted: WantedTokens): Array<TokenSpan>
  /**
   * The tokens of an ASCII text that may be in `wanted`, if words need no folding; false if `spansFor` must be used.
   * O(text).
   */
  fewTokens(text: string, wanted: WantedTokens, into: FewTokens): boolean
  readonly typosAllowed: boolean
  readonly stems: boolean
  /** The same analysis without stemming, for phrases of a query and for highlighting. Itself if nothing is stemmed. */
  readonly unstemmed: Analyzer
  /** The root of one token of `unstemmed`; the token itself if nothing is stemmed. */
  stem(token: string): string
  /** True when every character of `symbol` (one ASCII character) stays inside tokens. */
  indexesSymbol(symbol: string): boolean
}
/**
 * Tokens to look for, as the ASCII characters with which they start, including capitals; tokens that start with any
 * other character are always kept.
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
/** Tokens that a caller may be looking for, reused from text to text: the first `size` of each list are valid. */
export class FewTokens {
  size = 0
  readonly tokens: string[] = []
  /** Index of each among all tokens. */ readonly places: number[] = []
  readonly starts: number[] = []
  readonly ends: number[] = []
  /** Number of all tokens of the text. */ count = 0
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
/** No language has longer words. The bound exists because stemmers cache the words they were given. */
export const STEMMED_LENGTH_MAX = 256
export const sameToken = (token: string): string => token
