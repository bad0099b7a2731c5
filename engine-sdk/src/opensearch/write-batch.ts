/** Applies a batch of operations, one after the other, to the documents that were read for it. Pure. */
import {
  documentPlanOf,
  parseJson,
  prepareWrite,
  stringifyJson,
  withDetected,
  type IndexValues
} from "../documents/mod.ts"
import type { WriteVerdict, Written } from "../engine.ts"
import { capReached, type EngineError, fail, invalid, notFound, ok } from "../errors.ts"
import { encodeUtf8 } from "../index/bytes.ts"
import type { KeepLimits } from "../keep-limits.ts"
import type { WriteOperation } from "../plan.ts"
import type { CollectionSchema, Document } from "../schema.ts"
import { exceeds } from "../store/namespace-use.ts"
import { ID_BYTES_MAX } from "./placement.ts"
import type { StoredVersion } from "./scan.ts"
import { documentOf, type StoredForm } from "./stored-form.ts"

/** What the namespace already stores. */
export interface BatchUse {
  documents: number
  bytes: number
}
interface DocumentState {
  readonly id: string
  readonly before: StoredVersion | undefined
  stored: StoredForm | undefined
  values: IndexValues
}
const NO_VALUES: IndexValues = new Map()
const sizeOf = (stored: StoredForm | undefined): number =>
  stored === undefined ? 0 : stored.d.length + (stored.u?.length ?? 0)

export class WriteBatch {
  schema: CollectionSchema
  /** Documents that differ from what was read. */ readonly changed = new Map<string, DocumentState>()
  readonly #known: ReadonlyMap<string, StoredVersion>
  readonly #use: BatchUse
  readonly #keeps: KeepLimits | undefined
  /** Set if numbers ran out; then nothing may be sent. */ isShortOfNumbers = false
  readonly #endSeq: number
  #nextSeq: number

  /** `known`: every document that an operation names, and those whose ids are numbers that may be assigned. */
  constructor(
    schema: CollectionSchema,
    known: ReadonlyMap<string, StoredVersion>,
    numbers: { readonly first: number; readonly end: number },
    use: BatchUse,
    keeps: KeepLimits | undefined
  ) {
    this.schema = schema
    this.#known = known
    this.#nextSeq = numbers.first
    this.#endSeq = numbers.end
    this.#use = use
    this.#keeps = keeps
  }

  apply(operation: WriteOperation, id: string | undefined, returnDocuments: boolean): WriteVerdict {
    return operation.kind === "delete"
      ? this.#delete(operation.id, returnDocuments)
      : this.#put(operation, id, returnDocuments)
  }
  #now(id: string): StoredForm | undefined {
    const state = this.changed.get(id)
    return state === undefined ? this.#known.get(id)?.form : state.stored
  }
  /** The decimal text of the next number that is not used as an id. */
  #freeId(): string {
    while (this.#now(String(this.#nextSeq)) !== undefined) this.#nextSeq++
    return String(this.#nextSeq)
  }
  #delete(id: string, returnDocuments: boolean): WriteVerdict {
    const stored = this.#now(id)
    if (stored === undefined) return { id, result: fail(notFound(`Could not find a document with id: ${id}`)) }
    this.#set(id, undefined, NO_VALUES)
    return { id, result: ok(written(id, returnDocuments ? (parseJson(stored.d) as Document) : undefined, true)) }
  }
  #put(
    operation: Extract<WriteOperation, { kind: "put" }>,
    id: string | undefined,
    returnDocuments: boolean
  ): WriteVerdict {
    const named = id === undefined ? {} : { id }
    const existing = (of: string): Document | undefined => {
      const stored = this.#now(of)
      return stored === undefined ? undefined : documentOf(stored)
    }
    const current = operation.rewrite === true && id !== undefined ? existing(id) : undefined
    // The document was deleted since the caller read it: there is nothing to reindex, and it must not be restored.
    if (operation.rewrite === true && current === undefined)
      return { ...named, result: fail(notFound(`Could not find a document with id: ${id}`)) }
    const source = current === undefined ? operation : { ...operation, document: current }
    const prepared = prepareWrite(this.schema, source, existing, () => this.#freeId())
    if (!prepared.ok) return { ...named, result: prepared }
    const { value } = prepared
    if (encodeUtf8(value.id).length > ID_BYTES_MAX)
      return { ...named, result: fail(invalid(`The \`id\` is longer than ${ID_BYTES_MAX} bytes.`)) }
    const answer = (changed: boolean): WriteVerdict => ({
      id: value.id,
      result: ok(written(value.id, returnDocuments ? value.stored : undefined, changed))
    })
    if (!value.changed && operation.action !== "create" && operation.rewrite !== true) return answer(false)
    const before = this.#now(value.id)
    const stored = this.#draft(before, value)
    const refused = operation.rewrite === true ? undefined : this.#capOver(before, stored, value.detected.length)
    if (refused !== undefined) return { id: value.id, result: fail(refused) }
    if (value.detected.length > 0) this.schema = withDetected(this.schema, value.detected)
    if (before === undefined && this.#nextSeq++ >= this.#endSeq) this.isShortOfNumbers = true
    this.#set(value.id, stored, value.values)
    return answer(true)
  }
  #draft(
    before: StoredForm | undefined,
    { stored, values }: { readonly stored: Document; readonly values: IndexValues }
  ): StoredForm {
    const names = documentPlanOf(this.schema).unstored.filter((name) => values.has(name))
    return {
      seq: before?.seq ?? this.#nextSeq,
      d: stringifyJson(stored),
      ...(names.length === 0
        ? {}
        : { u: stringifyJson(Object.fromEntries(names.map((name) => [name, values.get(name)]))) })
    }
  }
  #capOver(before: StoredForm | undefined, stored: StoredForm, detected: number): EngineError | undefined {
    const keeps = this.#keeps
    if (keeps === undefined) return undefined
    const use = this.#use
    if (detected > 0 && exceeds(keeps.fields_per_collection, this.schema.fields.length + detected))
      return capReached("fields_per_collection", keeps)
    if (before === undefined && exceeds(keeps.documents, use.documents + 1)) return capReached("documents", keeps)
    const grows = sizeOf(stored) - sizeOf(before)
    return grows > 0 && exceeds(keeps.stored_bytes, use.bytes + grows) ? capReached("stored_bytes", keeps) : undefined
  }
  #set(id: string, stored: StoredForm | undefined, values: IndexValues): void {
    const was = this.#now(id)
    this.#use.documents += (stored === undefined ? 0 : 1) - (was === undefined ? 0 : 1)
    this.#use.bytes += sizeOf(stored) - sizeOf(was)
    const state = this.changed.get(id)
    if (state === undefined) this.changed.set(id, { id, before: this.#known.get(id), stored, values })
    else Object.assign(state, { stored, values })
    // Created and deleted within the batch, so there is nothing to send.
    const now = this.changed.get(id)
    if (now?.stored === undefined && now?.before === undefined) this.changed.delete(id)
  }
}
const written = (id: string, document: Document | undefined, changed: boolean): Written =>
  document === undefined ? { id, changed } : { id, changed, document }
