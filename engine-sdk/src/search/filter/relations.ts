/**
 * References between collections (`docs/contract/filters.md#joins`): which documents of one collection belong to which
 * documents of another. Either collection may hold the reference; its values are compared by tokens, as the generated
 * equality filter would.
 */
import type { CollectionSchema } from "../../schema.ts"
import { bitsOf, hasBit, setBit, type Bits, type ReadonlyBits } from "../../index/bits.ts"
import { SPILLED } from "../../index/columns.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import type { Segment } from "../../index/segment.ts"
import { spend, spendInFilter, unlessGivenUp } from "../../budget/cutoff.ts"

/** Keys of every document of a segment in one field: distinct texts and, per document, indexes into them. */
interface JoinKeys {
  readonly texts: ReadonlyArray<string>
  readonly starts: Uint32Array
  readonly entries: Uint32Array
  readonly at: ReadonlyMap<string, number>
}
/** The two fields whose equal values relate documents. */
export interface Relation {
  readonly local: string
  readonly foreign: string
  /** The reference field is in this collection. */ readonly isOutgoing: boolean
}

/** How `schema` and `other` refer to each other; undefined = they do not. A reference of `schema` takes precedence. */
export const relationOf = (schema: CollectionSchema, other: CollectionSchema): Relation | undefined => {
  for (const field of schema.fields) {
    const dot = field.reference.indexOf(".")
    if (dot > 0 && field.reference.slice(0, dot) === other.name)
      return { local: field.name, foreign: field.reference.slice(dot + 1), isOutgoing: true }
  }
  for (const field of other.fields) {
    const dot = field.reference.indexOf(".")
    if (dot > 0 && field.reference.slice(0, dot) === schema.name)
      return { local: field.reference.slice(dot + 1), foreign: field.name, isOutgoing: false }
  }
  return undefined
}

/**
 * The keys of every document in `field`. The first call makes one pass over the field's postings; then the keys are
 * cached with the segment.
 */
const joinKeys = (segment: Segment, field: string): JoinKeys => {
  const name = `keys:${field}`
  const known = segment.derived.get(name) as JoinKeys | undefined
  if (known !== undefined) return known
  const made =
    field === "id"
      ? idKeys(segment)
      : segment.text(field) !== undefined
        ? textKeys(segment, field)
        : numberKeys(segment, field)
  segment.derived.set(name, made)
  return made
}
const collectKeys = (docs: number, visit: (emit: (doc: number, text: string) => void) => void): JoinKeys => {
  const at = new Map<string, number>(),
    texts: string[] = [],
    pairs: number[] = []
  const starts = new Uint32Array(docs + 1)
  visit((doc, text) => {
    spendInFilter(8)
    let index = at.get(text)
    if (index === undefined) {
      at.set(text, (index = texts.length))
      texts.push(text)
    }
    pairs.push(doc, index)
    starts[doc + 1]++
  })
  for (let doc = 0; doc < docs; doc++) starts[doc + 1] += starts[doc]
  const entries = new Uint32Array(pairs.length / 2),
    next = starts.slice()
  for (let i = 0; i < pairs.length; i += 2) entries[next[pairs[i]]++] = pairs[i + 1]
  return { texts, starts, entries, at }
}
const idKeys = (segment: Segment): JoinKeys =>
  collectKeys(segment.docs, (emit) => {
    for (let doc = 0; doc < segment.docs; doc++) emit(doc, segment.idOf(doc))
  })
const numberKeys = (segment: Segment, field: string): JoinKeys =>
  collectKeys(segment.docs, (emit) => {
    const column = segment.numbers(field)
    if (column === undefined) return
    for (let doc = 0; doc < segment.docs; doc++) {
      if (column.starts === undefined) {
        if (hasBit(column.has!, doc)) emit(doc, String(column.big === undefined ? column.values[doc] : column.big[doc]))
      } else
        for (let i = column.starts[doc]; i < column.starts[doc + 1]; i++)
          emit(doc, String(column.big === undefined ? column.values[i] : column.big[i]))
    }
  })
/** Inverts the postings: the tokens of each value in order, joined by a byte that no token contains. */
const textKeys = (segment: Segment, field: string): JoinKeys =>
  collectKeys(segment.docs, (emit) => {
    const column = segment.text(field)!
    const values: Array<string[][] | undefined> = new Array(segment.docs)
    const place = (doc: number, at: number, token: string): void => {
      const elements = (values[doc] ??= [])
      const element = (elements[at >>> 16] ??= [])
      element[at & 0xffff] = token
    }
    for (let term = 0; term < column.terms.size; term++) {
      const token = column.terms.text(term)
      spendInFilter(8 + column.frequency(term) * 4)
      for (let p = column.starts[term]; p < column.starts[term + 1]; p++) {
        const loc = column.locs[p]
        if (loc < SPILLED) place(column.docs[p], loc, token)
        else
          for (let i = 1, at = loc - SPILLED, n = column.spill[at]; i <= n; i++) {
            spendInFilter(2)
            place(column.docs[p], column.spill[at + i], token)
          }
      }
    }
    for (let doc = 0; doc < segment.docs; doc++)
      for (const element of values[doc] ?? []) if (element !== undefined) emit(doc, element.join("\u0000"))
  })

/** Keys in `field` of the live documents that are in the set of their view. */
export const keysOf = (
  reader: CollectionReader,
  field: string,
  passing: (view: SegmentView) => ReadonlyBits
): ReadonlySet<string> => {
  const found = new Set<string>()
  for (const view of reader.views) {
    const bits = passing(view)
    const keys = joinKeys(view.segment, field)
    for (let doc = 0; doc < view.segment.docs; doc++) {
      spendInFilter(1)
      if (!hasBit(bits, doc) || (view.deleted !== undefined && hasBit(view.deleted, doc))) continue
      spendInFilter((keys.starts[doc + 1] - keys.starts[doc]) * 8)
      for (let i = keys.starts[doc]; i < keys.starts[doc + 1]; i++) found.add(keys.texts[keys.entries[i]])
    }
  }
  return found
}
/** Documents with one of the keys in `field`. Deleted documents may be among them. */
export const docsWithKeys = (segment: Segment, field: string, wanted: ReadonlySet<string>): Bits => {
  const bits = bitsOf(segment.docs)
  const keys = joinKeys(segment, field)
  spendInFilter(keys.texts.length * 8)
  const isWanted = keys.texts.map((text) => wanted.has(text))
  spendInFilter(segment.docs * 2 + keys.entries.length)
  for (let doc = 0; doc < segment.docs; doc++)
    for (let i = keys.starts[doc]; i < keys.starts[doc + 1]; i++)
      if (isWanted[keys.entries[i]]) {
        setBit(bits, doc)
        break
      }
  return bits
}

export interface Related {
  view: SegmentView
  doc: number
  key: string
}
/**
 * The live documents of the other collection that the document's key values refer to, in insertion order. None if time
 * has run out.
 */
export const relatedDocs = (
  reader: CollectionReader,
  view: SegmentView,
  doc: number,
  other: CollectionReader,
  relation: Relation
): Related[] => unlessGivenUp(() => related(view, doc, other, relation), [])
const related = (view: SegmentView, doc: number, other: CollectionReader, relation: Relation): Related[] => {
  const keys = joinKeys(view.segment, relation.local)
  const found: Related[] = []
  for (let i = keys.starts[doc]; i < keys.starts[doc + 1]; i++) {
    const key = keys.texts[keys.entries[i]]
    for (const there of other.views) {
      const targets = docsWithKey(there.segment, relation.foreign, key)
      spendInFilter(8 + targets.length * 4)
      for (const target of targets)
        if (there.deleted === undefined || !hasBit(there.deleted, target)) found.push({ view: there, doc: target, key })
    }
  }
  spend(found.length * 8)
  return found.sort((a, b) => a.view.segment.seqs[a.doc] - b.view.segment.seqs[b.doc])
}
const docsWithKey = (segment: Segment, field: string, key: string): ReadonlyArray<number> => {
  const name = `keyed:${field}`
  let index = segment.derived.get(name) as Map<string, number[]> | undefined
  if (index === undefined) {
    index = new Map()
    const keys = joinKeys(segment, field)
    for (let doc = 0; doc < segment.docs; doc++)
      for (let i = keys.starts[doc]; i < keys.starts[doc + 1]; i++) {
        spendInFilter(8)
        const text = keys.texts[keys.entries[i]]
        const list = index.get(text)
        if (list === undefined) index.set(text, [doc])
        else list.push(doc)
      }
    segment.derived.set(name, index)
  }
  return index.get(key) ?? []
}
