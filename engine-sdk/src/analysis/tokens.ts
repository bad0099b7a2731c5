/** Input and output of an analyzer. */
import type { AsciiTokens } from "./ascii-tokens.ts"
import type { TextTokens, TokenSpan, WantedTokens } from "./text-tokens.ts"

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
   * The same tokens for a caller that looks for a few words: those that cannot be in `wanted` may be left out of the
   * texts. `wanted` undefined: all of them. A token within which characters are dropped (`dv7-1211ea`) is never left
   * out: a named ranking reads it as several words. O(text).
   */
  readTokens(text: string, wanted: WantedTokens | undefined, into: TextTokens): void
  readonly typosAllowed: boolean
  readonly stems: boolean
  /** The same analysis without stemming, for phrases of a query and for highlighting. Itself if nothing is stemmed. */
  readonly unstemmed: Analyzer
  /** The root of one token of `unstemmed`; the token itself if nothing is stemmed. */
  stem(token: string): string
  /** True when every character of `symbol` (one ASCII character) stays inside tokens. */
  indexesSymbol(symbol: string): boolean
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
