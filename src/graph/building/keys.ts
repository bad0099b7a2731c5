/**
 * Decides which texts name the same thing, and which name nothing: `Café Lamps`, `cafe lamp` and `CAFE-LAMP` share a
 * key; a number with a unit has none. Pure.
 */

/** A longer value is a sentence. */
const CHARACTERS_MAX = 100
const WORDS_MAX = 8

/** English only: in other languages this would remove endings that are not plurals from half of all words. */
const singularOf = (word: string): string => {
  if (word.length < 4 || /(?:ss|us|is)$/.test(word)) return word
  if (/[^aeiou]ies$/.test(word)) return `${word.slice(0, -3)}y`
  if (/(?:s|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2)
  return word.endsWith("s") ? word.slice(0, -1) : word
}
/** Words in lower case, without accents, plurals and punctuation. */
export const foldedWords = (text: string): ReadonlyArray<string> => {
  const plain = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/['’]s\b/gu, "")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
  return plain === "" ? [] : plain.split(" ").map(singularOf)
}

const UNITS = new Set(
  `mm cm dm m km inch in ft foot feet yd mile g kg mg lb oz ton t l ml cl dl qt gal w kw mw wh kwh v kv mv a ma mah ah
  hz khz mhz ghz bit byte kb mb gb tb pb px mp fps dpi rpm db nm bar psi k c f pa hpa x by to from up over under or and
  eur usd gbp percent pct year yr month day week hour hr h min minute sec second s pc piece pack set ct count person
  inche cd lm va mbp gbp mbit gbit`.split(/\s+/)
)
const NAMELESS = new Set("yes no true false none n a other unknown various all any not applicable default".split(" "))

/** Numbers, and numbers with units: `0 - 40`, `12V`, `1.5 kg`, `5 to 10 min`. */
const isQuantity = (words: ReadonlyArray<string>): boolean => {
  const parts = words.flatMap((word) => word.match(/\p{N}+|[^\p{N}]+/gu) ?? [])
  return parts.some((part) => /\p{N}/u.test(part)) && parts.every((part) => /\p{N}/u.test(part) || UNITS.has(part))
}

/** The common key of texts that name the same thing; undefined for a text that names nothing. */
export const keyOf = (text: string): string | undefined => {
  if (text.length > CHARACTERS_MAX || !text.isWellFormed() || text.includes("\u0000")) return undefined
  const words = foldedWords(text)
  if (words.length === 0 || words.length > WORDS_MAX) return undefined
  if (isQuantity(words) || words.every((word) => NAMELESS.has(word))) return undefined
  const key = words.join(" ")
  return key.length < 2 ? undefined : key
}
