/**
 * Which units of a segment are indexed, and building those that are not: from stored documents, in slices where there
 * is much to read. Units are kept with the segment and counted in its bytes; the least recently used goes when there
 * are too many. What a merge or an upsert replaces is derived again from the new segment.
 */
import { spend } from "../../budget/cutoff.ts"
import { parseJson } from "../../documents/json.ts"
import { leavesOf, valueAt } from "../../documents/nested.ts"
import { hasBit } from "../../index/bits.ts"
import { SPILLED, type TextColumn } from "../../index/columns.ts"
import type { CollectionReader, Retiring, SegmentView } from "../../index/reader.ts"
import type { Segment } from "../../index/segment.ts"
import type { RelevanceUnit } from "../../plan.ts"
import type { CollectionSchema } from "../../schema.ts"
import { UnitBuilder, type UnitIndex } from "./unit-index.ts"
import { wordAnalyzerOf } from "./words.ts"

/** Units kept per segment: more than one request may name. */
const UNITS_MAX = 128
/** Documents between two offers to give way. */
const STEP_DOCS = 32
/** Of documents that are large: few of them make a step. */
const STEP_CHARACTERS = 32_768
const KEY = "relevance"

class UnitColumns implements Retiring {
  private readonly units = new Map<string, UnitIndex>()
  /** Of the segments that were merged into this one, until it has its own. */ retired: RetiredUnits | undefined
  get bytes(): number {
    let total = this.retired?.bytes ?? 0
    for (const unit of this.units.values()) total += unit.bytes
    return total
  }
  /** A merge keeps documents with their numbers, so their words need not be read again. */
  retire(view: SegmentView, successors: ReadonlyArray<SegmentView>): void {
    if (this.units.size === 0 && this.retired === undefined) return
    for (const { segment } of successors)
      (columnsOf(segment).retired ??= new RetiredUnits()).add(view, this.units, this.retired)
  }
  has(name: string): boolean {
    return this.units.has(name)
  }
  /** The last used stands last. */
  get(name: string): UnitIndex | undefined {
    const unit = this.units.get(name)
    if (unit !== undefined) {
      this.units.delete(name)
      this.units.set(name, unit)
    }
    return unit
  }
  set(name: string, unit: UnitIndex): void {
    this.units.set(name, unit)
    for (const oldest of this.units.keys()) {
      if (this.units.size <= UNITS_MAX) return
      this.units.delete(oldest)
    }
  }
}
/** Indexes of merged segments, by the insertion number of the documents that were alive in them. */
class RetiredUnits {
  private readonly segments: Array<ReadonlyMap<string, UnitIndex>> = []
  private readonly places = new Map<number, Place>()
  get bytes(): number {
    let total = 0
    for (const units of this.segments) for (const unit of units.values()) total += unit.bytes
    return total
  }
  /** `before`: what the view itself had inherited and not yet used. */
  add(
    { deleted, segment }: SegmentView,
    units: ReadonlyMap<string, UnitIndex>,
    before: RetiredUnits | undefined
  ): void {
    const first = this.segments.length
    if (before === undefined) this.segments.push(units)
    else this.segments.push(...before.segments)
    for (let doc = 0; doc < segment.docs; doc++) {
      if (deleted !== undefined && hasBit(deleted, doc)) continue
      const seq = segment.seqs[doc]
      const place = before === undefined ? { segment: first, doc } : before.places.get(seq)
      if (place !== undefined)
        this.places.set(seq, before === undefined ? place : { segment: first + place.segment, doc: place.doc })
    }
  }
  place(seq: number): Place | undefined {
    return this.places.get(seq)
  }
  unit(place: Place, name: string): UnitIndex | undefined {
    return this.segments[place.segment].get(name)
  }
}
interface Place {
  readonly segment: number
  readonly doc: number
}

const columnsOf = (segment: Segment): UnitColumns => {
  let columns = segment.derived.get(KEY) as UnitColumns | undefined
  if (columns === undefined) segment.derived.set(KEY, (columns = new UnitColumns()))
  return columns
}

/** Reading the words of a document. */
const DOCUMENT_STEPS = 1_024
/** Indexes of units, in their order; what is missing is built at once. */
export const unitsOf = (
  reader: CollectionReader,
  view: SegmentView,
  units: ReadonlyArray<RelevanceUnit>
): UnitIndex[] => {
  const work = buildMissing(reader, view, units)
  while (work.next().done !== true) spend(DOCUMENT_STEPS)
  const columns = columnsOf(view.segment)
  return units.map(({ name }) => columns.get(name)!)
}
/** Documents whose words are still to be read for a search over these units. */
export const missingDocs = (views: ReadonlyArray<SegmentView>, units: ReadonlyArray<RelevanceUnit>): number => {
  let docs = 0
  for (const { segment } of views) {
    const columns = columnsOf(segment)
    if (!units.every(({ name }) => columns.has(name))) docs += segment.docs
  }
  return docs
}

/** Builds what is missing in one pass over the stored documents; gives way between documents. */
export function* buildMissing(
  reader: CollectionReader,
  view: SegmentView,
  units: ReadonlyArray<RelevanceUnit>
): Generator<void, void> {
  const { documents, schema } = reader
  const { segment, deleted } = view
  const columns = columnsOf(segment)
  // Asked by `get`, so that what this search needs is the last to go.
  const missing = units.filter(({ name }) => columns.get(name) === undefined)
  if (missing.length === 0) return
  const { retired } = columns
  const builds = missing.map((unit) => ({
    name: unit.name,
    builder: new UnitBuilder(wordAnalyzerOf(unit.locale)),
    read: readerOf(unit, schema, segment),
    adopted: new Map<UnitIndex, Uint32Array>()
  }))
  let readCharacters = 0
  for (let doc = 0; doc < segment.docs; doc++) {
    const isGone = deleted !== undefined && hasBit(deleted, doc)
    const place = isGone ? undefined : retired?.place(segment.seqs[doc])
    let document: { readonly [key: string]: unknown } | undefined
    for (const { adopted, builder, name, read } of builds) {
      const kept = place === undefined ? undefined : retired?.unit(place, name)
      if (kept !== undefined && place !== undefined) {
        let numbers = adopted.get(kept)
        if (numbers === undefined) {
          adopted.set(kept, (numbers = builder.adopt(kept)))
          yield
        }
        builder.addFrom(kept, place.doc, numbers)
      } else if (!isGone) {
        // A replaced document keeps its number, so its text is that of its successor: the old one counts as empty.
        if (document === undefined) {
          const text = documents.text(segment.seqs[doc])
          readCharacters += text?.length ?? 0
          // A large document is read, parsed and taken apart in a turn each.
          if (readCharacters > STEP_CHARACTERS) yield
          document = text === undefined ? {} : (parseJson(text) as { readonly [key: string]: unknown })
          if (readCharacters > STEP_CHARACTERS) yield
        }
        read(document, doc, builder)
        while (builder.addRest()) yield
      }
      builder.closeDocument()
    }
    if (doc % STEP_DOCS === STEP_DOCS - 1 || readCharacters > STEP_CHARACTERS) {
      readCharacters = 0
      yield
    }
  }
  for (const { name, builder } of builds) {
    columns.set(name, yield* builder.finishing())
    yield
  }
  columns.retired = undefined
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
 * What a field that is indexed but not stored says: its tokens in order, as far as the engine's own index keeps them.
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
