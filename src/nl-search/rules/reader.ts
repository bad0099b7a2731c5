/** Reads the tokens of one request from the left: which of them express a constraint, and which one. Pure. */
import type { Constraint } from "./constraints.ts"
import { type Concept, conceptsOfWord } from "./concepts.ts"
import {
  comparedTexts,
  isValueToken,
  keysOf,
  type NamedValue,
  type NumberField,
  type RuleFacts,
  type TextField
} from "./facts.ts"
import { behindAt, isPriced, numberFieldOf, type Quantity, quantityAt } from "./quantities.ts"
import type { Token } from "./tokens.ts"
import { conceptsMeasuredIn, type Unit } from "./units.ts"
import {
  asking,
  type Comparison,
  comparisons,
  directions,
  flags,
  functionWords,
  type Language,
  LANGUAGES,
  negations,
  type Operator,
  ordered,
  orderings,
  peopleWords,
  polite,
  sortings
} from "./words.ts"

export interface Span {
  readonly start: number
  readonly end: number
}
export interface Reading extends Span {
  readonly constraint?: Constraint
  readonly sort?: { readonly field: string; readonly order: "asc" | "desc" }
}

const VALUE_WORDS_MAX = 8
/** The most words between a field's name and its constraint. */
const BETWEEN_MAX = 3
/** How far before a number to look for words for people. */
const PEOPLE_BEFORE = 3
/** The highest number that counts as an age after such words. */
const AGE_MAX = 18

const FLIPPED: ReadonlyMap<Operator, Operator> = new Map<Operator, Operator>([
  ["<", ">="],
  ["<=", ">"],
  [">", "<="],
  [">=", "<"]
])

export class Reader {
  /** The original text, for its capitals. */ readonly #text: string
  readonly #tokens: ReadonlyArray<Token>
  readonly #facts: RuleFacts
  readonly #language: Language | undefined
  readonly #stems: ReadonlyArray<Language>
  /** End of the last reading: nothing before it is read again. */ #free = 0

  constructor(text: string, tokens: ReadonlyArray<Token>, facts: RuleFacts, language: Language | undefined) {
    this.#text = text
    this.#tokens = tokens
    this.#facts = facts
    this.#language = language
    this.#stems = language === undefined ? LANGUAGES : [language]
  }

  read(): {
    readonly readings: ReadonlyArray<Reading>
    readonly asked: ReadonlyArray<Span>
  } {
    const readings: Array<Reading> = [],
      asked: Array<Span> = []
    const [opening] = asking.at(this.#tokens, 0)
    let at = 0
    if (opening !== undefined && opening.end < this.#tokens.length && this.#valueAt(0) === undefined) {
      asked.push({ start: 0, end: opening.end })
      at = this.#free = opening.end
    }
    while (at < this.#tokens.length) {
      const best = this.#best(at)
      if (best !== undefined) {
        readings.push(best)
        at = this.#free = best.end
        continue
      }
      const [please] = polite.at(this.#tokens, at)
      if (please !== undefined) {
        asked.push({ start: at, end: please.end })
        this.#free = please.end
      }
      at = please?.end ?? at + 1
    }
    return { readings, asked }
  }

  #best(at: number): Reading | undefined {
    if (this.#tokens[at]!.isKept === true) return undefined
    const found = [
      this.#comparison(at),
      this.#sort(at),
      this.#flag(at),
      this.#value(at),
      this.#not(at),
      this.#exact(at)
    ].filter((reading) => reading !== undefined)
    return found.length < 2 ? found[0] : found.reduce((a, b) => (b.end > a.end ? b : a))
  }

  // ---- numbers

  #quantityAt = (at: number): Quantity | undefined => quantityAt(this.#tokens, at, this.#facts, this.#language)

  #comparison(at: number, isNot = false): Reading | undefined {
    for (const { action, end, quantities } of comparisons.at(this.#tokens, at, this.#quantityAt)) {
      const read = this.#compared(at, end, action, quantities, isNot)
      if (read !== undefined) return read
    }
    return undefined
  }
  #compared(
    at: number,
    end: number,
    { isWeak, operator: stated }: Comparison,
    quantities: ReadonlyArray<Quantity>,
    isNot: boolean
  ): Reading | undefined {
    const operator = isNot ? FLIPPED.get(stated) : stated
    const last = quantities.at(-1)
    if (operator === undefined || last === undefined || (stated === "between" && quantities.length < 2))
      return undefined
    if (this.#belongsBehind(at, end, quantities)) return undefined
    // "4+ stars": the unit follows the sign.
    const tail = end > last.end ? behindAt(this.#tokens, end, this.#facts, this.#language) : undefined
    const to = tail?.end ?? end
    const unit = last.unit ?? quantities[0]!.unit ?? tail?.unit
    const behind = last.field ?? quantities[0]!.field ?? tail?.field
    const before = behind === undefined ? this.#fieldBefore(at) : undefined
    // "Preis von 20 bis 50": the preceding words name what the numbers measure.
    const named =
      before === undefined ? undefined : this.#numbers(before.start, to, before.field, operator, quantities, unit)
    if (named !== undefined) return named
    const field = behind ?? this.#measuredField(unit)
    if (field !== undefined) return this.#numbers(at, to, field, operator, quantities, unit)
    if (unit !== undefined)
      return unit.dimension === "currency" ? undefined : this.#texts(at, to, operator, quantities, unit)
    if (isWeak || this.#isOtherwise(at, to, last.value)) return undefined
    const price = this.#facts.about(["price"])
    return price === undefined ? undefined : this.#numbers(at, to, price, operator, quantities, unit)
  }
  /** "128 GB at most 500 euros": words after a number that compare the next one. */
  #belongsBehind(at: number, end: number, quantities: ReadonlyArray<Quantity>): boolean {
    const [first] = quantities
    const isBehind = quantities.length === 1 && first!.end < end && this.#quantityAt(at)?.end === first!.end
    return isBehind && comparisons.at(this.#tokens, first!.end, this.#quantityAt).some((next) => next.end > end)
  }
  #numbers(
    start: number,
    end: number,
    field: NumberField,
    operator: Operator,
    quantities: ReadonlyArray<Quantity>,
    unit: Unit | undefined
  ): Reading | undefined {
    const values = quantities.map((quantity) => inUnitOf(field, quantity.value, quantity.unit ?? unit))
    if (values.includes(undefined)) return undefined
    return {
      start,
      end,
      constraint: { kind: "number", field, operator, values: values.flatMap((value) => value ?? []) }
    }
  }
  /** Facet texts that are numbers with a unit: selects those that satisfy the comparison. */
  #texts(
    start: number,
    end: number,
    operator: Operator,
    quantities: ReadonlyArray<Quantity>,
    unit: Unit
  ): Reading | undefined {
    const [first = 0, second = first] = quantities.map((quantity) => quantity.value * (quantity.unit ?? unit).factor)
    const all = this.#facts.measured(unit.dimension)
    const fitting = all.filter(({ amount }) => passes(operator, amount, first, second))
    const [some] = fitting
    if (some === undefined) return undefined
    const values = fitting.toSorted((a, b) => a.amount - b.amount).map(({ value }) => value)
    return { start, end, constraint: { kind: "values", field: some.field, values, isNot: false } }
  }
  /** The field that a unit implies: by the unit in its name, then by what such a unit measures. */
  #measuredField(unit: Unit | undefined): NumberField | undefined {
    if (unit === undefined) return undefined
    const { dimension } = unit
    const named =
      dimension === "currency" ? [] : this.#facts.numbers.filter((field) => field.unit?.dimension === dimension)
    if (named.length === 1) return named[0]
    for (const concept of conceptsMeasuredIn(dimension)) {
      const field = named.find(({ concepts }) => concepts.includes(concept)) ?? this.#facts.about([concept])
      if (field !== undefined && (field.unit === undefined || field.unit.dimension === dimension)) return field
    }
    return named[0]
  }
  /** A number field whose name precedes: "price is under …". */
  #fieldBefore(at: number): { readonly field: NumberField; readonly start: number } | undefined {
    for (let i = at - 1; i >= this.#free && i >= at - 1 - BETWEEN_MAX; i--) {
      const { isKept, kind, text } = this.#tokens[i]!
      if (isKept === true) return undefined
      const field = kind === "word" ? numberFieldOf(this.#facts, text) : undefined
      if (field !== undefined) return { field, start: i }
      if (!functionWords.has(text)) return undefined
    }
    return undefined
  }
  /** Whether a bare number is not a price, because it follows words for people or precedes a noun that it counts. */
  #isOtherwise(start: number, end: number, value: number): boolean {
    for (let i = start - 1; i >= 0 && i >= start - PEOPLE_BEFORE && value <= AGE_MAX; i--)
      if (peopleWords.has(this.#tokens[i]!.text)) return true
    const next = this.#tokens[end]
    if (next === undefined || next.kind === "sign") return next !== undefined && next.text === "-"
    if (next.kind === "number") return true
    return !functionWords.has(next.text) && negations.at(this.#tokens, end).length === 0 && !this.#isRead(end)
  }
  #isRead(at: number): boolean {
    return (
      this.#flag(at) !== undefined ||
      this.#sort(at) !== undefined ||
      this.#valueAt(at) !== undefined ||
      conceptsOfWord(this.#tokens[at]!.text).length > 0 ||
      comparisons.at(this.#tokens, at, this.#quantityAt).length > 0 ||
      polite.at(this.#tokens, at).length > 0
    )
  }
  /** "16 GB of RAM": a number with the unit of a field that is not a price. */
  #exact(at: number): Reading | undefined {
    const quantity = this.#quantityAt(at)
    if (quantity === undefined || quantity.unit === undefined || quantity.unit.dimension === "stars") return undefined
    if (quantity.unit.dimension === "currency") return undefined
    const before = quantity.field === undefined ? this.#fieldBefore(at) : undefined
    const named =
      before === undefined
        ? undefined
        : this.#numbers(before.start, quantity.end, before.field, "=", [quantity], quantity.unit)
    if (named !== undefined) return named
    const field = quantity.field ?? this.#measuredField(quantity.unit)
    if (field === undefined || isPriced(field)) return undefined
    return this.#numbers(at, quantity.end, field, "=", [quantity], quantity.unit)
  }

  // ---- orders and flags

  #sort(at: number): Reading | undefined {
    const [named] = orderings.at(this.#tokens, at)
    const [known] = sortings.at(this.#tokens, at)
    const byName = named === undefined ? undefined : this.#sortByName(at, named.end)
    if (byName !== undefined && byName.end >= (known?.end ?? 0)) return byName
    if (known === undefined) return byName
    const { concepts, order } = known.action
    const field = this.#facts.about(concepts)
    return field?.isSorted === true ? { start: at, end: known.end, sort: { field: field.name, order } } : undefined
  }
  #sortByName(start: number, from: number): Reading | undefined {
    const word = this.#tokens[from]
    const field = word?.kind === "word" ? numberFieldOf(this.#facts, word.text) : undefined
    if (field?.isSorted !== true) return undefined
    let end = from + 1
    let order: "asc" | "desc" | undefined
    for (let i = 0; i < 2; i++) {
      const [direction] = directions.at(this.#tokens, end)
      order ??= direction?.action
      end = direction?.end ?? ordered.at(this.#tokens, end)[0]?.end ?? end
    }
    const isUp = isPriced(field) || field.concepts.includes("weight")
    return { start, end, sort: { field: field.name, order: order ?? (isUp ? "asc" : "desc") } }
  }

  #flag(at: number, isNot = false): Reading | undefined {
    for (const { action, end } of flags.at(this.#tokens, at)) {
      const value = action.value !== isNot
      const field = this.#facts.flagAbout(action.concept)
      if (field !== undefined) return { start: at, end, constraint: { kind: "flag", field, value } }
      const stock = action.concept === "in_stock" ? this.#facts.about(["stock"]) : undefined
      if (stock !== undefined)
        return {
          start: at,
          end,
          constraint: { kind: "number", field: stock, operator: value ? ">" : "<=", values: [0] }
        }
    }
    return this.#flagByName(at, isNot)
  }
  /** A boolean field named by its own words: `waterproof`. */
  #flagByName(at: number, isNot: boolean): Reading | undefined {
    for (const field of this.#facts.flags) {
      const words = field.words[0] === "is" || field.words[0] === "has" ? field.words.slice(1) : field.words
      if (words.length > 0 && words.every((word, i) => this.#isWord(at + i, word)))
        return { start: at, end: at + words.length, constraint: { kind: "flag", field, value: !isNot } }
    }
    return undefined
  }
  #isWord(at: number, word: string): boolean {
    const token = this.#tokens[at]
    return token?.kind === "word" && token.isKept !== true && token.text === word
  }

  // ---- values

  /** The longest run of words here that names values. */
  #valueAt(at: number): { readonly end: number; readonly values: ReadonlyArray<NamedValue> } | undefined {
    let end = at
    const { isKept } = this.#tokens[at] ?? {}
    if (isKept === true) return undefined
    while (end < this.#tokens.length && end < at + VALUE_WORDS_MAX && isValueToken(this.#tokens[end]!)) end++
    for (; end > at; end--) {
      const own = this.#tokens.slice(at, end)
      const values = this.#facts.named(keysOf(comparedTexts(own), this.#stems))
      if (values.length > 0) return { end, values }
    }
    return undefined
  }
  #value(at: number, isNot = false): Reading | undefined {
    const found = this.#valueAt(at)
    if (found === undefined) return undefined
    const { end, values } = found
    const before = isNot ? undefined : this.#textFieldBefore(at, values)
    const behind = this.#textFieldBehind(end, values)
    const field = before?.field ?? behind
    const chosen = field === undefined ? values[0]! : values.find((each) => each.field === field)!
    if (field === undefined && !this.#isDistinctive(at, end, chosen.value)) return undefined
    return {
      start: before?.start ?? at,
      end: before === undefined && behind !== undefined ? end + 1 : end,
      constraint: { kind: "values", field: chosen.field, values: [chosen.value], isNot }
    }
  }
  /** A number, a letter or a common word names a value only together with the name of its field. */
  #isDistinctive(at: number, end: number, value: string): boolean {
    const own = this.#tokens.slice(at, end)
    if (!own.some(({ kind, text }) => kind === "word" && !functionWords.has(text))) return false
    const [first] = own
    if (own.length > 1 || first!.text.length > 2) return true
    // "XL" as written in the catalogue, in a request that is not entirely in capitals.
    const letters = value.trim()
    const { isCapital, written } = this.#written(first!)
    return letters.length === 2 && written === letters && isCapital
  }
  #written({ end, start, text }: Token): { readonly written: string; readonly isCapital: boolean } {
    const written = this.#text.slice(start, end)
    return { written, isCapital: written !== text && this.#text !== this.#text.toUpperCase() }
  }

  #textFieldBefore(
    at: number,
    values: ReadonlyArray<NamedValue>
  ): { readonly field: TextField; readonly start: number } | undefined {
    for (let i = at - 1; i >= this.#free && i >= at - 1 - BETWEEN_MAX; i--) {
      const { isKept, kind, text } = this.#tokens[i]!
      if (isKept === true) return undefined
      const field = kind === "word" ? namedField(text, values) : undefined
      if (field !== undefined) return { field, start: i }
      if (!functionWords.has(text) && text !== "=") return undefined
    }
    return undefined
  }
  #textFieldBehind(end: number, values: ReadonlyArray<NamedValue>): TextField | undefined {
    const token = this.#tokens[end]
    return token?.kind !== "word" || token.isKept === true ? undefined : namedField(token.text, values)
  }

  // ---- exclusions

  /** "not more than", "won't cost me more than". */
  #comparisonNot(at: number, end: number): Reading | undefined {
    for (let from = end; from <= end + BETWEEN_MAX && from < this.#tokens.length; from++) {
      const compared = this.#comparison(from, true)
      if (compared !== undefined) return { ...compared, start: Math.min(at, compared.start) }
      const { kind, text } = this.#tokens[from]!
      if (kind !== "word" || !(functionWords.has(text) || isCost(text))) return undefined
    }
    return undefined
  }
  #not(at: number): Reading | undefined {
    for (const { end } of negations.at(this.#tokens, at)) {
      const compared = this.#comparisonNot(at, end)
      if (compared !== undefined) return compared
      for (let from = end; from <= end + BETWEEN_MAX && from < this.#tokens.length; from++) {
        const read = this.#flag(from, true) ?? this.#value(from, true)
        if (read !== undefined) return { ...read, start: at }
        const { kind, text } = this.#tokens[from]!
        if (kind !== "word" || !(functionWords.has(text) || isTextConcept(text))) break
      }
    }
    return undefined
  }
}

/** Whether the word is about the price. */
const isCost = (word: string): boolean => conceptsOfWord(word).includes("price")
const TEXT_CONCEPTS: ReadonlySet<Concept> = new Set<Concept>([
  "brand",
  "color",
  "category",
  "material",
  "origin",
  "size"
])
const isTextConcept = (word: string): boolean => conceptsOfWord(word).some((concept) => TEXT_CONCEPTS.has(concept))
/** The field of these values that a word names. */
const namedField = (word: string, values: ReadonlyArray<NamedValue>): TextField | undefined => {
  const concepts = conceptsOfWord(word)
  return values.find(
    ({ field }) => field.words.includes(word) || field.concepts.some((each) => concepts.includes(each))
  )?.field
}

/** Undefined if the field measures another dimension. */
const inUnitOf = (field: NumberField, value: number, unit: Unit | undefined): number | undefined => {
  if (unit === undefined || unit.dimension === "currency")
    return unit === undefined || isMoney(field) ? value : undefined
  if (field.unit === undefined) {
    const isOwn = field.concepts.some((concept) => conceptsMeasuredIn(unit.dimension).includes(concept))
    // A field without a unit in its name stores bytes as gigabytes; other quantities as written.
    return unit.dimension === "bytes" ? value * unit.factor : isOwn || field.concepts.length === 0 ? value : undefined
  }
  return field.unit.dimension === unit.dimension ? (value * unit.factor) / field.unit.factor : undefined
}
const isMoney = (field: NumberField): boolean => isPriced(field) || field.unit?.dimension === "currency"

const passes = (operator: Operator, amount: number, first: number, second: number): boolean => {
  switch (operator) {
    case "<":
      return amount < first
    case "<=":
      return amount <= first
    case ">":
      return amount > first
    case ">=":
      return amount >= first
    case "=":
      return amount === first
    case "between":
      return amount >= Math.min(first, second) && amount <= Math.max(first, second)
    case "around":
      return amount >= 0.9 * first && amount <= 1.1 * first
  }
}
