/**
 * The tokens of a text with their offsets, for callers that look for a few words: only those that may be wanted become
 * strings. Highlighting reads every text of a page this way.
 */
import { AsciiText } from "./ascii-tokens.ts"
import { DROPPED_HERE, ESCAPED_IN_JSON, IN_TOKEN } from "./character-classes.ts"

export interface TokenSpan {
  token: string
  start: number
  end: number
}

/**
 * Words to look for, by their first two characters: bit `second & 31` of row `first & 31`. Capitals have the same bits
 * as small letters, and other characters may share them, so that a token may be taken for a wanted one.
 */
export type WantedTokens = ReadonlyArray<number>
const ROWS = 32,
  ROW_MASK = ROWS - 1
/** `starts`: what words to look for may start with; also entire words. */
export const wantedTokens = (starts: Iterable<string>): WantedTokens => {
  const rows = new Array<number>(ROWS).fill(0)
  for (const start of starts)
    rows[start.charCodeAt(0) & ROW_MASK] |= start.length < 2 ? -1 : 1 << (start.charCodeAt(1) & ROW_MASK)
  return rows
}
/** False if no wanted token starts with these two characters; `second` undefined: with the first one. */
export const mayBeWanted = (wanted: WantedTokens, first: number, second: number | undefined): boolean => {
  const row = wanted[first & ROW_MASK]
  return second === undefined ? row !== 0 : (row & (1 << (second & ROW_MASK))) !== 0
}

/** Longer texts are not scanned, so that the space that is kept has a bound: seven bytes per character. */
const SCANNED_MAX = 65_536

/** Filled for one text after another (`Analyzer.readTokens`). */
export class TextTokens {
  /** Number of tokens of the text. */ count = 0
  /** Token `i` is the text from `edges[2 * i]` to `edges[2 * i + 1]`, in UTF-16 units. */
  edges = new Uint32Array(1_024)
  /** Tokens that may be wanted, in order. */ readonly texts: string[] = []
  /** Index of each among all tokens. */ readonly places: number[] = []
  /** Whether the text is known to be ASCII. */ isAscii = false
  /** Whether all tokens are known to be what is written between their edges, in lower case. */ areLower = false
  /** Whether the text is known to be the same as JSON, between quotation marks. */ isPlainJson = false
  /** Indexes of the tokens within which characters were dropped, in order. */ readonly broken: number[] = []
  readonly #ascii = new AsciiText()

  /** The text's characters after `scan`. */
  get bytes(): Uint8Array {
    return this.#ascii.bytes
  }
  /** Adds token `place` to those that may be wanted. */
  add(place: number, token: string): void {
    if (token === "") return
    this.texts.push(token)
    this.places.push(place)
  }
  /**
   * Finds the offsets of all tokens; false if the text is long or not ASCII. `kinds`: `scannedCharacters`. Cost: about
   * one nanosecond per character, because it has no branch that depends on where words end.
   */
  scan(text: string, kinds: Uint8Array): boolean {
    this.#clear()
    const { length } = text
    if (length > SCANNED_MAX || !this.#ascii.read(text)) return false
    if (this.edges.length < length + 2) this.edges = new Uint32Array(Math.min(SCANNED_MAX, length * 2) + 2)
    const { edges } = this,
      { bytes } = this.#ascii
    let n = 0,
      inside = 0,
      seen = 0
    // A token's edge is where a character inside of tokens meets one outside; `TEXT_END` is outside.
    for (let i = 0; i <= length; i++) {
      const kind = kinds[bytes[i]],
        isInside = kind & IN_TOKEN
      edges[n] = i
      n += isInside ^ inside
      inside = isInside
      seen |= kind
    }
    this.count = n >>> 1
    this.isAscii = true
    this.isPlainJson = (seen & ESCAPED_IN_JSON) === 0
    if ((seen & DROPPED_HERE) !== 0) this.#joinBroken(kinds)
    return true
  }
  /** Fills it from tokens that were found otherwise. */
  take(spans: ReadonlyArray<TokenSpan>): void {
    this.#clear()
    this.count = spans.length
    // Those of a long text are not kept.
    if (this.edges.length < spans.length * 2) this.edges = new Uint32Array(spans.length * 2)
    for (let i = 0; i < spans.length; i++) {
      const { end, start, token } = spans[i]
      this.edges[2 * i] = start
      this.edges[2 * i + 1] = end
      this.add(i, token)
    }
  }
  /** Pieces between which all characters were dropped are one token. */
  #joinBroken(kinds: Uint8Array): void {
    const { edges } = this,
      { bytes } = this
    let n = 0
    for (let i = 0; i < this.count; i++) {
      const start = edges[2 * i],
        end = edges[2 * i + 1]
      if (n > 0 && !hasSeparator(kinds, bytes, edges[2 * n - 1], start)) {
        edges[2 * n - 1] = end
        if (this.broken.at(-1) !== n - 1) this.broken.push(n - 1)
        continue
      }
      edges[2 * n] = start
      edges[2 * n + 1] = end
      n++
    }
    this.count = n
  }
  #clear(): void {
    // Also so that tokens do not keep the documents alive of which they are parts.
    this.texts.length = this.places.length = this.broken.length = this.count = 0
    if (this.edges.length > SCANNED_MAX + 2) this.edges = new Uint32Array(1_024)
    this.isAscii = this.areLower = this.isPlainJson = false
  }
}
const hasSeparator = (kinds: Uint8Array, bytes: Uint8Array, from: number, end: number): boolean => {
  for (let at = from; at < end; at++) if ((kinds[bytes[at]] & (IN_TOKEN | DROPPED_HERE)) === 0) return true
  return false
}
