/** Cascading deletions: documents whose references were all deleted (`docs/contract/documents.md#references`). */
import { parseJson } from "../documents/mod.ts"
import { ownValue } from "../documents/own-value.ts"
import type { Document } from "../schema.ts"
import type { CollectionWriter } from "./collection-writer.ts"
import type { CollectionRecord } from "./journal.ts"
import { countEqual } from "./references.ts"

/** A field of one collection that refers to a field, the target, of another collection. */
export interface CascadingReference {
  readonly key: number
  readonly field: string
  readonly target: string
}
export const cascadesTo = (records: ReadonlyArray<CollectionRecord>, name: string): ReadonlyArray<CascadingReference> =>
  records.flatMap(({ key, schema }) =>
    schema.fields.flatMap((field) => {
      const dot = field.reference.indexOf(".")
      return dot > 0 && field.reference.slice(0, dot) === name && field.cascade_delete
        ? [{ key, field: field.name, target: field.reference.slice(dot + 1) }]
        : []
    })
  )

/** Ids of documents of `writer` that referred to deleted documents and now refer to none. O(its documents). */
export const orphanedBy = (
  { field, target }: CascadingReference,
  deleted: ReadonlyArray<Document>,
  writer: CollectionWriter,
  referenced: CollectionWriter
): ReadonlyArray<string> => {
  const gone = new Set(
    deleted.flatMap((document) => {
      const value = ownValue(document, target)
      return value === undefined ? [] : Array.isArray(value) ? value.map(String) : [String(value)]
    })
  )
  if (gone.size === 0) return []
  const ids: string[] = []
  for (const { segment, deleted: dead } of writer.views)
    for (let doc = 0; doc < segment.docs; doc++) {
      if (dead !== undefined && (dead[doc >>> 5] & (1 << (doc & 31))) !== 0) continue
      const text = writer.textOf(segment.seqs[doc])
      const value = text === undefined ? undefined : (parseJson(text) as Document)[field]
      const values = Array.isArray(value) ? value : value === undefined ? [] : [value]
      if (
        values.some((one) => gone.has(String(one))) &&
        values.every((one) => countEqual(referenced, target, one) === 0)
      )
        ids.push(segment.idOf(doc))
    }
  return ids
}
