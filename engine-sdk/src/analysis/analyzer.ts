/**
 * Text to tokens: the one place where fields, queries, filters, synonyms and rules agree on what a word is
 * (`docs/contract/text.md`). Fields without a locale use the default tokenizer, others the runtime's word segmentation;
 * stemming and romanization come last. Offsets are for highlighting and count UTF-16 units of the original text.
 */
import { BoundedMap } from "../bounded-map.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import { type AsciiTokens, HASH_PRIME, HASH_SEED, tokenHash } from "./ascii-tokens.ts"
import { foldCharacter, isCombiningMark } from "./transliterate.ts"
import { stemmerOf } from "./stemmer.ts"
import { LocaleAnalyzer } from "./locale-analyzer.ts"
import {
  type Analyzer,
  type AnalyzerOptions,
  type Dictionaries,
  sameToken,
  STEMMED_LENGTH_MAX,
  TRUNCATE_LENGTH
} from "./tokens.ts"
import { mayBeWanted, type TextTokens, type TokenSpan, type WantedTokens } from "./text-tokens.ts"
import {
  characterClasses,
  combine,
  foldedCharacters,
  IN_TOKEN,
  isPair,
  KEEP,
  scannedCharacters,
  SPLIT,
  SPLITS,
  UPPER
} from "./character-classes.ts"

/** The default tokenizer. ASCII runs are sliced, never rebuilt, because it processes every text of an import. */
class DefaultAnalyzer implements Analyzer {
  readonly #classes: Uint8Array
  readonly #folded: Int16Array
  readonly #scanned: Uint8Array
  readonly #truncate: number
  readonly #stem: (token: string) => string
  readonly stems: boolean
  readonly typosAllowed = true
  readonly unstemmed: Analyzer
  constructor(options: AnalyzerOptions) {
    this.#classes = characterClasses(options.symbolsToIndex, options.tokenSeparators)
    this.#folded = foldedCharacters(this.#classes)
    this.#scanned = scannedCharacters(this.#classes)
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
    if (!into.read(text)) return false
    const { bytes, ends, hashes } = into,
      { length } = text,
      folded = this.#folded,
      truncate = this.#truncate
    let at = 0,
      start = 0,
      hash = HASH_SEED,
      count = 0
    // The character after the last one, `TEXT_END`, ends the last token.
    for (let i = 0; i <= length; i++) {
      const code = folded[bytes[i]]
      if (code >= 0) {
        bytes[at++] = code
        hash = Math.imul(hash ^ code, HASH_PRIME)
      } else if (code === SPLITS && at > start) {
        if (at - start > truncate) {
          at = start + truncate
          hash = tokenHash(bytes, start, at)
        }
        ends[count] = start = at
        hashes[count++] = hash >>> 0
        hash = HASH_SEED
      }
    }
    into.count = count
    return true
  }
  readTokens(text: string, wanted: WantedTokens | undefined, into: TextTokens): void {
    // A root may start with a different letter than its word.
    const asked = this.stems ? undefined : wanted
    if (!into.scan(text, this.#scanned)) {
      into.take(this.#spans(text, asked))
      return
    }
    const { broken, bytes, count, edges } = into,
      kinds = this.#scanned
    let areLower = !this.stems && broken.length === 0
    for (let i = 0, b = 0; i < count; i++) {
      const start = edges[2 * i],
        second = bytes[start + 1],
        isBroken = b < broken.length && broken[b] === i
      if (isBroken) b++
      // Behind a token of one character, the second one is no part of it.
      const mayBe =
        isBroken ||
        asked === undefined ||
        mayBeWanted(asked, bytes[start], (kinds[second] & IN_TOKEN) === 0 ? undefined : second)
      if (!mayBe) continue
      const written = text.slice(start, edges[2 * i + 1])
      if (written.length > this.#truncate) areLower = false
      into.add(i, this.#tokenOf(written, isBroken))
    }
    into.areLower = areLower
  }
  /** The token as it is written in a text; `isBroken`: whether it contains characters that are dropped. */
  #tokenOf(written: string, isBroken: boolean): string {
    return isBroken ? this.tokenize(written)[0] : this.#finish(written.toLowerCase())
  }
  tokenizeWithOffsets(text: string): Array<TokenSpan> {
    return this.#spans(text, undefined)
  }
  #spans(text: string, wanted: WantedTokens | undefined): Array<TokenSpan> {
    const spans: Array<TokenSpan> = []
    const classes = this.#classes
    const length = text.length
    // Characters of one run are sliced together; `pending` holds what preceded a dropped or folded character.
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
          !mayBeWanted(wanted, text.charCodeAt(from), i === from + 1 ? undefined : text.charCodeAt(from + 1))
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
   * Text after the maximum length is not appended: re-reading the end of a long word that grows step by step would be
   * quadratic.
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
 * Analyzers by settings, which tenants choose; one with its own segmentation takes some 100 kB. Fields keep their
 * analyzer when it is evicted from this map.
 */
const newAnalyzers = () =>
  new BoundedMap<string, Analyzer>({ bytes_max: 32_000_000, bytesOf: (settings) => 100_000 + settings.length * 2 })
const analyzers = newAnalyzers()
const dictionaryAnalyzers = new WeakMap<ReadonlyMap<string, string>, BoundedMap<string, Analyzer>>()
/**
 * The analyzer of a field: its own separator and symbol lists if non-empty, else the collection's. Cached by its
 * settings, so that equal fields share one; a changed dictionary (a different map) gives a different analyzer.
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
