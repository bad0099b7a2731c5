/**
 * Text to tokens: the one place where fields, queries, filters, synonyms and rules agree on what a word is
 * (`docs/contract/text.md`). Fields without a locale use the default tokenizer, others word segmentation of the
 * runtime; stemming and romanisation come last. Offsets serve highlighting and are in UTF-16 units of the original
 * text.
 */
import { BoundedMap } from "../bounded-map.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import { type AsciiTokens, HASH_PRIME, HASH_SEED } from "./ascii-tokens.ts"
import { caseFold, foldCharacter, foldKana, isCombiningMark, romanize } from "./transliterate.ts"
import { simplify } from "./simplified-chinese.ts"
import { stemmerOf } from "./stemmer.ts"

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
   * Those of the tokens that may be wanted ones, where the text is ASCII and words stay as they are written; false
   * where `spansFor` has to do it. O(text).
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
const DROP = 0,
  KEEP = 1,
  UPPER = 2,
  SPLIT = 3
export const TRUNCATE_LENGTH = 100
/** No language has longer words; stemmers keep the words they were asked. */
const STEMMED_LENGTH_MAX = 256
const sameToken = (token: string): string => token

const characterClasses = (symbols: ReadonlyArray<string>, separators: ReadonlyArray<string>): Uint8Array => {
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

/** The default tokenizer (4.1). ASCII runs are sliced, never rebuilt, because this runs for every text of an import. */
class DefaultAnalyzer implements Analyzer {
  readonly #classes: Uint8Array
  readonly #truncate: number
  readonly #stem: (token: string) => string
  readonly stems: boolean
  readonly typosAllowed = true
  readonly unstemmed: Analyzer
  constructor(options: AnalyzerOptions) {
    this.#classes = characterClasses(options.symbolsToIndex, options.tokenSeparators)
    this.#truncate = options.truncateLength
    this.#stem = options.stem
    this.stems = options.stems
    this.unstemmed = options.stems ? new DefaultAnalyzer({ ...options, stem: sameToken, stems: false }) : this
  }
  tokenize(text: string): string[] {
    const tokens: string[] = []
    const classes = this.#classes
    const length = text.length
    let from = -1
    let pending = ""
    let upper = false
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i)
      if (code < 128) {
        const kind = classes[code]
        if (kind === KEEP) {
          if (from < 0) from = i
          continue
        }
        if (kind === UPPER) {
          if (from < 0) from = i
          upper = true
          continue
        }
        if (from >= 0) {
          pending = pending === "" ? text.slice(from, i) : this.#grown(pending, text.slice(from, i))
          from = -1
        }
        if (kind === SPLIT && pending !== "") {
          this.#emit(tokens, pending, upper)
          pending = ""
          upper = false
        }
        continue
      }
      if (from >= 0) {
        pending = this.#grown(pending, text.slice(from, i))
        from = -1
      }
      if (isPair(text, i, code)) {
        pending = this.#grown(pending, foldCharacter(text.slice(i, i + 2)))
        i++
        continue
      }
      if (pending.length > this.#truncate) continue
      pending = isCombiningMark(code) ? combine(pending, text[i]) : pending + foldCharacter(text[i])
    }
    if (from >= 0) pending = pending === "" ? text.slice(from) : this.#grown(pending, text.slice(from))
    if (pending !== "") this.#emit(tokens, pending, upper)
    return tokens
  }
  asciiTokens(text: string, into: AsciiTokens): boolean {
    if (this.stems) return false
    const { length } = text
    into.reset(length)
    const { bytes, ends, hashes } = into
    const classes = this.#classes
    let at = 0,
      start = 0,
      hash = HASH_SEED,
      count = 0
    for (let i = 0; i < length; i++) {
      let code = text.charCodeAt(i)
      if (code >= 128) return false
      const kind = classes[code]
      if (kind === DROP) continue
      if (kind === SPLIT) {
        if (at === start) continue
        ends[count] = start = at
        hashes[count++] = hash >>> 0
        hash = HASH_SEED
        continue
      }
      if (at - start === this.#truncate) continue
      if (kind === UPPER) code += 32
      bytes[at++] = code
      hash = Math.imul(hash ^ code, HASH_PRIME)
    }
    if (at > start) {
      ends[count] = at
      hashes[count++] = hash >>> 0
    }
    into.count = count
    return true
  }
  fewTokens(text: string, wanted: WantedTokens, into: FewTokens): boolean {
    if (this.stems) return false
    const classes = this.#classes,
      { length } = text
    let count = 0,
      size = 0,
      start = -1,
      end = 0,
      isUpper = false,
      isBroken = false
    for (let i = 0; i <= length; i++) {
      const code = i < length ? text.charCodeAt(i) : 32
      if (code >= 128) return false
      const kind = i < length ? classes[code] : SPLIT
      if (kind === KEEP || kind === UPPER) {
        if (start < 0) start = i
        else if (end < i) isBroken = true
        end = i + 1
        if (kind === UPPER) isUpper = true
        continue
      }
      if (kind === DROP || start < 0) continue
      if (wanted[text.charCodeAt(start)] !== 0) {
        const written = text.slice(start, end)
        into.tokens[size] = isBroken
          ? this.tokenize(written)[0]
          : this.#finish(isUpper ? written.toLowerCase() : written)
        into.places[size] = count
        into.starts[size] = start
        into.ends[size++] = end
      }
      count++
      start = -1
      isUpper = isBroken = false
    }
    into.count = count
    into.size = size
    return true
  }
  tokenizeWithOffsets(text: string): Array<TokenSpan> {
    return this.#spans(text, undefined)
  }
  // A root may begin with another letter than its word.
  spansFor(text: string, wanted: WantedTokens): Array<TokenSpan> {
    return this.#spans(text, this.stems ? undefined : wanted)
  }
  #spans(text: string, wanted: WantedTokens | undefined): Array<TokenSpan> {
    const spans: Array<TokenSpan> = []
    const classes = this.#classes
    const length = text.length
    // What stands in one run is cut out at once; `pending` holds what came before something that was dropped or folded.
    let pending = "",
      start = 0,
      end = 0,
      from = -1
    let mayBeUpper = false
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i)
      if (code < 128) {
        const kind = classes[code]
        if (kind === KEEP || kind === UPPER) {
          if (kind === UPPER) mayBeUpper = true
          if (from < 0) {
            from = i
            if (pending === "") start = i
          }
          continue
        }
        if (
          wanted !== undefined &&
          kind === SPLIT &&
          from >= 0 &&
          pending === "" &&
          wanted[text.charCodeAt(from)] === 0
        ) {
          spans.push({ token: "", start: from, end: i })
          from = -1
          mayBeUpper = false
          continue
        }
        if (from >= 0) {
          pending = this.#grown(pending, text.slice(from, i))
          end = i
          from = -1
        }
        if (kind === SPLIT && pending !== "") {
          spans.push({ token: this.#finish(mayBeUpper ? pending.toLowerCase() : pending), start, end })
          pending = ""
          mayBeUpper = false
        }
        continue
      }
      if (from >= 0) {
        pending = this.#grown(pending, text.slice(from, i))
        end = i
        from = -1
      }
      const at = i
      let piece = ""
      if (isPair(text, i, code)) {
        piece = foldCharacter(text.slice(i, i + 2))
        i++
      } else if (isCombiningMark(code)) {
        if (pending !== "") {
          if (pending.length <= this.#truncate) pending = combine(pending, text[i])
          end = i + 1
          mayBeUpper = true
        }
        continue
      } else piece = foldCharacter(text[i])
      if (piece === "") continue
      if (pending === "") start = at
      pending = this.#grown(pending, piece)
      end = i + 1
      mayBeUpper = true
    }
    if (from >= 0) {
      pending = this.#grown(pending, text.slice(from))
      end = length
    }
    if (pending !== "") spans.push({ token: this.#finish(mayBeUpper ? pending.toLowerCase() : pending), start, end })
    return spans
  }
  stem(token: string): string {
    return this.#stem(token)
  }
  indexesSymbol(symbol: string): boolean {
    return symbol.charCodeAt(0) < 128 && this.#classes[symbol.charCodeAt(0)] === KEEP
  }
  /**
   * What stands behind the cut is not put on: reading the end of a long word that grows piece by piece would cost its
   * square.
   */
  #grown(pending: string, piece: string): string {
    return pending.length > this.#truncate ? pending : pending + piece
  }
  #emit(tokens: string[], token: string, upper: boolean): void {
    tokens.push(this.#finish(upper ? token.toLowerCase() : token))
  }
  #finish(token: string): string {
    const cut = token.length > this.#truncate ? token.slice(0, this.#truncate) : token
    return this.stems && cut.length <= STEMMED_LENGTH_MAX ? this.#stem(cut) : cut
  }
}
/** Whether both halves of a character beyond the first plane stand here; one half alone takes nothing with it. */
const isPair = (text: string, i: number, code: number): boolean =>
  code >= 0xd800 && code < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00
/** A separate combining mark: on a plain ASCII letter it vanishes as the composed letter's mark would. */
const combine = (token: string, mark: string): string => {
  const last = token.charCodeAt(token.length - 1)
  if (token === "" || last < 128) return token
  const composed = (token[token.length - 1] + mark).normalize("NFC")
  return composed.length === 1 ? token.slice(0, -1) + foldCharacter(composed) : token + mark
}

const ROMANIZED = new Set(["el", "bg", "ru", "sr", "uk", "be"])
const UNTYPED = new Set(["zh", "ja", "ko"])

/** Whether a text can name a language (BCP 47); anything else would fail wherever words are made of texts. */
export const isLocale = (text: string): boolean => {
  try {
    return Intl.getCanonicalLocales(text).length === 1
  } catch {
    return false
  }
}

/** Word segmentation of a locale (4.2). Diacritics stay; ASCII punctuation goes unless it is an indexed symbol. */
class LocaleAnalyzer implements Analyzer {
  readonly #segmenter: Intl.Segmenter
  readonly #options: AnalyzerOptions
  readonly #separators: Set<string>
  readonly #symbols: Set<string>
  readonly stems: boolean
  readonly typosAllowed: boolean
  readonly unstemmed: Analyzer
  constructor(options: AnalyzerOptions) {
    this.#options = options
    // What was stored before locales were checked still has words.
    this.#segmenter = new Intl.Segmenter(isLocale(options.locale) ? options.locale : "und", { granularity: "word" })
    this.#symbols = new Set(options.symbolsToIndex)
    this.#separators = new Set(options.tokenSeparators.filter((separator) => !this.#symbols.has(separator)))
    if (options.locale === "fa") this.#separators.add("\u200c")
    this.stems = options.stems
    this.typosAllowed = !UNTYPED.has(options.locale)
    this.unstemmed = options.stems ? new LocaleAnalyzer({ ...options, stem: sameToken, stems: false }) : this
  }
  tokenize(text: string): string[] {
    return this.tokenizeWithOffsets(text).map((span) => span.token)
  }
  asciiTokens(): boolean {
    return false
  }
  fewTokens(): boolean {
    return false
  }
  spansFor(text: string): Array<TokenSpan> {
    return this.tokenizeWithOffsets(text)
  }
  tokenizeWithOffsets(text: string): Array<TokenSpan> {
    const spans: Array<TokenSpan> = []
    const segmented = this.#separate(text)
    for (const { segment, index } of this.#segmenter.segment(segmented)) {
      let plain = ""
      let start = -1
      let end = -1
      for (let i = 0; i < segment.length; i++) {
        const code = segment.charCodeAt(i)
        if (code < 128 && !isWordCode(code) && !this.#symbols.has(segment[i])) continue
        if (code >= 0x2000 && code <= 0x206f) continue
        if (start < 0) start = i
        end = i + 1
        plain += segment[i]
      }
      if (start < 0 || (!/[\p{L}\p{N}\p{M}]/u.test(plain) && !this.#hasSymbol(plain))) continue
      const token = this.#finish(plain)
      if (token !== "") spans.push({ token, start: index + start, end: index + end })
    }
    return spans
  }
  stem(token: string): string {
    return this.#options.stem(token)
  }
  indexesSymbol(symbol: string): boolean {
    return this.#symbols.has(symbol)
  }
  #hasSymbol(text: string): boolean {
    for (const character of text) if (this.#symbols.has(character)) return true
    return false
  }
  /** Separators become spaces of the same length, so that offsets stay those of the original. */
  #separate(text: string): string {
    if (this.#separators.size === 0) return text
    let out = ""
    for (let i = 0; i < text.length; i++) out += this.#separators.has(text[i]) ? " " : text[i]
    return out
  }
  #finish(segment: string): string {
    const { locale, truncateLength } = this.#options
    let token = caseFold(locale === "th" ? segment.normalize("NFKC") : segment)
    if (locale === "zh") token = simplify(token)
    else if (locale === "ja") token = foldKana(token)
    else if (locale === "ko") token = token.normalize("NFKD")
    if (this.stems && token.length <= STEMMED_LENGTH_MAX) token = this.#options.stem(token)
    if (ROMANIZED.has(locale)) token = romanize(token)
    return token.length > truncateLength ? token.slice(0, truncateLength) : token
  }
}
const isWordCode = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)

const usesDefaultTokenizer = (locale: string): boolean => locale === "" || locale === "en" || locale === "de_en"
/** Builds an analyzer for text that belongs to no field: synonyms, rule queries, stopwords. */
export const createAnalyzer = (options: Partial<AnalyzerOptions>): Analyzer => {
  const full: AnalyzerOptions = {
    locale: "",
    symbolsToIndex: [],
    tokenSeparators: [],
    truncateLength: TRUNCATE_LENGTH,
    stem: sameToken,
    stems: false,
    ...options
  }
  return usesDefaultTokenizer(full.locale) ? new DefaultAnalyzer(full) : new LocaleAnalyzer(full)
}

/**
 * By settings, which tenants choose; one with a segmentation of its own is some 100 kB. What fields hold stays theirs.
 */
const newAnalyzers = () =>
  new BoundedMap<string, Analyzer>({ bytes_max: 32_000_000, bytesOf: (settings) => 100_000 + settings.length * 2 })
const analyzers = newAnalyzers()
const dictionaryAnalyzers = new WeakMap<ReadonlyMap<string, string>, BoundedMap<string, Analyzer>>()
/**
 * The analyzer of a field: its own separator and symbol lists when non-empty, else the collection's. Cached by its
 * settings, so that equal fields share one; a dictionary that changed (another map) gives another analyzer.
 */
export const analyzerOf = (schema: CollectionSchema, field: Field, dictionaries?: Dictionaries): Analyzer => {
  if (field.stem_dictionary !== "") return analyzerBySettings(schema, field, dictionaries)
  const known = ofFields.get(field)
  if (known?.schema === schema) return known.analyzer
  const analyzer = analyzerBySettings(schema, field, undefined)
  ofFields.set(field, { schema, analyzer })
  return analyzer
}
const ofFields = new WeakMap<Field, { readonly schema: CollectionSchema; readonly analyzer: Analyzer }>()
const analyzerBySettings = (
  schema: CollectionSchema,
  field: Field,
  dictionaries: Dictionaries | undefined
): Analyzer => {
  const symbolsToIndex = field.symbols_to_index.length > 0 ? field.symbols_to_index : schema.symbols_to_index
  const tokenSeparators = field.token_separators.length > 0 ? field.token_separators : schema.token_separators
  const dictionary = field.stem_dictionary === "" ? undefined : dictionaries?.(field.stem_dictionary)
  const algorithmic = field.stem && field.stem_dictionary === ""
  const key = `${field.locale}|${symbolsToIndex.join("")}|${tokenSeparators.join("")}|${field.truncate_len}|${algorithmic}`
  const cache = dictionary === undefined ? analyzers : dictionaryCache(dictionary)
  const known = cache.get(key)
  if (known !== undefined) return known
  const stem =
    dictionary !== undefined
      ? (token: string): string => dictionary.get(token) ?? token
      : algorithmic
        ? stemmerOf(field.locale)
        : sameToken
  const built = createAnalyzer({
    locale: field.locale,
    symbolsToIndex,
    tokenSeparators,
    truncateLength: field.truncate_len,
    stem,
    stems: stem !== sameToken
  })
  cache.set(key, built)
  return built
}
const dictionaryCache = (dictionary: ReadonlyMap<string, string>): BoundedMap<string, Analyzer> => {
  const known = dictionaryAnalyzers.get(dictionary)
  if (known !== undefined) return known
  const fresh = newAnalyzers()
  dictionaryAnalyzers.set(dictionary, fresh)
  return fresh
}

const SORT_KEY_LENGTH_MAX = 2_000
const sortClasses = characterClasses([], [])
/** Stands before a letter that has no ASCII form, so that such letters sort before Latin ones, as recorded. */
const BEFORE_LATIN = "\u0001"
const sortable = (folded: string): string => {
  for (let i = 0; i < folded.length; i++) if (folded.charCodeAt(i) >= 128) return BEFORE_LATIN + folded
  return folded
}
/**
 * What a string sorts by (`docs/contract/text.md#sort-texts`), to be compared by its UTF-8 bytes: lower case, accents
 * folded, punctuation gone, spaces kept, at most 2,000 characters. "" sorts as missing.
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
/**
 * The same as bytes of one token (none: count 0) where the text is ASCII; false where `sortKeyOfString` has to do it.
 */
export const asciiSortKey = (text: string, into: AsciiTokens): boolean => {
  const { length } = text
  into.reset(length)
  const { bytes } = into
  let at = 0,
    hash = HASH_SEED
  for (let i = 0; i < length && at < SORT_KEY_LENGTH_MAX; i++) {
    let code = text.charCodeAt(i)
    if (code >= 128) return false
    const kind = sortClasses[code]
    if (kind === UPPER) code += 32
    else if (code !== 32 && kind !== KEEP) continue
    bytes[at++] = code
    hash = Math.imul(hash ^ code, HASH_PRIME)
  }
  into.ends[0] = at
  into.hashes[0] = hash >>> 0
  into.count = at === 0 ? 0 : 1
  return true
}
