/**
 * Letters of other alphabets in the form of search tokens: Latin letters with marks become plain ASCII, Cyrillic and
 * Greek are romanized if a field's locale requires it, all other letters are kept and case-folded. The tables are facts
 * about writing systems; `analyzer.ts` decides which one applies to a field.
 */

/** Latin letters and symbols that compatibility decomposition does not reduce to ASCII, in lower case. */
const LATIN: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ß: "ss",
    ẞ: "ss",
    æ: "ae",
    Æ: "ae",
    œ: "oe",
    Œ: "oe",
    ø: "o",
    Ø: "o",
    đ: "d",
    Đ: "d",
    ð: "d",
    Ð: "d",
    þ: "th",
    Þ: "th",
    ł: "l",
    Ł: "l",
    ħ: "h",
    Ħ: "h",
    ı: "i",
    ŧ: "t",
    Ŧ: "t",
    ŋ: "n",
    Ŋ: "n",
    ĸ: "q",
    ə: "e",
    Ə: "e",
    ƒ: "f",
    "€": "eur",
    "©": "c",
    "®": "r",
    "°": "0",
    "×": "x",
    "¢": "c",
    "£": "gbp",
    "¥": "yen",
    µ: "u",
    "•": "o"
  })
)

const asciiOf = (character: string): string | undefined => {
  const special = LATIN.get(character)
  if (special !== undefined) return special
  const decomposed = character.normalize("NFKD")
  let plain = ""
  for (let i = 0; i < decomposed.length; i++) {
    const code = decomposed.charCodeAt(i)
    if (code < 128) {
      if (isAlphanumeric(code)) plain += decomposed[i]
      continue
    }
    if (isCombiningMark(code) || isTypographic(code)) continue
    const inner = LATIN.get(decomposed[i])
    if (inner === undefined) return undefined
    plain += inner
  }
  return plain.toLowerCase()
}
const isAlphanumeric = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
export const isCombiningMark = (code: number): boolean => code >= 0x300 && code <= 0x36f
/**
 * Quotation marks, dashes, dots and marks of the Latin-1 block: their ASCII forms are not letters, so they are dropped.
 */
const isTypographic = (code: number): boolean =>
  (code >= 0x80 && code <= 0xb9 && code !== 0xaa && code !== 0xb5) ||
  code === 0xbb ||
  code === 0xbf ||
  code === 0xf7 ||
  (code >= 0x2b0 && code <= 0x2ff) ||
  (code >= 0x2000 && code <= 0x206f) ||
  (code >= 0x20d0 && code <= 0x20ff) ||
  (code >= 0x2190 && code <= 0x2193) ||
  code === 0xfeff

const BMP_CACHE: Array<string | undefined> = []
/**
 * The token text of one non-ASCII character: ASCII letters and digits, nothing (typographic marks), or the character
 * itself in lower case. Cached per character, O(1).
 */
export const foldCharacter = (character: string): string => {
  if (character.length > 1) return asciiOf(character) ?? character.toLowerCase()
  const code = character.charCodeAt(0)
  const known = BMP_CACHE[code]
  if (known !== undefined) return known
  // A dotted capital becomes two characters in lower case, but the table and the decomposition have already reduced it
  // to ASCII.
  const folded = asciiOf(character) ?? caseFold(character)
  BMP_CACHE[code] = folded
  return folded
}

/**
 * Lower case, with sharp s as two letters, final sigma as sigma, and a dotted capital i as i, so that every spelling of
 * a word is one token.
 */
export const caseFold = (text: string): string => {
  const lower = text.toLowerCase()
  // oxlint-disable-next-line no-misleading-character-class -- the combining dot is looked for by itself
  return /[ßς\u0307]/.test(lower) ? lower.replaceAll("ß", "ss").replaceAll("ς", "σ").replaceAll("i\u0307", "i") : lower
}

const CYRILLIC: ReadonlyMap<string, string> = new Map(
  Object.entries({
    а: "a",
    б: "b",
    в: "v",
    г: "g",
    ґ: "g",
    д: "d",
    ђ: "dj",
    ѓ: "g",
    е: "e",
    ё: "e",
    є: "ye",
    ж: "zh",
    з: "z",
    ѕ: "z",
    и: "i",
    і: "i",
    ї: "yi",
    й: "y",
    ј: "j",
    к: "k",
    ќ: "k",
    л: "l",
    љ: "lj",
    м: "m",
    н: "n",
    њ: "nj",
    о: "o",
    п: "p",
    р: "r",
    с: "s",
    т: "t",
    ћ: "c",
    у: "u",
    ў: "u",
    ф: "f",
    х: "kh",
    ц: "ts",
    ч: "ch",
    џ: "dz",
    ш: "sh",
    щ: "shch",
    ъ: "",
    ы: "y",
    ь: "",
    э: "e",
    ю: "yu",
    я: "ya"
  })
)
const GREEK: ReadonlyMap<string, string> = new Map(
  Object.entries({
    α: "a",
    β: "v",
    γ: "g",
    δ: "d",
    ε: "e",
    ζ: "z",
    η: "i",
    θ: "th",
    ι: "i",
    κ: "k",
    λ: "l",
    μ: "m",
    ν: "n",
    ξ: "x",
    ο: "o",
    π: "p",
    ρ: "r",
    σ: "s",
    ς: "s",
    τ: "t",
    υ: "y",
    φ: "f",
    χ: "ch",
    ψ: "ps",
    ω: "o"
  })
)

/** Converts Cyrillic and Greek letters of a token to Latin letters without accents. Other characters are kept. */
export const romanize = (token: string): string => {
  let out = ""
  for (const character of token.normalize("NFC")) {
    const letter = CYRILLIC.get(character) ?? GREEK.get(character)
    if (letter !== undefined) {
      out += letter
      continue
    }
    const base = character.normalize("NFD")
    if (base.length > 1) {
      for (const part of base)
        if (!isCombiningMark(part.charCodeAt(0))) out += CYRILLIC.get(part) ?? GREEK.get(part) ?? part
      continue
    }
    out += character
  }
  return out
}

/** Converts katakana to hiragana and full-width forms to plain ones, so that one sound has one spelling. */
export const foldKana = (token: string): string => {
  const plain = token.normalize("NFKC")
  let out = ""
  for (let i = 0; i < plain.length; i++) {
    const code = plain.charCodeAt(i)
    out += code >= 0x30a1 && code <= 0x30f6 ? String.fromCharCode(code - 0x60) : plain[i]
  }
  return out
}
