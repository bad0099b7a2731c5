/** How each ASCII character is treated, and which characters are combined from two. */
import { foldCharacter } from "./transliterate.ts"

export const DROP = 0,
  KEEP = 1,
  UPPER = 2,
  SPLIT = 3
export const characterClasses = (symbols: ReadonlyArray<string>, separators: ReadonlyArray<string>): Uint8Array => {
  const classes = new Uint8Array(128)
  classes[32] = SPLIT
  classes[10] = SPLIT
  for (const separator of separators) if (separator.charCodeAt(0) < 128) classes[separator.charCodeAt(0)] = SPLIT
  for (let code = 48; code < 58; code++) classes[code] = KEEP
  for (let code = 97; code < 123; code++) {
    classes[code] = KEEP
    classes[code - 32] = UPPER
  }
  for (const symbol of symbols) {
    const code = symbol.charCodeAt(0)
    if (code < 128 && classes[code] !== UPPER) classes[code] = KEEP
  }
  return classes
}

/** Stands behind the last character of a text, where `foldedCharacters` splits. */
export const TEXT_END = 128
const DROPPED = -1
export const SPLITS = -2
/** What becomes of each character: its lower case, `SPLITS`, or another negative number if it is dropped. */
export const foldedCharacters = (classes: Uint8Array): Int16Array =>
  Int16Array.from({ length: TEXT_END + 1 }, (_, code) => {
    const kind = code === TEXT_END ? SPLIT : classes[code]
    return kind === DROP ? DROPPED : kind === SPLIT ? SPLITS : kind === UPPER ? code + 32 : code
  })

/** Bits of `scannedCharacters`; a character that is neither of the first two separates tokens. */
export const IN_TOKEN = 1,
  DROPPED_HERE = 2,
  ESCAPED_IN_JSON = 4
const QUOTE = 34,
  BACKSLASH = 92
/** What a scan for tokens needs to know about each character. */
export const scannedCharacters = (classes: Uint8Array): Uint8Array =>
  Uint8Array.from({ length: TEXT_END + 1 }, (_, code) => {
    if (code === TEXT_END) return 0
    const kind = classes[code]
    return (
      (kind === KEEP || kind === UPPER ? IN_TOKEN : kind === DROP ? DROPPED_HERE : 0) |
      (code < 32 || code === QUOTE || code === BACKSLASH ? ESCAPED_IN_JSON : 0)
    )
  })

/** Whether both halves of a surrogate pair are present; a lone half is removed on its own. */
export const isPair = (text: string, i: number, code: number): boolean =>
  code >= 0xd800 && code < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00
/** Applies a separate combining mark: on a plain ASCII letter it disappears, like the mark of a composed letter. */
export const combine = (token: string, mark: string): string => {
  const last = token.charCodeAt(token.length - 1)
  if (token === "" || last < 128) return token
  const composed = (token[token.length - 1] + mark).normalize("NFC")
  return composed.length === 1 ? token.slice(0, -1) + foldCharacter(composed) : token + mark
}
