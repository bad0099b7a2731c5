/** Numbers of a request together with their unit or name: "20 euros", "€20", "16 GB of RAM", "100 reviews". Pure. */
import { type Concept, conceptsOfWord } from "./concepts.ts"
import type { NumberField, RuleFacts } from "./facts.ts"
import type { Token } from "./tokens.ts"
import { type Unit, unitOf } from "./units.ts"
import { functionWords, isLexical, type Language, magnitudes, writtenNumbers } from "./words.ts"

export interface Quantity {
  readonly end: number
  readonly value: number
  readonly unit: Unit | undefined
  /** The field that the following words name. */ readonly field: NumberField | undefined
}

/** Units that are also words of a language: they count as units only in the given language, or in none. */
const AMBIGUOUS: ReadonlyMap<string, Language | undefined> = new Map([
  ["in", undefined],
  ["to", "fr"],
  ["go", "fr"],
  ["an", "fr"],
  ["s", undefined],
  ["min", undefined],
  ["p", "ru"]
])
/** Languages that write "1 500" for one thousand five hundred. */
const SPACED: ReadonlySet<Language | undefined> = new Set<Language | undefined>(["fr", "ru"])
/** Nouns that follow a bare number as its unit. */
const COUNTED = new Set<Concept>(["reviews", "stock", "pages", "persons", "rating", "age"])

/** The number field that a word names, by one of its own words or by its subject. */
export const numberFieldOf = (facts: RuleFacts, word: string): NumberField | undefined =>
  facts.about(conceptsOfWord(word)) ??
  (word.length < 3 ? undefined : facts.numbers.find(({ words }) => words.includes(word)))

const unitAt = (token: Token | undefined, language: Language | undefined): Unit | undefined => {
  if (token === undefined || token.isKept === true) return undefined
  if (AMBIGUOUS.has(token.text)) {
    const own = AMBIGUOUS.get(token.text)
    return own !== undefined && own === language ? unitOf(token.text) : undefined
  }
  return unitOf(token.text)
}
const isCurrency = (unit: Unit | undefined): boolean => unit?.dimension === "currency"

/** `language`: that of the request's words, if it is clear. */
export const quantityAt = (
  tokens: ReadonlyArray<Token>,
  start: number,
  facts: RuleFacts,
  language: Language | undefined
): Quantity | undefined => {
  const led = ledBy(tokens, start, facts)
  const before = unitAt(tokens[led.at], language)
  const at = isCurrency(before) ? led.at + 1 : led.at
  const number = numberAt(tokens, at, language)
  if (number === undefined) return undefined
  const { end, value } = number
  if (isCurrency(before)) return { end, value: moneyOf(tokens[at]!, value), unit: before, field: led.field }
  const behind = behindAt(tokens, end, facts, language)
  return {
    ...behind,
    value: isCurrency(behind.unit) ? moneyOf(tokens[at]!, value) : value,
    field: behind.field ?? led.field
  }
}
/** No price has three decimals: "1.200 €" is twelve hundred, whatever the language. */
const moneyOf = ({ text }: Token, value: number): number =>
  /^[1-9]\d{0,2}[.,]\d{3}$/.test(text) && value < 1_000 ? Number(text.replace(/[.,]/, "")) : value
/** The name of the quantity, if it precedes: "maximum price 250", "minimum rating of 4". */
const ledBy = (
  tokens: ReadonlyArray<Token>,
  start: number,
  facts: RuleFacts
): { readonly at: number; readonly field: NumberField | undefined } => {
  const word = tokens[start]
  const field = word?.kind === "word" && word.isKept !== true ? numberFieldOf(facts, word.text) : undefined
  if (field === undefined) return { at: start, field }
  const at = functionWords.has(tokens[start + 1]?.text ?? "") ? start + 2 : start + 1
  return { at, field }
}
const numberAt = (
  tokens: ReadonlyArray<Token>,
  at: number,
  language: Language | undefined
): { readonly end: number; readonly value: number } | undefined => {
  const token = tokens[at]
  if (token === undefined || token.isKept === true) return undefined
  const number = token.value ?? writtenNumbers.get(token.text)
  if (number === undefined || !Number.isFinite(number)) return undefined
  const next = tokens[at + 1]
  // After a product name the first number belongs to the name: "iphone 15 120 €".
  const before = tokens[at - 1]
  const isOfName = before?.kind === "word" && !isLexical(before.text)
  // "1 500" in a language that separates thousands so.
  const isSpaced =
    !isOfName &&
    SPACED.has(language) &&
    /^[1-9]\d{0,2}$/.test(token.text) &&
    /^\d{3}(?:[.,]\d{1,2})?$/.test(next?.text ?? "") &&
    next!.start === token.end + 1
  if (isSpaced) return { end: at + 2, value: 1_000 * number + next!.value! }
  const magnitude = number >= 1_000 ? undefined : magnitudes.get(next?.text ?? "")
  return magnitude === undefined ? { end: at + 1, value: number } : { end: at + 2, value: number * magnitude }
}
/** The unit and the field that follow a number. */
export const behindAt = (
  tokens: ReadonlyArray<Token>,
  end: number,
  facts: RuleFacts,
  language: Language | undefined
): Pick<Quantity, "end" | "field" | "unit"> => {
  const unit = unitAt(tokens[end], language)
  if (unit !== undefined) return { unit, ...measured(tokens, end + 1, facts, unit) }
  // "100 reviews", "100 customer reviews".
  for (let at = end; at <= end + 1; at++) {
    const word = tokens[at]
    if (word?.kind !== "word" || word.isKept === true || functionWords.has(word.text)) break
    const field = numberFieldOf(facts, word.text)
    if (field === undefined) continue
    if (field.concepts.some((each) => COUNTED.has(each)) || field.concepts.length === 0)
      return { end: at + 1, unit: undefined, field }
    break
  }
  return { end, unit: undefined, field: undefined }
}
/** The field named after a unit: "16 GB of RAM", "8 GB de memoria RAM". */
const measured = (
  tokens: ReadonlyArray<Token>,
  end: number,
  facts: RuleFacts,
  unit: Unit
): Pick<Quantity, "end" | "field"> => {
  if (isCurrency(unit)) return { end, field: undefined }
  let field: NumberField | undefined
  let at = functionWords.has(tokens[end]?.text ?? "") ? end + 1 : end
  for (; tokens[at]?.kind === "word"; at++) {
    const own = numberFieldOf(facts, tokens[at]!.text)
    // Storage needs a field about storage, without another unit.
    const isOne =
      own !== undefined && !isPriced(own) && (own.unit === undefined || own.unit.dimension === unit.dimension)
    if (!isOne || (field !== undefined && own !== field)) break
    field = own
  }
  return field === undefined ? { end, field } : { end: at, field }
}
export const isPriced = ({ concepts }: NumberField): boolean => concepts.includes("price")
