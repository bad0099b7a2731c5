/**
 * References between collections in writes (`docs/contract/documents.md#references`): a reference must match exactly
 * one existing document.
 */
import { analyzerOf } from "../analysis/analyzer.ts"
import { documentPlanOf, type Prepared } from "../documents/mod.ts"
import { invalid, type EngineError } from "../errors.ts"
import { bitsOf, hasBit } from "../index/bits.ts"
import { encodeUtf8 } from "../index/bytes.ts"
import { hasPlace, intersectTerms } from "../index/places.ts"
import type { SegmentView } from "../index/reader.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import type { Place } from "./live-segments.ts"

/** What a write needs from a collection that others refer to. */
interface ReferencedCollection {
  readonly schema: CollectionSchema
  readonly views: ReadonlyArray<SegmentView>
  locate(id: string): Place | undefined
}
/** What a writer needs from other collections, because references cross collections. */
export interface WriterNeighbours {
  collection(name: string): ReferencedCollection | undefined
}

/** Number of live documents whose field equals a value, counted up to two. */
export const countEqual = (collection: ReferencedCollection, name: string, value: unknown): number => {
  if (name === "id") return collection.locate(String(value)) === undefined ? 0 : 1
  const field = collection.schema.fields.find((candidate) => candidate.name === name)
  if (field === undefined) return 0
  let found = 0
  for (const view of collection.views) {
    for (const doc of equalDocs(collection.schema, view, field, value)) {
      if (view.deleted !== undefined && hasBit(view.deleted, doc)) continue
      if (++found > 1) return found
    }
  }
  return found
}
const equalDocs = (schema: CollectionSchema, { segment }: SegmentView, field: Field, value: unknown): number[] => {
  const docs: number[] = []
  const column = segment.text(field.name)
  if (column === undefined) {
    const numbers = segment.numbers(field.name)
    if (numbers !== undefined)
      for (let doc = 0; doc < segment.docs; doc++) {
        if (numbers.starts === undefined) {
          if (hasBit(numbers.has!, doc) && numbers.values[doc] === Number(value)) docs.push(doc)
        } else
          for (let i = numbers.starts[doc]; i < numbers.starts[doc + 1]; i++)
            if (numbers.values[i] === Number(value)) {
              docs.push(doc)
              break
            }
      }
    return docs
  }
  const tokens = analyzerOf(schema, field).tokenize(String(value))
  const terms = tokens.map((token) => column.terms.find(encodeUtf8(token)))
  if (terms.length === 0 || terms.includes(-1)) return docs
  const bits = bitsOf(segment.docs)
  intersectTerms(
    column,
    terms,
    (doc, postings) => {
      const elements =
        column.elementStarts === undefined ? 1 : column.elementStarts[doc + 1] - column.elementStarts[doc]
      for (let element = 0; element < elements; element++)
        if (
          column.lengthOf(doc, element) === terms.length &&
          postings.every((posting, i) => hasPlace(column, posting, element * 0x10000 + i))
        )
          return true
      return false
    },
    bits
  )
  for (let doc = 0; doc < segment.docs; doc++) if (hasBit(bits, doc)) docs.push(doc)
  return docs
}
/** Why a document is refused: a reference matches no document, or several. */
export const missingReference = (
  schema: CollectionSchema,
  neighbours: WriterNeighbours,
  prepared: Prepared
): EngineError | undefined => {
  for (const field of documentPlanOf(schema).references) {
    const value = prepared.values.get(field.name)
    if (value === undefined) continue
    const dot = field.reference.indexOf(".")
    const collection = field.reference.slice(0, dot),
      target = field.reference.slice(dot + 1)
    const other = neighbours.collection(collection)
    if (other === undefined) return invalid(`Referenced collection \`${collection}\` not found.`)
    for (const one of Array.isArray(value) ? value : [value]) {
      const n = countEqual(other, target, one)
      const shown = typeof one === "string" ? `${target}:= \`${one}\`` : `${target}:=${String(one)}`
      if (n === 0)
        return invalid(`Reference document having \`${shown}\` not found in the collection \`${collection}\`.`)
      if (n > 1) return invalid(`Multiple documents having \`${shown}\` found in the collection \`${collection}\`.`)
    }
  }
  return undefined
}
