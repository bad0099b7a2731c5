/**
 * A document as the cluster stores it: its text unchanged, plus the values that are searched, each in the slot of its
 * field. Words come from the package's own tokenizer, so that every engine agrees on what a word is. Pure.
 */
import { analyzerOf } from "../analysis/analyzer.ts"
import { type Dictionaries } from "../analysis/tokens.ts"
import { sortKeyOfString } from "../analysis/sort-key.ts"
import type { IndexValue, IndexValues } from "../documents/mod.ts"
import { wholeDocument } from "../store/segment-building.ts"
import type { CollectionSchema, Document, Field } from "../schema.ts"
import { KEYWORD_LENGTH_MAX } from "./mapping.ts"
import { storedWord, storedWords, type Placement } from "./placement.ts"
import { slotsFor, vectorNames, wordListOf, type SlotTable, type VectorSlot } from "./slots.ts"
import { wholeText, withoutVectors } from "./vector-text.ts"

export interface StoredForm {
  readonly seq: number
  /** The document as JSON text. */ readonly d: string
  /** Values of its `store: false` fields. */ readonly u?: string
}
/** As stored in the cluster. */
export interface StoredSource extends StoredForm {
  /** Vectors cut out of the text; absent if not requested. */ readonly e?: string
}
/** A hit in the cluster's response. */
export interface StoredHit {
  readonly _id: string
  readonly _score?: number
  readonly _source: StoredSource
}
export const formOf = (source: StoredSource): StoredForm => {
  const { e, ...form } = source
  return e === undefined ? source : { ...form, d: wholeText(form.d, e) }
}
export interface FormOf {
  readonly schema: CollectionSchema
  readonly slots: SlotTable
  readonly placement: Placement
  /** Schema version; stored with every document, so that one written under another version is detected. */
  readonly version: number
  readonly dictionaries?: Dictionaries
}

/** A whole value as one keyword: equal if the words are equal. Values beyond the limit cannot be told apart. */
export const wholeWord = (placement: Placement, words: ReadonlyArray<string>): string =>
  storedWord(placement, words.join(" ")).slice(0, KEYWORD_LENGTH_MAX)

/** Cost: tokenizing its texts. */
export const indexForm = (
  { schema, slots, placement, version, dictionaries }: FormOf,
  stored: StoredForm,
  values: IndexValues
): Record<string, unknown> => {
  const cut = withoutVectors(stored.d, vectorNames(slots))
  const form: Record<string, unknown> = {
    c: placement.key,
    v: version,
    size: stored.d.length + (stored.u?.length ?? 0),
    seq: stored.seq,
    d: cut?.text ?? stored.d,
    ...(cut === undefined ? {} : { e: cut.vectors }),
    ...(stored.u === undefined ? {} : { u: stored.u })
  }
  for (const field of schema.fields) {
    const value = values.get(field.name)
    const own = value === undefined ? undefined : slotsFor(slots, field.name)
    if (value === undefined || own === undefined) continue
    if (own.words !== undefined) putTexts(form, field, own, value, { schema, placement, dictionaries })
    if (own.number !== undefined) form[own.number] = value
    const vector = own.vector === undefined ? undefined : indexedVector(own.vector, value as ReadonlyArray<number>)
    if (vector !== undefined) form[own.vector!.name] = vector
    if (own.boolean !== undefined) form[own.boolean] = value
    if (own.point !== undefined) form[own.point] = pointsOf(value)
  }
  return form
}
const putTexts = (
  form: Record<string, unknown>,
  field: Field,
  own: NonNullable<ReturnType<typeof slotsFor>>,
  value: IndexValue,
  { schema, placement, dictionaries }: Pick<FormOf, "schema" | "placement" | "dictionaries">
): void => {
  const texts = (Array.isArray(value) ? value : [value]).map(String)
  const analyzer = analyzerOf(schema, field, dictionaries)
  const tokens = texts.map((text) => analyzer.tokenize(text))
  form[own.words!] = tokens.map((words) => storedWords(placement, words))
  form[wordListOf(own.words!)] = [...new Set(tokens.flat())].map((word) => storedWord(placement, word))
  form[own.whole!] = tokens.map((words) => wholeWord(placement, words))
  if (own.value !== undefined) form[own.value] = texts
  if (own.sort !== undefined) {
    const key = sortKeyOfString(texts[0] ?? "")
    if (key !== "") form[own.sort] = key
  }
}
/** Squared lengths between which single precision loses nothing. */
const SQUARES_MIN = 1e-30,
  SQUARES_MAX = 1e30
/**
 * A vector in a form that the cluster accepts; undefined if it has no direction, or none in single precision. Very long
 * or very short vectors are rescaled, which does not change a cosine.
 */
export const indexedVector = (
  { dimensions, metric }: Pick<VectorSlot, "dimensions" | "metric">,
  vector: ReadonlyArray<number>
): ReadonlyArray<number> | undefined => {
  if (vector.length !== dimensions) return undefined
  const most = vector.reduce((longest, part) => Math.max(longest, Math.abs(Math.fround(part))), 0)
  if (!Number.isFinite(most)) return undefined
  if (metric === "ip") return vector
  if (most === 0) return undefined
  const squares = vector.reduce((sum, part) => sum + part * part, 0)
  return squares > SQUARES_MIN && squares < SQUARES_MAX ? vector : vector.map((part) => Math.fround(part) / most)
}
/** Latitude and longitude, or a list of them; the cluster would read a bare list in the opposite order. */
const pointsOf = (value: IndexValue): unknown => {
  const point = ([lat, lon]: ReadonlyArray<unknown>) => ({ lat, lon })
  const list = value as ReadonlyArray<unknown>
  return Array.isArray(list[0]) ? (list as ReadonlyArray<ReadonlyArray<unknown>>).map(point) : point(list)
}

/** The document with the values of its `store: false` fields. */
export const documentOf = ({ seq, d, u }: StoredForm): Document =>
  wholeDocument({ seq, text: d, ...(u === undefined ? {} : { unstored: u }) })
