/** Keys that order texts as the reference engine orders them. */
import { type AsciiTokens, HASH_PRIME, HASH_SEED } from "./ascii-tokens.ts"
import { foldCharacter, isCombiningMark } from "./transliterate.ts"
import { characterClasses, combine, DROP, foldedCharacters, isPair, SPLIT } from "./character-classes.ts"

const SORT_KEY_LENGTH_MAX = 2_000
const sortClasses = characterClasses([], [])
const sortFolded = foldedCharacters(sortClasses)
sortFolded[32] = 32
/** Prefix of letters that have no ASCII form, so that they sort before Latin ones, as in the reference engine. */
const BEFORE_LATIN = "\u0001"
const sortable = (folded: string): string => {
  for (let i = 0; i < folded.length; i++) if (folded.charCodeAt(i) >= 128) return BEFORE_LATIN + folded
  return folded
}
/**
 * The key by which a string sorts (`docs/contract/text.md#sort-texts`), compared by its UTF-8 bytes: lower case,
 * accents folded, punctuation removed, spaces kept, at most 2,000 characters. "" sorts as missing.
 */
export const sortKeyOfString = (text: string): string => {
  let out = ""
  for (let i = 0; i < text.length && out.length < SORT_KEY_LENGTH_MAX; i++) {
    const code = text.charCodeAt(i)
    if (code < 128) {
      if (code === 32 || (sortClasses[code] !== DROP && sortClasses[code] !== SPLIT)) out += text[i]
    } else if (isPair(text, i, code)) {
      out += sortable(foldCharacter(text.slice(i, i + 2)))
      i++
    } else out = isCombiningMark(code) ? combine(out, text[i]) : out + sortable(foldCharacter(text[i]))
  }
  return out.toLowerCase().slice(0, SORT_KEY_LENGTH_MAX)
}
/** The same as bytes of one token (none: count 0) if the text is ASCII; false if `sortKeyOfString` must be used. */
export const asciiSortKey = (text: string, into: AsciiTokens): boolean => {
  if (!into.read(text)) return false
  const { bytes } = into,
    { length } = text
  let at = 0,
    hash = HASH_SEED
  for (let i = 0; i < length && at < SORT_KEY_LENGTH_MAX; i++) {
    const code = sortFolded[bytes[i]]
    if (code < 0) continue
    bytes[at++] = code
    hash = Math.imul(hash ^ code, HASH_PRIME)
  }
  into.ends[0] = at
  into.hashes[0] = hash >>> 0
  into.count = at === 0 ? 0 : 1
  return true
}
