/**
 * Decides which vectors a batch of writes needs before it is written. An update that touches no source needs none, nor
 * does an upsert that changes none: the engine keeps the existing vector. A vector in the document itself is kept.
 */
import { isObject, mergeDocument, parseDocument, sameJson } from "../documents/mod.ts"
import { ownValue, putOwn } from "../documents/own-value.ts"
import { isVectorOf } from "../documents/vector-value.ts"
import { invalid, type EngineError } from "../errors.ts"
import type { WriteOperation } from "../plan.ts"
import type { Document } from "../schema.ts"
import { type EmbeddingField, sourceOf } from "./embedding-fields.ts"

type Put = Extract<WriteOperation, { kind: "put" }>

/** A vector to be computed: for which operation and field, from which text. */
export interface WantedVector {
  readonly operation: number
  readonly field: EmbeddingField
  readonly source: string
  /**
   * The text combines stored and sent sources. Another write in between would make it stale, so it is checked after the
   * write.
   */
  readonly isMerged: boolean
}
interface ReadWrites {
  /** The parsed documents of the operations, by number; they are not shared with anyone. */
  readonly documents: ReadonlyMap<number, { [key: string]: unknown }>
  readonly ids: ReadonlyArray<string>
}
interface VectorNeeds {
  readonly wanted: ReadonlyArray<WantedVector>
  /**
   * By operation: null for a vector whose sources are all gone; the existing vector if the engine would drop it because
   * a source is written in a different form.
   */
  readonly settled: ReadonlyArray<{ readonly operation: number; readonly field: string; readonly value: unknown }>
  readonly refused: ReadonlyMap<number, EngineError>
}

export const idOf = (operation: WriteOperation, document: Document | undefined): string | undefined =>
  operation.kind === "delete" ? operation.id : typeof document?.id === "string" ? document.id : operation.id

/**
 * Documents are parsed here once; the engine gets the parsed result. One that does not parse is passed on for the
 * engine to refuse.
 */
export const readWrites = (operations: ReadonlyArray<WriteOperation>): ReadWrites => {
  const documents = new Map<number, { [key: string]: unknown }>()
  const ids = new Set<string>()
  operations.forEach((operation, number) => {
    if (operation.kind === "delete") return
    const { document } = operation
    const parsed = isObject(document) ? { ok: true as const, value: document } : parseDocument(document as string)
    if (!parsed.ok) return
    documents.set(number, { ...parsed.value })
    const id = idOf(operation, parsed.value)
    if (id !== undefined && id !== "" && operation.action !== "create") ids.add(id)
  })
  return { documents, ids: [...ids] }
}

const NO_SOURCE = (field: string): string =>
  `No text was found to make the embedding of \`${field}\`: send at least one of the fields that it is made of, or make the field optional.`

/** The document's source fields as they will be after the operation. */
const sourcesAfter = (operation: Put, document: Document, before: Document | undefined): Document =>
  operation.rewrite === true
    ? (before ?? document)
    : before !== undefined && (operation.action === "update" || operation.action === "emplace")
      ? mergeDocument(before, document)
      : document

/** `stored`: documents by id as they were before the batch. Pure. O(operations × sources). */
export const vectorNeeds = (
  fields: ReadonlyArray<EmbeddingField>,
  operations: ReadonlyArray<WriteOperation>,
  { documents }: ReadWrites,
  stored: ReadonlyMap<string, Document>
): VectorNeeds => {
  const wanted: WantedVector[] = []
  const settled: Array<{ operation: number; field: string; value: unknown }> = []
  const refused = new Map<number, EngineError>()
  // Later operations of the batch see the results of earlier ones.
  const state = new Map<string, Document | undefined>(stored)
  operations.forEach((operation, number) => {
    const document = documents.get(number)
    const id = idOf(operation, document)
    if (operation.kind === "delete") return void state.set(id!, undefined)
    if (document === undefined) return
    const before = id === undefined ? undefined : state.get(id)
    if (operation.action === "update" && before === undefined) return
    if (operation.action === "create" && before !== undefined) return
    const after = sourcesAfter(operation, document, before)
    const isMerged = before !== undefined && (operation.rewrite === true || after !== document)
    const kept: { [key: string]: unknown } = { ...after }
    for (const field of fields) {
      const { name, optional } = field.field
      if (operation.rewrite !== true && ownValue(document, name) !== undefined) continue
      const source = sourceOf(field, after)
      const held = before === undefined ? undefined : ownValue(before, name)
      const had = held !== undefined && isVectorOf(field.field, held)
      if (source === undefined) {
        // A source that is not stored (`store: false`) cannot be read again, so its vector is kept.
        if (had && isMerged && sourceOf(field, before!) !== undefined)
          settled.push({ operation: number, field: name, value: null })
        else if (!optional && !isMerged) refused.set(number, invalid(NO_SOURCE(name)))
        continue
      }
      if (had && before !== undefined && operation.rewrite !== true && source === sourceOf(field, before)) {
        putOwn(kept, name, held)
        const isKept = field.from.every((of) => sameJson(ownValue(document, of), ownValue(before, of)))
        if (!isMerged && held !== true && !isKept) settled.push({ operation: number, field: name, value: held })
        continue
      }
      wanted.push({ operation: number, field, source, isMerged })
      putOwn(kept, name, true)
    }
    if (id !== undefined) state.set(id, kept)
  })
  return { wanted, settled, refused }
}
