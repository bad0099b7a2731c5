/**
 * A chunk: the operations of one write that become one segment and one journal batch. Each is validated, gets its
 * verdict and is added to the segment before it is visible anywhere else.
 */
import type { Dictionaries } from "../analysis/tokens.ts"
import {
  documentPlanOf,
  isObject,
  parseBounded,
  parseJson,
  prepareWrite,
  stringifyJson,
  type Prepared
} from "../documents/mod.ts"
import type { WriteVerdict, Written } from "../engine.ts"
import { capReached, fail, notFound, ok, type EngineError } from "../errors.ts"
import { SegmentBuilder } from "../index/builders.ts"
import type { Allocate, Outside } from "../index/sections.ts"
import type { KeepLimits } from "../keep-limits.ts"
import type { WriteOperation } from "../plan.ts"
import type { CollectionSchema, Document, Field } from "../schema.ts"
import type { StoredDocument } from "./journal.ts"
import type { Place } from "./live-segments.ts"
import { exceeds, type NamespaceUse } from "./namespace-use.ts"
import { missingReference, type WriterNeighbours } from "./references.ts"
import { wholeDocument, type BuiltSegment } from "./segment-building.ts"

/**
 * Maximum documents of one segment and one journal batch. With 1,024 an import used 8 % more time of its thread,
 * because each chunk starts new vocabularies and larger chunks need one level of merges less.
 */
const CHUNK_DOCS = 4_096
/** Maximum characters of these documents, which the chunk holds in memory until it is committed. */
const CHUNK_CHARACTERS = 8 * 1024 * 1024

/** The collection that a chunk is written to. */
export interface ChunkOwner {
  readonly schema: CollectionSchema
  readonly dictionaries: Dictionaries | undefined
  readonly neighbours: WriterNeighbours
  readonly use: NamespaceUse
  /** The insertion number of the next new document. */ readonly upcomingSeq: number
  takeSeq(): number
  /** Adds detected fields to the schema. */ appendFields(detected: ReadonlyArray<Field>): void
  locate(id: string): Place | undefined
  /** A live document with the values stored separately from it, even if its commit is not readable yet. */
  storedOf(seq: number): StoredDocument | undefined
  textOf(seq: number): string | undefined
  /** Called if an operation of `own` names this id; another open chunk that changed the id is committed first. */
  settleOthers(own: Chunk, id: string): void
  isOpenElsewhere(own: Chunk, id: string): boolean
}

/** What a chunk did with an id. */
interface Change {
  readonly seq: number
  readonly text: string | undefined
  /** The document's number in the segment, -1 if it was removed. */ readonly doc: number
}
/**
 * Operations of one write that become one segment and one journal batch.
 *
 * filling (`apply`) -> laying out (`layOut`, column by column) -> closed (committed by the writer). Its documents are
 * not visible before that, and an id is in at most one open chunk: if an operation of another write names the id, this
 * chunk is committed first.
 */
export class Chunk {
  readonly builder: SegmentBuilder
  readonly puts = new Map<number, string>()
  readonly removes = new Set<number>()
  readonly unstored = new Map<number, string>()
  /** Ids whose documents in older segments this chunk replaces or removes. */ readonly superseded = new Set<string>()
  /** Documents of the new segment that a later operation of this chunk replaced. */ readonly replaced: number[] = []
  isClosed = false
  /** Characters of all documents put, including replaced ones. */ private characters = 0
  /** Characters of its documents minus those of the documents they replace. */ addedDocuments = 0
  addedBytes = 0
  laidOut: BuiltSegment | undefined
  private work: Generator<void, BuiltSegment> | undefined
  private readonly writer: ChunkOwner
  /** What this chunk did to each id so far. */ private readonly ids = new Map<string, Change>()
  constructor(writer: ChunkOwner) {
    this.writer = writer
    this.builder = new SegmentBuilder(writer.schema, writer.dictionaries)
  }

  get isFull(): boolean {
    return this.builder.docs >= CHUNK_DOCS || this.characters >= CHUNK_CHARACTERS
  }
  /** The documents that the journal stores for this chunk. */
  documents(): StoredDocument[] {
    const documents: StoredDocument[] = []
    for (const [seq, text] of this.puts) {
      const unstored = this.unstored.get(seq)
      documents.push(unstored === undefined ? { seq, text } : { seq, text, unstored })
    }
    return documents
  }
  holds(id: string): boolean {
    return this.ids.has(id)
  }
  /** Does one step of laying out the segment; true when it is complete. */
  layOut(allocate: Allocate, outside: Outside | undefined): boolean {
    if (this.builder.docs === 0 || this.laidOut !== undefined) return true
    const step = (this.work ??= this.builder.finishing(allocate, outside)).next()
    if (step.done !== true) return false
    this.laidOut = step.value
    return true
  }
  apply(operation: WriteOperation, returnDocuments: boolean, keeps: KeepLimits | undefined): WriteVerdict {
    if (operation.kind === "delete") return this.delete(operation.id, returnDocuments)
    const { writer } = this
    this.located = undefined
    let source = operation
    if (operation.rewrite === true) {
      const id = operation.id ?? idOf(operation).id
      const current = id === undefined ? undefined : this.existing(id)
      // The document was deleted since the caller read it: there is nothing to reindex, and it must not be restored.
      if (id === undefined || current === undefined)
        return {
          ...(id === undefined ? {} : { id }),
          result: fail(notFound(`Could not find a document with id: ${id}`))
        }
      source = { ...operation, document: current }
    }
    const prepared = prepareWrite(
      writer.schema,
      source,
      (id) => this.existing(id),
      () => this.freeId()
    )
    if (!prepared.ok) {
      this.keepFields(prepared.detected ?? [], keeps)
      return { ...idOf(operation), result: fail(prepared.error) }
    }
    const { value } = prepared
    const refused = missingReference(writer.schema, writer.neighbours, value)
    if (refused !== undefined) return { id: value.id, result: fail(refused) }
    if (!value.changed && operation.action !== "create" && operation.rewrite !== true)
      return { id: value.id, result: ok(written(value.id, returnDocuments ? value.stored : undefined, false)) }
    const draft = this.draftOf(value)
    const cap = keeps === undefined || operation.rewrite === true ? undefined : this.capOver(value, draft, keeps)
    if (cap !== undefined) return { id: value.id, result: fail(cap) }
    this.put(value, draft)
    return { id: value.id, result: ok(written(value.id, returnDocuments ? value.stored : undefined, true)) }
  }
  /** The next insertion number as decimal text; numbers that a caller used as an id are skipped. */
  private freeId(): string {
    for (;;) {
      const id = String(this.writer.upcomingSeq)
      const own = this.ids.get(id)
      if (
        own === undefined
          ? this.writer.locate(id) === undefined && !this.writer.isOpenElsewhere(this, id)
          : own.text === undefined
      )
        return id
      this.writer.takeSeq()
    }
  }
  private existing(id: string): Document | undefined {
    const own = this.ids.get(id)
    if (own !== undefined)
      return own.text === undefined
        ? undefined
        : wholeDocument({
            seq: own.seq,
            text: own.text,
            ...(this.unstored.has(own.seq) ? { unstored: this.unstored.get(own.seq)! } : {})
          })
    this.writer.settleOthers(this, id)
    const place = this.placeOf(id)
    const stored = place === undefined ? undefined : this.writer.storedOf(place.view.segment.seqs[place.doc])
    this.existingSize = sizeOf(stored)
    return stored === undefined ? undefined : wholeDocument(stored)
  }
  /** Size of the document that was looked up last, which the next put replaces; 0 if there is none. */
  private existingSize = 0
  /** The stored text of a document, and how much larger it is than the document it replaces. */
  private draftOf({ id, stored, values }: Prepared): Draft {
    const own = this.ids.get(id)
    const isNew = own === undefined ? this.placeOf(id) === undefined : own.text === undefined
    const text = stringifyJson(stored)
    const { unstored } = documentPlanOf(this.writer.schema)
    const names = unstored.length === 0 ? unstored : unstored.filter((name) => values.has(name))
    const hidden =
      names.length === 0 ? undefined : stringifyJson(Object.fromEntries(names.map((name) => [name, values.get(name)])))
    const before = isNew
      ? 0
      : own === undefined
        ? this.existingSize
        : own.text!.length + (this.unstored.get(own.seq)?.length ?? 0)
    return { text, hidden, isNew, grows: text.length + (hidden?.length ?? 0) - before }
  }
  /** Adds fields that a refused document detected, as far as the namespace may add them. */
  private keepFields(detected: ReadonlyArray<Field>, keeps: KeepLimits | undefined): void {
    const { writer } = this
    if (
      detected.length === 0 ||
      (keeps !== undefined && exceeds(keeps.fields_per_collection, writer.schema.fields.length + detected.length))
    )
      return
    writer.appendFields(detected)
    this.builder.extend(writer.schema, writer.dictionaries)
  }
  private capOver({ detected }: Prepared, { grows, isNew }: Draft, keeps: KeepLimits): EngineError | undefined {
    const { schema, use } = this.writer
    if (detected.length > 0 && exceeds(keeps.fields_per_collection, schema.fields.length + detected.length))
      return capReached("fields_per_collection", keeps)
    if (isNew && exceeds(keeps.documents, use.documents + 1)) return capReached("documents", keeps)
    return grows > 0 && exceeds(keeps.stored_bytes, use.bytes + grows) ? capReached("stored_bytes", keeps) : undefined
  }
  private count(documents: number, bytes: number): void {
    this.addedDocuments += documents
    this.addedBytes += bytes
    this.writer.use.add(documents, bytes)
  }
  /** Cached, because validating and putting a document look up the same id in sequence, with nothing in between. */
  private located: { readonly id: string; readonly place: Place | undefined } | undefined
  private placeOf(id: string): Place | undefined {
    if (this.located?.id !== id) this.located = { id, place: this.writer.locate(id) }
    return this.located.place
  }
  private put(prepared: Prepared, { grows, hidden, isNew, text }: Draft): void {
    const { writer } = this
    const { id } = prepared
    const own = this.ids.get(id)
    let seq: number
    if (own !== undefined) {
      seq = own.text === undefined ? writer.takeSeq() : own.seq
      if (own.doc >= 0) this.replaced.push(own.doc)
    } else {
      const place = this.placeOf(id)
      seq = place === undefined ? writer.takeSeq() : place.view.segment.seqs[place.doc]
      if (place !== undefined) this.superseded.add(id)
    }
    if (prepared.detected.length > 0) {
      writer.appendFields(prepared.detected)
      this.builder.extend(writer.schema, writer.dictionaries)
    }
    const doc = this.builder.add(seq, id, prepared.values)
    this.count(isNew ? 1 : 0, grows)
    this.characters += text.length + (hidden?.length ?? 0)
    this.puts.set(seq, text)
    if (hidden !== undefined) this.unstored.set(seq, hidden)
    else if (this.unstored.size > 0) this.unstored.delete(seq)
    this.removes.delete(seq)
    this.ids.set(id, { seq, text, doc })
  }
  private delete(id: string, returnDocuments: boolean): WriteVerdict {
    const own = this.ids.get(id)
    if (own === undefined) this.writer.settleOthers(this, id)
    const place = own === undefined ? this.writer.locate(id) : undefined
    const seq = own !== undefined ? own.seq : place === undefined ? -1 : place.view.segment.seqs[place.doc]
    const text = own !== undefined ? own.text : place === undefined ? undefined : this.writer.textOf(seq)
    if (text === undefined) return { id, result: fail(notFound(`Could not find a document with id: ${id}`)) }
    // Values stored separately are counted by the commit.
    this.count(-1, -text.length)
    if (own !== undefined) {
      if (own.doc >= 0) this.replaced.push(own.doc)
    } else this.superseded.add(id)
    this.puts.delete(seq)
    this.removes.add(seq)
    this.ids.set(id, { seq, text: undefined, doc: -1 })
    return { id, result: ok(written(id, returnDocuments ? (parseJson(text) as Document) : undefined, true)) }
  }
}
/** A document in the form in which it will be stored. */
interface Draft {
  readonly text: string
  readonly hidden: string | undefined
  readonly isNew: boolean
  /** In characters. */ readonly grows: number
}
const sizeOf = (stored: StoredDocument | undefined): number =>
  stored === undefined ? 0 : stored.text.length + (stored.unstored?.length ?? 0)
const written = (id: string, document: Document | undefined, changed: boolean): Written =>
  document === undefined ? { id, changed } : { id, changed, document }
const idOf = (operation: Extract<WriteOperation, { kind: "put" }>): { id?: string } => {
  if (operation.id !== undefined) return { id: operation.id }
  const { document } = operation
  if (typeof document === "object" && !(document instanceof Uint8Array))
    return typeof document.id === "string" ? { id: document.id } : {}
  const text = typeof document === "string" ? document : new TextDecoder().decode(document)
  // A line that is not JSON has no id; its verdict says what is wrong with it.
  const parsed = parseBounded(text)
  return typeof parsed === "object" && isObject(parsed.value) && typeof parsed.value.id === "string"
    ? { id: parsed.value.id }
    : {}
}
