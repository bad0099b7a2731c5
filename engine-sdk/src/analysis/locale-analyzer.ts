/** The analyzer for languages whose words are not separated by spaces, or whose letters follow other rules. */
import { caseFold, foldKana, romanize } from "./transliterate.ts"
import { simplify } from "./simplified-chinese.ts"
import type { TextTokens, TokenSpan, WantedTokens } from "./text-tokens.ts"
import { type Analyzer, type AnalyzerOptions, sameToken, STEMMED_LENGTH_MAX } from "./tokens.ts"

const ROMANIZED = new Set(["el", "bg", "ru", "sr", "uk", "be"])
const UNTYPED = new Set(["zh", "ja", "ko"])

/** Whether a text is a valid language tag (BCP 47); an invalid one would make every tokenization throw. */
export const isLocale = (text: string): boolean => {
  try {
    return Intl.getCanonicalLocales(text).length === 1
  } catch {
    return false
  }
}

/** Word segmentation of a locale. Diacritics are kept; ASCII punctuation is dropped unless it is an indexed symbol. */
export class LocaleAnalyzer implements Analyzer {
  readonly #segmenter: Intl.Segmenter
  readonly #options: AnalyzerOptions
  readonly #separators: Set<string>
  readonly #symbols: Set<string>
  readonly stems: boolean
  readonly typosAllowed: boolean
  readonly unstemmed: Analyzer
  constructor(options: AnalyzerOptions) {
    this.#options = options
    // Locales that were stored before locales were validated still get a tokenizer.
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
  readTokens(text: string, _wanted: WantedTokens | undefined, into: TextTokens): void {
    into.take(this.tokenizeWithOffsets(text))
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
  /** Replaces separators by spaces of the same length, so that offsets remain those of the original. */
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
