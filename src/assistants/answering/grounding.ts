/**
 * Whether the sources support a model's answer, as far as words can show: every number, unit and name of a sentence
 * must appear in a source that it cites. A sentence without a citation is checked against all sources that the answer
 * cites. This does not prove the sentence right: a lost negation goes unnoticed. Pure; O(answer × sources).
 */
import { sentencesOf } from "../extractive/extract.ts"
import type { Citation } from "./extractive-answer.ts"
import { markedIn, withoutMarkers } from "./markers.ts"

interface Grounding {
  readonly citations: ReadonlyArray<Citation>
  /** Indexes of sentences, from 0, that contain something no source contains. */
  readonly unsupported: ReadonlyArray<number>
}

const NUMBER = /\d+(?:[.,'’\u00a0\u202f]\d+)*/g
/** A unit after a number: `600 €`, `34dB`, `15 kg`, `20 %`. */
const MEASURE = /(\d+(?:[.,'’\u00a0\u202f]\d+)*)[\s\u00a0\u202f]?(%|°[CF]?|[€$£¥₽]|\p{L}{1,3}\b)/gu
/** A currency before a number: `$600`. */
const PRICE = /([€$£¥₽])\s?(\d+(?:[.,'’]\d+)*)/g
/** Capitals or digits inside a sentence, which indicate names, models or codes. */
const NAME =
  /(?<=[^\s.!?:;"“«(–-][\s]+["“«(]?)(?:\p{Lu}[\p{L}\p{M}\p{N}'’-]*|[\p{L}\p{N}-]*\p{L}[\p{L}-]*\d[\p{L}\p{N}-]*)/gu
/** Single letters and these words are never names. */
const NO_NAMES = new Set(["i", "i'm", "i'll", "sie", "ihr", "ihnen"])
/** Languages that capitalize every noun, where only a word with a digit or a second capital counts as a name. */
const CAPITAL_NOUNS = new Set(["de", "lb"])

const folded = (text: string): string =>
  text
    .toLowerCase()
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
/** `1.234,50`, `1,234.50` and `1 234.5` are the same number. */
const numberOf = (text: string): string => {
  const bare = text.replace(/['’\u00a0\u202f]/g, "")
  const last = Math.max(bare.lastIndexOf("."), bare.lastIndexOf(","))
  const decimals = last < 0 ? "" : bare.slice(last + 1)
  // Three digits after the only separator most likely mean thousands.
  const isWhole = last < 0 || decimals.length === 3
  const digits = isWhole ? bare.replace(/[.,]/g, "") : `${bare.slice(0, last).replace(/[.,]/g, "")}.${decimals}`
  return digits.includes(".") ? digits.replace(/0+$/, "").replace(/\.$/, "") : digits.replace(/^0+(?=\d)/, "")
}

/** What a source contains, in the forms that are compared. */
class SourceText {
  readonly #text: string
  readonly #numbers: ReadonlySet<string>
  readonly #measures: ReadonlySet<string>
  constructor(text: string) {
    this.#text = ` ${folded(text)} `
    this.#numbers = new Set([...text.matchAll(NUMBER)].map(([number]) => numberOf(number)))
    this.#measures = new Set(measuresOf(text))
  }
  hasNumber(number: string): boolean {
    return this.#numbers.has(number)
  }
  hasMeasure(measure: string): boolean {
    return this.#measures.has(measure)
  }
  hasWord(word: string): boolean {
    const at = this.#text.indexOf(word)
    return at >= 0
  }
}
const measuresOf = (text: string): ReadonlyArray<string> => [
  ...[...text.matchAll(MEASURE)].map(([, number, unit]) => `${numberOf(number!)} ${folded(unit!)}`),
  ...[...text.matchAll(PRICE)].map(([, unit, number]) => `${numberOf(number!)} ${unit}`)
]
/** A symbol after a number is a unit; letters may be any word, and are looked up as a word. */
const isSign = (measure: string): boolean => /[%°€$£¥₽]/.test(measure)

const isSupported = (sentence: string, sources: ReadonlyArray<SourceText>, language: string): boolean => {
  const bare = withoutMarkers(sentence)
  const stands = (test: (source: SourceText) => boolean) => sources.some(test)
  for (const [number] of bare.matchAll(NUMBER)) {
    const own = numberOf(number)
    if (!stands((source) => source.hasNumber(own))) return false
  }
  for (const measure of measuresOf(bare)) {
    const unit = measure.slice(measure.indexOf(" ") + 1)
    if (!stands((source) => (isSign(measure) ? source.hasMeasure(measure) : source.hasWord(unit)))) return false
  }
  for (const [name] of bare.matchAll(NAME)) {
    const own = folded(name).replace(/['’]s$/, "")
    if (own.length < 2 || NO_NAMES.has(own)) continue
    if (CAPITAL_NOUNS.has(language) && !/\d|\p{L}\p{Lu}/u.test(name)) continue
    if (!stands((source) => source.hasWord(own))) return false
  }
  return true
}

const withoutTrailing = (text: string): string => text.replace(/(?:\s*\[[\d,\s]+\])+\s*$/, "").trimEnd()

/** `sources` are complete texts, of which the model may have seen only a part. */
export const groundingOf = (content: string, sources: ReadonlyArray<string>, language: string): Grounding => {
  const texts = sources.map((text) => new SourceText(text))
  const citedAnywhere = markedIn(content).filter((source) => source < sources.length)
  const citations: Array<Citation> = []
  const unsupported: Array<number> = []
  sentencesOf(joinedMarkers(content), language).forEach(({ start, text }, place) => {
    const cited = markedIn(text).filter((source) => source < sources.length)
    // The content keeps its markers, so positions are unchanged.
    const end = start + withoutTrailing(content.slice(start, start + text.length)).length
    for (const source of cited) citations.push({ start, end, source })
    const own = (cited.length > 0 ? cited : citedAnywhere).map((source) => texts[source]!)
    if (!isSupported(text, own, language)) unsupported.push(place)
  })
  return { citations, unsupported }
}
/** `It weighs 5 kg. [1]`: moves the marker into the sentence before it, without changing any position. */
const joinedMarkers = (content: string): string =>
  content.replace(/([.!?。！？])(\s+)((?:\[\d{1,3}\]\s*)+)/g, (_, end: string, space: string, markers: string) => {
    const trimmed = markers.trimEnd()
    return `${space.replace(/./gs, " ")}${trimmed}${end}${markers.slice(trimmed.length)}`
  })
