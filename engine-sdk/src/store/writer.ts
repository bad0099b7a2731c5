/**
 * The writing side of an engine: collections of all namespaces over one journal, opened on first use. It runs on the
 * caller's thread or in a worker; it reports to readers through events, so both cases look the same from outside.
 */
import type { Dictionaries } from "../analysis/tokens.ts"
import type { Namespace, SchemaChange, WriteVerdict } from "../engine.ts"
import type { KeepLimits } from "../keep-limits.ts"
import { capReached, conflict, fail, notFound, ok, type Result } from "../errors.ts"
import { allocateLinear } from "../index/graph-kernel.ts"
import { allocatePlain, type Allocate, type Region } from "../index/sections.ts"
import { regionsOf } from "../index/derived-sections.ts"
import type { Segment } from "../index/segment.ts"
import type { RelevanceUnit, WriteOperation } from "../plan.ts"
import type { CollectionInfo, CollectionSchema, Document } from "../schema.ts"
import { type CascadingReference, cascadesTo, orphanedBy } from "./cascades.ts"
import { CollectionWriter } from "./collection-writer.ts"
import { type MoreOperations } from "./collection-writer-options.ts"
import type { CollectionRecord, Journal } from "./journal.ts"
import { KnownRecords } from "./known-records.ts"
import { exceeds, NamespaceUse } from "./namespace-use.ts"
import { CommitFailed } from "./publisher.ts"
import { QuietSnapshots } from "./quiet-snapshots.ts"
import { RefusedWrites } from "./refused-writes.ts"
import { graphOptions, type GraphOptions } from "./vector-graphs.ts"
import { warn } from "../warning.ts"
import {
  CLOSED,
  CollectionNotOpened,
  NOT_STORED,
  type WriterEvent,
  type WriterMemory,
  type WriterPort
} from "./writer-port.ts"

/** A collection that could not be opened is not retried for this long: an attempt reads everything stored for it. */
const DAMAGED_MS = 5_000
/**
 * Maximum failures of a collection's background work for reasons other than the disk. Each costs a rebuild; after one
 * more, the collection is not opened again.
 */
const DEFECTS_MAX = 3
export class Writer implements WriterPort {
  private readonly journal: Journal
  private readonly emit: (event: WriterEvent) => void
  private readonly allocate: Allocate
  private readonly allocateLinear: Allocate
  private readonly releaseRegion: (region: Region) => void
  private readonly records = new KnownRecords()
  /** Usage of each namespace: the caps of writes are checked against it. */ private readonly uses = new Map<
    Namespace,
    NamespaceUse
  >()
  private readonly open_ = new Map<number, CollectionWriter>()
  private readonly opening = new Map<number, Promise<CollectionWriter>>()
  private readonly closing = new Map<number, Promise<void>>()
  private readonly dictionaries = new Map<Namespace, Map<string, ReadonlyMap<string, string>>>()
  private readonly prepare: WriterMemory["prepare"]
  private readonly searches: WriterMemory["searches"]
  private readonly holding: <A>(work: () => Promise<A>) => Promise<A>
  private readonly altering = new Set<number>()
  private readonly snapshots: QuietSnapshots
  private readonly refused: RefusedWrites
  /** Collections that could not be opened; not retried until `until_ms`. */ private readonly damaged = new Map<
    number,
    { readonly message: string; readonly until_ms: number }
  >()
  private readonly defects = new Map<number, number>()
  private nextKey = 1
  private isStopped = false
  private isClosing = false
  private readonly graphs: GraphOptions
  constructor(journal: Journal, emit: (event: WriterEvent) => void, memory?: WriterMemory, approximateFrom?: number) {
    this.journal = journal
    this.emit = emit
    this.allocate = memory?.allocate ?? allocatePlain
    this.allocateLinear = memory?.allocateLinear ?? allocateLinear
    // By then, readers in this thread have applied the publication.
    this.releaseRegion =
      memory?.release ??
      (({ outside }) => {
        if (outside !== undefined) journal.vectorFiles?.drop(outside)
      })
    this.prepare = memory?.prepare
    this.searches = memory?.searches
    this.graphs = graphOptions(approximateFrom)
    this.holding = memory?.holding ?? ((work) => work())
    this.refused = new RefusedWrites(() => journal.probe())
    this.snapshots = new QuietSnapshots({
      writerOf: (key) => this.open_.get(key),
      isAltering: (key) => this.altering.has(key),
      snapshot: (writer) => this.snapshot(writer)
    })
  }
  /** Announces the collections of the journal without opening any. */
  start(): void {
    for (const record of this.journal.collections()) {
      this.records.set(record)
      this.nextKey = Math.max(this.nextKey, record.key + 1)
      this.useOf(record.namespace).add(this.journal.documentCount(record.key), this.journal.documentBytes(record.key))
      this.emit({ kind: "collection", record, documents: this.journal.documentCount(record.key) })
    }
    for (const record of this.journal.unreadable()) {
      this.nextKey = Math.max(this.nextKey, record.key + 1)
      this.emit({ kind: "unreadable", record })
    }
    this.snapshots.start()
  }
  private useOf(namespace: Namespace): NamespaceUse {
    let use = this.uses.get(namespace)
    if (use === undefined) this.uses.set(namespace, (use = new NamespaceUse()))
    return use
  }
  /**
   * Recounts what a failed commit left in doubt: what the journal stores, and what open writers are about to store.
   * O(collections).
   */
  private recount(namespace: Namespace): void {
    const use = this.useOf(namespace)
    use.reset()
    for (const key of this.records.keysOf(namespace)) {
      use.add(this.journal.documentCount(key), this.journal.documentBytes(key))
      const pending = this.open_.get(key)?.pendingUse
      if (pending !== undefined) use.add(pending.documents, pending.bytes)
    }
  }
  private writerOf(key: number): Promise<CollectionWriter> | CollectionWriter {
    const known = this.open_.get(key) ?? this.opening.get(key)
    if (known !== undefined) return known
    const record = this.records.get(key)
    if (record === undefined) throw new Error(`collection ${key} is not in the journal`)
    const damage = this.damaged.get(key)
    if (damage !== undefined && performance.now() < damage.until_ms)
      return Promise.reject(new CollectionNotOpened({ kind: "Damaged", message: damage.message }))
    const opening = (async () => {
      // A failure is reported to the caller of `release`; all documents are stored.
      await this.closing.get(key)?.catch(() => {})
      const writer = this.makeWriter(record)
      await writer.open().catch((error: unknown) => {
        throw this.cannotOpen(record, error)
      })
      this.damaged.delete(key)
      this.open_.set(key, writer)
      this.emit({ kind: "opened", key })
      return writer
    })().finally(() => {
      this.opening.delete(key)
    })
    this.opening.set(key, opening)
    return opening
  }
  /** No index can be built from the collection's stored data; other collections are not affected. */
  private cannotOpen({ key, schema }: CollectionRecord, error: unknown): CollectionNotOpened {
    // A write at that moment found the journal closed, which says nothing about its content.
    if (this.isClosing) return new CollectionNotOpened(CLOSED)
    warn(`collection ${key} cannot be opened`, error)
    const message = `The collection \`${schema.name}\` cannot be read from the disk.`
    this.damaged.set(key, { message, until_ms: performance.now() + DAMAGED_MS })
    // What was published to readers so far is not a complete index.
    this.emit({ kind: "closed", key })
    return new CollectionNotOpened({ kind: "Damaged", message })
  }
  private makeWriter(record: CollectionRecord): CollectionWriter {
    const { namespace } = record
    const { prepare, searches } = this
    const neighbours = {
      collection: (name: string): CollectionWriter | undefined => {
        const key = this.records.keyOf(namespace, name)
        return key === undefined ? undefined : this.open_.get(key)
      }
    }
    return new CollectionWriter(record, {
      journal: this.journal,
      use: this.useOf(namespace),
      neighbours,
      allocate: this.allocate,
      allocateLinear: this.allocateLinear,
      release: this.releaseRegion,
      dictionaries: this.dictionariesOf(namespace),
      graphs: this.graphs,
      broken: (error) => {
        this.recover(record.key, error)
      },
      defective: (error) => {
        this.recover(record.key, error, true)
      },
      prepare: prepare === undefined ? undefined : (...given) => prepare(record.key, ...given),
      searches: searches === undefined ? undefined : () => searches(record.key),
      publish: (publication) => {
        if (publication.schema !== undefined) this.records.set({ ...record, schema: publication.schema })
        // Derived sections justify a snapshot, because they took long to build.
        if ((publication.graphs ?? publication.sections) !== undefined && publication.added.length === 0)
          this.snapshots.noteWrites(record.key, 0)
        this.emit({ kind: "published", key: record.key, publication })
      }
    })
  }
  /** Like `writerOf`, but returns damage as a value. */
  private async opened(key: number): Promise<CollectionWriter | CollectionNotOpened> {
    try {
      return await this.writerOf(key)
    } catch (error) {
      if (error instanceof CollectionNotOpened) return error
      throw error
    }
  }
  private dictionariesOf(namespace: Namespace): Dictionaries {
    return (name) => this.dictionaries.get(namespace)?.get(name)
  }
  async setDictionary(
    namespace: Namespace,
    name: string,
    words: ReadonlyMap<string, string> | undefined
  ): Promise<void> {
    let own = this.dictionaries.get(namespace)
    if (own === undefined) this.dictionaries.set(namespace, (own = new Map()))
    if (words === undefined) own.delete(name)
    else own.set(name, words)
  }

  async create(
    namespace: Namespace,
    schema: CollectionSchema,
    createdAt_s: number,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>> {
    if (this.records.keyOf(namespace, schema.name) !== undefined)
      return fail(conflict(`A collection with name \`${schema.name}\` already exists.`))
    if (keeps !== undefined && exceeds(keeps.collections, this.records.keysOf(namespace).length + 1))
      return fail(capReached("collections", keeps))
    if (keeps !== undefined && exceeds(keeps.fields_per_collection, schema.fields.length))
      return fail(capReached("fields_per_collection", keeps))
    const record: CollectionRecord = { key: this.nextKey++, namespace, schema, createdAt_s }
    this.records.set(record)
    this.open_.set(record.key, this.makeWriter(record))
    try {
      await this.journal.saveCollection(record)
      await this.journal.flushed()
    } catch (error) {
      warn(`collection ${record.key} was not created`, error)
      this.open_.delete(record.key)
      this.records.delete(record)
      return fail({ kind: "Unavailable", message: "The collection could not be stored." })
    }
    this.emit({ kind: "collection", record, documents: 0 })
    this.emit({ kind: "opened", key: record.key })
    return ok({ schema, num_documents: 0, created_at: createdAt_s })
  }

  async alter(
    namespace: Namespace,
    name: string,
    change: SchemaChange,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>> {
    const key = this.records.keyOf(namespace, name)
    if (key === undefined) return fail(notFound("Collection not found"))
    const writer = await (this.open_.get(key) ?? this.opened(key))
    if (writer instanceof CollectionNotOpened) return fail(writer.failure)
    // No snapshot may run concurrently, because it would name segments that are about to be removed.
    this.altering.add(key)
    await this.snapshots.settled()
    if (this.open_.get(key) !== writer) {
      this.altering.delete(key)
      return this.alter(namespace, name, change, keeps)
    }
    const altered = await writer.alter(change, keeps).finally(() => {
      this.altering.delete(key)
    })
    this.snapshots.noteWrites(key, writer.documentCount)
    if (!altered.ok) return altered
    return ok({
      schema: altered.value.schema,
      num_documents: writer.documentCount,
      created_at: altered.value.createdAt_s
    })
  }

  async drop(namespace: Namespace, name: string): Promise<Result<CollectionInfo>> {
    const key = this.records.keyOf(namespace, name)
    const record = key === undefined ? undefined : this.records.get(key)
    if (key === undefined || record === undefined) return fail(notFound(`No collection with name \`${name}\` found.`))
    const writer = this.open_.get(key) ?? (await this.opening.get(key)?.catch(() => undefined))
    this.damaged.delete(key)
    this.defects.delete(key)
    const documents = writer?.documentCount ?? this.journal.documentCount(key)
    this.records.delete(record)
    this.open_.delete(key)
    this.emit({ kind: "dropped", key })
    await writer?.close()
    // None of the collection's snapshots may end after it is removed.
    await this.snapshots.settled()
    await this.closing.get(key)?.catch(() => {})
    this.useOf(namespace).add(-this.journal.documentCount(key), -this.journal.documentBytes(key))
    await this.journal.dropCollection(key)
    await this.journal.flushed()
    for (const { segment } of writer?.views ?? []) this.releaseSegment(segment)
    return ok({ schema: writer?.schema ?? record.schema, num_documents: documents, created_at: record.createdAt_s })
  }

  /** `more`: operations that are still arriving; `deletes`: whether any operation deletes. */
  async write(
    namespace: Namespace,
    name: string,
    operations: ReadonlyArray<WriteOperation>,
    returnDocuments: boolean,
    keeps?: KeepLimits,
    taken?: () => void,
    more?: MoreOperations,
    deletes = operations.some(({ kind }) => kind === "delete")
  ): Promise<Result<ReadonlyArray<WriteVerdict>>> {
    const key = this.records.keyOf(namespace, name)
    if (key === undefined) return fail(notFound("Collection not found"))
    if (this.refused.has(key) && !(await this.refused.areTaken(key))) return fail(NOT_STORED)
    const writer = await (this.open_.get(key) ?? this.opened(key))
    if (writer instanceof CollectionNotOpened) return fail(writer.failure)
    for (const field of writer.schema.fields) {
      const other =
        field.reference === "" || field.async_reference
          ? undefined
          : this.records.keyOf(namespace, field.reference.slice(0, field.reference.indexOf(".")))
      const related = other === undefined ? undefined : await (this.open_.get(other) ?? this.opened(other))
      if (related instanceof CollectionNotOpened) return fail(related.failure)
    }
    const cascades = deletes ? cascadesTo(this.records.of(namespace), name) : []
    this.snapshots.noteWrites(key, operations.length)
    const all = [...operations]
    const rest: MoreOperations | undefined =
      more === undefined
        ? undefined
        : async () => {
            const next = await more()
            if (next !== undefined) {
              this.snapshots.noteWrites(key, next.length)
              all.push(...next)
            }
            return next
          }
    let verdicts: ReadonlyArray<WriteVerdict> | undefined
    try {
      verdicts = await writer.write(operations, returnDocuments || cascades.length > 0, keeps, rest, taken)
    } catch (error) {
      if (!(error instanceof CommitFailed)) throw error
      // The write is answered only once its early documents are no longer searchable.
      await this.closing.get(key)
      return fail(NOT_STORED)
    }
    // The writer was closed in the meantime: retry on the one that is open now, unless the collection was dropped.
    if (verdicts === undefined && this.open_.get(key) === writer) return fail(CLOSED)
    if (verdicts === undefined)
      return this.write(namespace, name, operations, returnDocuments, keeps, taken, more, deletes)
    if (cascades.length === 0) return ok(verdicts)
    await this.cascade(
      namespace,
      writer,
      cascades,
      verdicts.flatMap(({ result }, i) =>
        all[i].kind === "delete" && result.ok && result.value.document !== undefined ? [result.value.document] : []
      )
    )
    return ok(
      returnDocuments
        ? verdicts
        : verdicts.map(({ id, result }) => ({
            id,
            result: result.ok ? ok({ id: result.value.id, changed: result.value.changed }) : result
          }))
    )
  }
  private async cascade(
    namespace: Namespace,
    target: CollectionWriter,
    references: ReadonlyArray<CascadingReference>,
    deleted: ReadonlyArray<Document>
  ): Promise<void> {
    for (const reference of references) {
      const writer = await this.opened(reference.key)
      // The documents of that collection stay; dangling references are reported when it can be read again.
      if (writer instanceof CollectionNotOpened) continue
      const ids = orphanedBy(reference, deleted, writer, target)
      const operations = ids.map((id) => ({ kind: "delete", id }) as const)
      if (ids.length > 0) await this.write(namespace, writer.schema.name, operations, false)
    }
  }

  // ---- a disk that refuses writes -----------------------------------------------------------------------------------

  /**
   * Releases a collection whose commit failed, without a snapshot: the next read or write opens what is on disk.
   * Documents that were searchable early but never acknowledged are lost.
   */
  private recover(key: number, error: Error, isDefect = false): void {
    const writer = this.open_.get(key)
    if (writer === undefined) return
    warn(`collection ${key} is opened again`, error)
    if (isDefect) {
      const defects = (this.defects.get(key) ?? 0) + 1
      this.defects.set(key, defects)
      if (defects > DEFECTS_MAX)
        this.damaged.set(key, {
          message: `The collection \`${writer.schema.name}\` failed ${defects} times.`,
          until_ms: Infinity
        })
    } else this.refused.note(key)
    this.snapshots.forget(key)
    this.open_.delete(key)
    const closing = (async () => {
      await writer.close()
      await this.snapshots.settled()
      // The failure came from the index, so the index is rebuilt from the documents.
      if (isDefect) await this.journal.dropIndex(key)
      this.journal.rollback(key)
      this.recount(this.records.get(key)?.namespace ?? writer.record.namespace)
      this.emit({ kind: "closed", key })
      // Memory does not change until readers have confirmed this publication.
      this.emit({
        kind: "published",
        key,
        publication: { added: [], removed: writer.held.map(({ segment }) => segment.id), deletions: [] }
      })
      for (const { segment } of writer.held) this.releaseSegment(segment)
    })().finally(() => {
      this.closing.delete(key)
    })
    this.closing.set(key, closing)
  }
  async open(key: number): Promise<void> {
    if (this.records.get(key) !== undefined) await this.writerOf(key)
  }
  async makeUnits(key: number, units: ReadonlyArray<RelevanceUnit>): Promise<void> {
    await this.open_.get(key)?.makeUnits(units)
  }
  private releaseSegment(segment: Segment): void {
    for (const region of regionsOf(segment)) this.releaseRegion(region)
  }
  async release(key: number): Promise<void> {
    const writer = this.open_.get(key)
    if (writer === undefined) return
    // Callers wait in the meantime, then open the collection from the snapshot that is being written.
    const closing = (async () => {
      this.open_.delete(key)
      await writer.close()
      await this.snapshots.settled()
      try {
        await this.snapshot(writer)
      } finally {
        this.emit({ kind: "closed", key })
        for (const { segment } of writer.views) this.releaseSegment(segment)
      }
    })().finally(() => {
      this.closing.delete(key)
    })
    this.closing.set(key, closing)
    await closing
  }
  private snapshot(writer: CollectionWriter): Promise<void> {
    const files = this.journal.vectorFiles
    const write = async (): Promise<void> => {
      const { position, ...index } = writer.segmentsNow()
      // A snapshot must not contain anything that is not on disk.
      if (!(await writer.committedSoFar())) return
      await this.journal.saveIndex(writer.key, index, position)
    }
    return this.holding(() => (files === undefined ? write() : files.holding(write)))
  }
  async stop(): Promise<void> {
    this.isStopped = true
    await Promise.allSettled([this.snapshots.stop(), ...this.opening.values(), ...this.closing.values()])
    for (const writer of this.open_.values()) await writer.close()
    await this.journal.flushed()
  }
  async close(): Promise<void> {
    this.isClosing = true
    await this.snapshots.stop()
    // After a stop, another writer may own the folder.
    if (!this.isStopped)
      for (const writer of this.open_.values()) {
        await writer.close()
        await this.snapshot(writer)
      }
    this.open_.clear()
    await this.journal.close()
  }
}
