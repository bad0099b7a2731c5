/**
 * The facts about a collection that the words of a request may refer to: its fields by subject, and the values of its
 * facets by the words that name them, ignoring case, accents and endings. Computed once for many requests. Pure.
 * O(values).
 */
import type { Field } from "@dowser/engine-sdk"
import type { FieldValues } from "@dowser/engine-sdk/understanding"
import { colorOf } from "./colors.ts"
import { type Concept, conceptsOfField, nameWords } from "./concepts.ts"
import { stemOf } from "./stems.ts"
import { type Token, tokensOf } from "./tokens.ts"
import { type Unit, unitOf } from "./units.ts"
import { functionWords, type Language, LANGUAGES } from "./words.ts"

export interface NumberField {
  readonly name: string
  readonly isWhole: boolean
  readonly isSorted: boolean
  readonly concepts: ReadonlyArray<Concept>
  readonly words: ReadonlyArray<string>
  /** The unit in the field's name: `weight_kg`. */ readonly unit: Unit | undefined
}
export interface TextField {
  readonly name: string
  readonly isList: boolean
  readonly concepts: ReadonlyArray<Concept>
  readonly words: ReadonlyArray<string>
}
export interface NamedValue {
  readonly field: TextField
  readonly value: string
}
/** A text that is a number with a unit: `128 GB`. */
interface Measured extends NamedValue {
  readonly unit: Unit
  readonly amount: number
}

const VALUE_WORDS_MAX = 8
const VALUE_CHARACTERS_MAX = 100
/** Names that a filter text can contain unquoted. */
const NAME = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]*$/u
const NUMBERS = new Set(["int32", "int64", "float", "int32[]", "int64[]", "float[]"])
const ENTRY_BYTES = 120
/** Values processed between two yields. */
const SLICE_VALUES = 32

/** The words of a value or a request in comparable form: numbers by their value, most signs omitted. */
export const comparedTexts = (tokens: ReadonlyArray<Token>): ReadonlyArray<string> =>
  tokens.map(({ text, value }) => (value === undefined ? text : String(value)))
/** Signs that are part of values: `72 %`, `27"`, `90°`. */
const VALUE_SIGNS = new Set(["%", '"', "°", "+"])
export const isValueToken = ({ kind, text }: Token): boolean => kind !== "sign" || VALUE_SIGNS.has(text)

type Typed = Pick<Field, "name" | "type" | "facet" | "index" | "sort" | "num_dim">

interface Schema {
  readonly fields: ReadonlyArray<Typed>
}

export class RuleFacts {
  readonly #texts: ReadonlyArray<TextField>
  readonly numbers: ReadonlyArray<NumberField>
  readonly flags: ReadonlyArray<TextField>
  readonly #values = new Map<string, Array<NamedValue>>()
  readonly #measured: Array<Measured> = []
  #bytes = 0

  /** `values` of facet fields, with the most documents first. */
  constructor(schema: Schema, values: ReadonlyArray<FieldValues> = [], bytes_max = Infinity) {
    const usable = schema.fields.filter(({ index, name }) => index && NAME.test(name) && name !== "id")
    this.numbers = usable
      .filter(({ num_dim, type }) => NUMBERS.has(type) && num_dim === 0)
      .map(({ name, sort, type }) => ({
        name,
        isWhole: type.startsWith("int"),
        isSorted: sort && !type.endsWith("[]"),
        concepts: conceptsOfField(name),
        words: nameWords(name),
        unit: unitOfName(name)
      }))
    const named = ({ name, type }: Typed): TextField => ({
      name,
      isList: type.endsWith("[]"),
      concepts: conceptsOfField(name),
      words: nameWords(name)
    })
    this.flags = usable.filter(({ type }) => type === "bool" || type === "bool[]").map(named)
    this.#texts = usable
      .filter(({ facet, type }) => facet && (type === "string" || type === "string[]"))
      .map(named)
      .toSorted((x, y) => Number(x.isList) - Number(y.isList))
    for (const _ of this.#adding(values, bytes_max));
  }
  /** The same in slices: yields where it may be interrupted. */
  static *build(schema: Schema, values: ReadonlyArray<FieldValues>, bytes_max: number): Generator<void, RuleFacts> {
    const facts = new RuleFacts(schema)
    yield* facts.#adding(values, bytes_max)
    return facts
  }
  /** If several fields have a value, single-valued fields are preferred, so they come first. */
  *#adding(values: ReadonlyArray<FieldValues>, bytes_max: number): Generator<void> {
    const valuesOf = new Map(values.map(({ field, values: own }) => [field, own]))
    let read = 0
    for (const field of this.#texts)
      for (const value of valuesOf.get(field.name) ?? []) {
        if (this.#bytes >= bytes_max) return
        this.#add(field, value)
        if (++read % SLICE_VALUES === 0) yield
      }
  }
  /** Approximate. */
  get bytes(): number {
    return this.#bytes
  }

  #add(field: TextField, value: string): void {
    // A backtick cannot be quoted.
    if (value.length > VALUE_CHARACTERS_MAX || value.includes("`") || !value.isWellFormed()) return
    const tokens = tokensOf(value.replaceAll("-", " "), false).filter(isValueToken)
    const texts = comparedTexts(tokens)
    if (texts.length === 0 || texts.length > VALUE_WORDS_MAX || !tokens.some(({ kind }) => kind !== "sign")) return
    const named = { field, value }
    for (const key of keysOf(texts, LANGUAGES)) this.#name(key, named)
    const [first, second] = tokens
    const unit = tokens.length === 2 && first!.kind === "number" ? unitOf(second!.text) : undefined
    if (unit !== undefined) this.#measured.push({ ...named, unit, amount: first!.value! * unit.factor })
  }
  #name(key: string, named: NamedValue): void {
    const known = this.#values.get(key)
    // Of a field's values with the same spelling, the first is kept, because more documents have it.
    if (known?.some(({ field }) => field === named.field) === true) return
    if (known === undefined) this.#values.set(key, [named])
    else known.push(named)
    this.#bytes += ENTRY_BYTES + 2 * (key.length + named.value.length)
  }

  /** The values that words name, the most likely field first. */
  named(keys: Iterable<string>): ReadonlyArray<NamedValue> {
    for (const key of keys) {
      const found = this.#values.get(key)
      if (found !== undefined) return found
    }
    return []
  }
  /** Texts with a number of this dimension, of the first field that has any. */
  measured(dimension: Unit["dimension"]): ReadonlyArray<Measured> {
    const all = this.#measured.filter(({ unit }) => unit.dimension === dimension)
    return all.filter(({ field }) => field === all[0]!.field)
  }
  /** The number field about one of these concepts, in their order; of several, the one with the shortest name. */
  about(concepts: ReadonlyArray<Concept>): NumberField | undefined {
    for (const concept of concepts) {
      const own = this.numbers.filter((field) => field.concepts.includes(concept))
      const [best] = own.toSorted((a, b) => a.words.length - b.words.length)
      if (best !== undefined) return best
    }
    return undefined
  }
  flagAbout(concept: Concept): TextField | undefined {
    return this.flags.find((field) => field.concepts.includes(concept))
  }
}

/** The look-up keys of a text: as spelled, and stemmed for each language. */
export const keysOf = (texts: ReadonlyArray<string>, languages: ReadonlyArray<Language>): ReadonlySet<string> => {
  const keys = new Set([texts.join(" ")])
  keys.add(texts.map(colorOf).join(" "))
  if (texts.some((text) => !functionWords.has(text)))
    for (const language of languages) keys.add(texts.map((text) => stemOf(text, language)).join(" "))
  return keys
}

/** A name that is a single word is not a unit: `in`, `l`. */
const unitOfName = (name: string): Unit | undefined => {
  const words = nameWords(name)
  return words.length < 2 ? undefined : unitOf(words.at(-1)!)
}
