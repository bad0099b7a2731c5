/**
 * Reads the words of documents into indexes of units: from stored documents, or from the indexes of the segments that
 * held them before a merge. It works in steps, because there may be a lot to read.
 */
import { parseJson } from "../../documents/json.ts"
import { leavesOf, valueAt } from "../../documents/nested.ts"
import { SPILLED, type TextColumn } from "../../index/columns.ts"
import type { Segment } from "../../index/segment.ts"
import type { RelevanceUnit } from "../../plan.ts"
import type { CollectionSchema } from "../../schema.ts"
import { UnitBuilder, type UnitIndex } from "./unit-index.ts"
import { wordAnalyzerOf } from "./words.ts"

/** Documents between two chances to yield. */
const STEP_DOCS = 32
/** Characters between two chances to yield, so that few large documents also make a step. */
const STEP_CHARACTERS = 32_768

/** The source of the words of a segment's documents. */
export interface WordSource {
  readonly segment: Segment
  readonly schema: CollectionSchema
  /** A replaced document keeps its number, but its stored text is that of its successor; it counts as empty. */
  readonly isGone: (doc: number) => boolean
  readonly text: (seq: number) => string | undefined
  /** Where a document was before the merge. If that segment has an index, its words are not read again. */
  readonly before?: (doc: number) => { readonly segment: Segment; readonly doc: number } | undefined
  readonly unitOf?: (segment: Segment, unit: RelevanceUnit) => UnitIndex | undefined
}
interface Build {
  readonly unit: RelevanceUnit
  readonly builder: UnitBuilder
  readonly read: Reader
  /** Indexes whose vocabulary was adopted; undefined for a segment without one. */ readonly adopted: Map<
    Segment,
    { readonly index: UnitIndex; readonly numbers: Uint32Array } | undefined
  >
}
/** Makes one pass over the documents for all of the units; returns their indexes in order. */
export function* buildingUnits(
  source: WordSource,
  units: ReadonlyArray<RelevanceUnit>
): Generator<void, ReadonlyArray<UnitIndex>> {
  const { isGone, schema, segment } = source
  const builds = units.map((unit): Build => ({
    unit,
    builder: new UnitBuilder(wordAnalyzerOf(unit.locale)),
    read: readerOf(unit, schema, segment),
    adopted: new Map()
  }))
  let readCharacters = 0
  for (let doc = 0; doc < segment.docs; doc++) {
    if (!isGone(doc)) readCharacters += yield* readDocument(source, builds, doc, readCharacters)
    for (const { builder } of builds) builder.closeDocument()
    if (doc % STEP_DOCS === STEP_DOCS - 1 || readCharacters > STEP_CHARACTERS) {
      readCharacters = 0
      yield
    }
  }
  const indexes: UnitIndex[] = []
  for (const { builder } of builds) {
    indexes.push(yield* builder.finishing())
    yield
  }
  return indexes
}
/** Returns how many characters were read. */
function* readDocument(
  { before, segment, text, unitOf }: WordSource,
  builds: ReadonlyArray<Build>,
  doc: number,
  readBefore: number
): Generator<void, number> {
  const place = before?.(doc)
  let document: { readonly [key: string]: unknown } | undefined
  let readCharacters = 0
  for (const build of builds) {
    const { builder, read } = build
    const kept = place === undefined || unitOf === undefined ? undefined : yield* adopting(build, place.segment, unitOf)
    if (kept !== undefined && place !== undefined) {
      builder.addFrom(kept.index, place.doc, kept.numbers)
      continue
    }
    if (document === undefined) {
      const stored = text(segment.seqs[doc])
      readCharacters = stored?.length ?? 0
      // Reading, parsing and tokenizing a large document are separate steps.
      const isLarge = readBefore + readCharacters > STEP_CHARACTERS
      if (isLarge) yield
      document = stored === undefined ? {} : (parseJson(stored) as { readonly [key: string]: unknown })
      if (isLarge) yield
    }
    read(document, doc, builder)
    while (builder.addRest()) yield
  }
  return readCharacters
}
function* adopting(
  { adopted, builder, unit }: Build,
  segment: Segment,
  unitOf: NonNullable<WordSource["unitOf"]>
): Generator<void, { readonly index: UnitIndex; readonly numbers: Uint32Array } | undefined> {
  if (adopted.has(segment)) return adopted.get(segment)
  const index = unitOf(segment, unit)
  const kept = index === undefined ? undefined : { index, numbers: builder.adopt(index) }
  adopted.set(segment, kept)
  if (kept !== undefined) yield
  return kept
}

type Reader = (document: { readonly [key: string]: unknown }, doc: number, into: UnitBuilder) => void
const addTexts = (value: unknown, into: UnitBuilder): void => {
  if (typeof value === "string") into.add(value)
  else if (Array.isArray(value)) for (const item of value) addTexts(item, into)
}
const readerOf = (unit: RelevanceUnit, schema: CollectionSchema, segment: Segment): Reader => {
  const isText = (name: string): boolean => textFields(schema).has(name)
  if (unit.prefix === undefined) {
    const unstored = schema.fields.find((field) => field.name === unit.name && !field.store)
    const column = unstored === undefined ? undefined : segment.text(unit.name)
    if (column !== undefined) {
      const texts = textsOfColumn(column, segment.docs)
      return (_document, doc, into) => {
        if (texts[doc] !== "") into.add(texts[doc])
      }
    }
    const path = unit.name.split(".")
    return (document, _doc, into) => addTexts(valueAt(document, unit.name, path).value, into)
  }
  const { prefix } = unit
  return (document, _doc, into) => {
    for (const key in document) {
      const value = document[key]
      if (key.startsWith(prefix)) {
        if (isText(key)) {
          addTexts(value, into)
          continue
        }
      } else if (!prefix.startsWith(`${key}.`)) continue
      if (typeof value === "object" && value !== null)
        leavesOf(key, value, false, (path, leaf) => {
          if (path.startsWith(prefix) && isText(path)) addTexts(leaf, into)
        })
    }
  }
}
const textFieldsOf = new WeakMap<CollectionSchema, ReadonlySet<string>>()
/** Names of fields that a wildcard may stand for. */
const textFields = (schema: CollectionSchema): ReadonlySet<string> => {
  let names = textFieldsOf.get(schema)
  if (names === undefined)
    textFieldsOf.set(
      schema,
      (names = new Set(
        schema.fields
          .filter(({ index, type }) => index && (type === "string" || type === "string[]"))
          .map(({ name }) => name)
      ))
    )
  return names
}

/**
 * The content of a field that is indexed but not stored: its tokens in order, as far as the engine's own index
 * preserves them.
 */
const textsOfColumn = (column: TextColumn, docs: number): string[] => {
  const words: Array<Array<{ readonly place: number; readonly text: string }>> = Array.from({ length: docs }, () => [])
  for (let term = 0; term < column.terms.size; term++) {
    const text = column.terms.text(term)
    for (let p = column.starts[term]; p < column.starts[term + 1]; p++) {
      const loc = column.locs[p],
        own = words[column.docs[p]]
      if (loc < SPILLED) {
        own.push({ place: loc, text })
        continue
      }
      const at = loc - SPILLED
      for (let i = 1; i <= column.spill[at]; i++) own.push({ place: column.spill[at + i], text })
    }
  }
  return words.map((own) =>
    own
      .sort((a, b) => a.place - b.place)
      .map(({ text }) => text)
      .join(" ")
  )
}
