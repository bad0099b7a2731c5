/**
 * What counts as a word in the relevance ranking: words as in UAX 29 with hyphens splitting, English stop words,
 * Snowball roots, and a number with its unit as one word. Documents and queries are both analyzed here; the
 * engine-compatible analyzer (`analysis/`) serves everything else.
 */
import { BoundedMap } from "../../bounded-map.ts"
import { createAnalyzer } from "../../analysis/analyzer.ts"
import { hasStemmer, stemmerMissing, stemmerOf, type Stem } from "../../analysis/stemmer.ts"
import { caseFold, foldCharacter } from "../../analysis/transliterate.ts"

/** Lucene's 33 English stop words, and the function words that verbose questions add. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with " +
    "about above after again all also am any because been before being between both can cannot could did do does doing down during each few from further had has have having he her here " +
    "hers him his how i its itself just me more most my myself nor now off once only other our ours out over own same she should so some than them themselves those through too under until up very " +
    "we were what when where which while who whom why would you your yours"
  ).split(" ")
)
const NO_STOP_WORDS: ReadonlySet<string> = new Set()

/** Units of measurement that are joined with the number before them. */
const UNITS: ReadonlySet<string> = new Set(
  "b kb mb gb tb bit kbps mbps gbps mm cm m km nm ft inch w kw mw v kv mv a ma mah ah wh kwh va kva g kg mg lb lbs oz l ml cl hz khz mhz ghz dpi ppi rpm fps db mp px psi btu lm".split(
    " "
  )
)
const WORD_LENGTH_MAX = 100

/** One word at one position. `parts`: the number and the unit of a joined word, both at the same position. */
export interface Word {
  readonly surface: string
  readonly parts?: readonly [number: string, unit: string]
}

export interface WordAnalyzer {
  /** Every word of a text in order, stop words included. O(text). */
  words(text: string): Array<Word>
  isStop(surface: string): boolean
  /** Root of a surface; a token with a digit is its own root. */
  stem(surface: string): string
  /**
   * Whether a root starts with the same letter as its surface and, if it has four letters or more, with the same two.
   */
  readonly keepsFirstLetters: boolean
}

const SPLIT = 0,
  LETTER = 1,
  DIGIT = 2,
  POINT = 3,
  COMMA = 4,
  APOSTROPHE = 5
const CLASSES = new Uint8Array(128)
for (let code = 48; code < 58; code++) CLASSES[code] = DIGIT
for (let code = 97; code < 123; code++) {
  CLASSES[code] = LETTER
  CLASSES[code - 32] = LETTER
}
CLASSES[46] = POINT
CLASSES[44] = COMMA
CLASSES[39] = APOSTROPHE

/** Whether a UTF-16 code unit belongs to a word: 0 not checked yet, 1 no, 2 yes. */
const wordCodes = new Uint8Array(65_536)
const classOf = (code: number): number => {
  if (code < 128) return CLASSES[code]
  if (code === 0x2019) return APOSTROPHE
  // Surrogate halves always belong to a word: together they encode a letter of a rare script or an emoji.
  if (code >= 0xd800 && code < 0xe000) return LETTER
  if (wordCodes[code] === 0) wordCodes[code] = /[\p{L}\p{N}\p{M}]/u.test(String.fromCharCode(code)) ? 2 : 1
  return wordCodes[code] === 2 ? LETTER : SPLIT
}
const hasWide = (text: string): boolean => {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return true
  return false
}
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
const segmenter = new Intl.Segmenter("und", { granularity: "word" })

/** Applies compatibility forms, removes marks, makes Latin letters plain; trademark signs separate words. */
const plain = (text: string): string => {
  const bare = text
    .replace(/[™®©℠]/g, " ")
    .normalize("NFKD")
    .replace(/[\u0300-\u036f\u00ad]/g, "")
    .normalize("NFKC")
  return caseFold(bare).replace(/[\u0080-\u024f]/g, (letter) =>
    classOf(letter.charCodeAt(0)) === LETTER ? foldCharacter(letter) : letter
  )
}

/**
 * Surfaces of a text. A point is kept between digits and dropped inside acronyms; a comma between thousands is dropped.
 */
const cut = (given: string): string[] => {
  const isWide = hasWide(given)
  const text = isWide ? plain(given) : given.toLowerCase()
  if (isWide && UNSPACED.test(text))
    return [...segmenter.segment(text)].flatMap(({ segment, isWordLike }) =>
      isWordLike === true ? [segment.slice(0, WORD_LENGTH_MAX)] : []
    )
  const out: string[] = []
  const n = text.length
  for (let i = 0; i < n;) {
    const first = classOf(text.charCodeAt(i))
    if (first !== LETTER && first !== DIGIT) {
      i++
      continue
    }
    const start = i
    let marks = 0,
      previous = first,
      runStart = i
    for (i++; i < n; i++) {
      const kind = classOf(text.charCodeAt(i))
      if (kind === LETTER || kind === DIGIT) {
        previous = kind
        continue
      }
      if (kind === SPLIT || i + 1 >= n) break
      const next = classOf(text.charCodeAt(i + 1))
      const stays =
        kind === APOSTROPHE
          ? previous === LETTER && next === LETTER
          : kind === COMMA
            ? previous === DIGIT && next === DIGIT
            : previous === DIGIT
              ? next === DIGIT
              : next === LETTER && i - runStart === 1
      if (!stays) break
      marks |= 1 << kind
      runStart = i + 1
    }
    const end = i
    let word = text.slice(start, end)
    if (marks !== 0) {
      if ((marks & (1 << APOSTROPHE)) !== 0) word = word.replace(/['\u2019]s$/, "").replace(/['\u2019]/g, "")
      if ((marks & (1 << COMMA)) !== 0) {
        if (!/^\d{1,3}(,\d{3})+(\.\d+)?$/.test(word)) {
          for (const part of word.split(",")) out.push(part)
          continue
        }
        word = word.replaceAll(",", "")
      }
      if ((marks & (1 << POINT)) !== 0 && previous === LETTER) word = word.replaceAll(".", "")
    }
    out.push(word.length > WORD_LENGTH_MAX ? word.slice(0, WORD_LENGTH_MAX) : word)
  }
  return out
}

const isDigit = (code: number): boolean => code >= 48 && code < 58
const isNumber = (word: string): boolean => isDigit(word.charCodeAt(0)) && /^\d+(\.\d+)?$/.test(word)
/** The number and the unit of a word like `500gb`. */
const partsOf = (word: string): readonly [string, string] | undefined => {
  if (!isDigit(word.charCodeAt(0)) || isDigit(word.charCodeAt(word.length - 1))) return undefined
  const match = /^(\d+(?:\.\d+)?)([a-z]+)$/.exec(word)
  return match !== null && UNITS.has(match[2]) ? [match[1], match[2]] : undefined
}
const joinUnits = (surfaces: ReadonlyArray<string>, stops: ReadonlySet<string>): Array<Word> => {
  const out: Array<Word> = []
  for (let i = 0; i < surfaces.length; i++) {
    const surface = surfaces[i]
    if (!isDigit(surface.charCodeAt(0))) {
      out.push({ surface })
      continue
    }
    const unit: string | undefined = surfaces[i + 1]
    if (unit !== undefined && UNITS.has(unit) && !stops.has(unit) && isNumber(surface)) {
      out.push({ surface: surface + unit, parts: [surface, unit] })
      i++
      continue
    }
    const parts = partsOf(surface)
    out.push(parts === undefined ? { surface } : { surface, parts })
  }
  return out
}

const hasDigit = (word: string): boolean => {
  for (let i = 0; i < word.length; i++) if (isDigit(word.charCodeAt(i))) return true
  return false
}

/** Bounded, because tenants choose locales, and a locale with its own segmentation takes some 100 kB. */
const analyzers = new BoundedMap<string, WordAnalyzer>({ bytes_max: 16_000_000, bytesOf: () => 100_000 })
/**
 * The analyzer of a field's locale. Decision: fields without a locale are read as English, as the demo and most
 * catalogues are; other locales use their own segmentation and roots and have no stop words. Without the optional
 * stemming library their words stay unstemmed: the ranking loses some recall, whereas refusing would lose the search.
 */
export const wordAnalyzerOf = (locale: string): WordAnalyzer => {
  const known = analyzers.get(locale)
  if (known !== undefined) return known
  const isEnglish = locale === "" || locale === "en" || locale === "de_en"
  const stops = isEnglish ? STOP_WORDS : NO_STOP_WORDS
  const root: Stem = hasStemmer(locale) && stemmerMissing(locale) === undefined ? stemmerOf(locale) : (word) => word
  const own = isEnglish ? undefined : createAnalyzer({ locale })
  const analyzer: WordAnalyzer = {
    words: (text) => joinUnits(own === undefined ? cut(text) : own.tokenize(text), stops),
    isStop: (surface) => stops.has(surface),
    stem: (surface) => (hasDigit(surface) ? surface : root(surface)),
    keepsFirstLetters: isEnglish
  }
  analyzers.set(locale, analyzer)
  return analyzer
}
