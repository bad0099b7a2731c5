/** Numbers of a request with what says what they are of: "20 euros", "€20", "16 GB of RAM", "100 reviews". Pure. */
import { type Concept, conceptsOfWord } from "./concepts.ts"
import type { NumberField, RuleFacts } from "./facts.ts"
import type { Token } from "./tokens.ts"
import { type Unit, unitOf } from "./units.ts"
import { functionWords, type Language, magnitudes, writtenNumbers } from "./words.ts"

export interface Quantity {
  readonly end: number
  readonly value: number
  readonly unit: Unit | undefined
  /** That the words behind it name. */ readonly field: NumberField | undefined
}

/** Units that are words of a language of their own: there they count in that language alone, or in none. */
const AMBIGUOUS: ReadonlyMap<string, Language | undefined> = new Map([
  ["in", undefined],
  ["to", "fr"],
  ["go", "fr"],
  ["an", "fr"],
  ["s", undefined],
  ["min", undefined],
  ["p", "ru"]
])
/** What people count things by, where a number stands alone before it. */
const COUNTED = new Set<Concept>(["reviews", "stock", "pages", "persons", "rating", "age"])

/** The number field that a word names, as one of its own words or as what it is about. */
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

export const quantityAt = (
  tokens: ReadonlyArray<Token>,
  start: number,
  facts: RuleFacts,
  language: Language | undefined
): Quantity | undefined => {
  const before = unitAt(tokens[start], language)
  const at = isCurrency(before) ? start + 1 : start
  const token = tokens[at]
  if (token === undefined || token.isKept === true) return undefined
  const number = token.value ?? writtenNumbers.get(token.text)
  if (number === undefined || !Number.isFinite(number)) return undefined
  let end = at + 1
  const magnitude = magnitudes.get(tokens[end]?.text ?? "")
  if (magnitude !== undefined && !(token.text === "mil" || number >= 1_000)) end++
  const value = number * (magnitude !== undefined && end > at + 1 ? magnitude : 1)
  if (isCurrency(before)) return { end, value, unit: before, field: undefined }
  const unit = unitAt(tokens[end], language)
  if (unit !== undefined) return { value, unit, ...measured(tokens, end + 1, facts, unit) }
  const word = tokens[end]
  const field = word?.kind === "word" && !functionWords.has(word.text) ? numberFieldOf(facts, word.text) : undefined
  const isCounted =
    field !== undefined && (field.concepts.some((each) => COUNTED.has(each)) || field.concepts.length === 0)
  return isCounted ? { end: end + 1, value, unit, field } : { end, value, unit, field: undefined }
}
/** The field that stands behind a unit: "16 GB of RAM". */
const measured = (
  tokens: ReadonlyArray<Token>,
  end: number,
  facts: RuleFacts,
  unit: Unit
): Pick<Quantity, "end" | "field"> => {
  const at = functionWords.has(tokens[end]?.text ?? "") ? end + 1 : end
  const word = tokens[at]
  if (word?.kind !== "word" || isCurrency(unit)) return { end, field: undefined }
  const field = numberFieldOf(facts, word.text)
  // "4 GB of storage" is of the field that is about storage, and not of one that is about anything else.
  const isOne = field !== undefined && (field.unit === undefined || field.unit.dimension === unit.dimension)
  return isOne && !isPriced(field) ? { end: at + 1, field } : { end, field: undefined }
}
export const isPriced = ({ concepts }: NumberField): boolean => concepts.includes("price")
