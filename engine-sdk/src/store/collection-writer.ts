/**
 * The writing side of one collection: turns operations into documents of the journal and segments of the index, keeps
 * the number of segments small by merging, and publishes every step. It knows nothing of threads: whoever owns it
 * passes publications on.
 */
import type { Dictionaries } from "../analysis/analyzer.ts"
import { analyzerOf } from "../analysis/analyzer.ts"
import {
  documentPlanOf,
  flatten,
  isDynamic,
  isObject,
  parseBounded,
  parseJson,
  prepareWrite,
  revalidate,
  stringifyJson,
  type IndexValue,
  type Prepared
} from "../documents/mod.ts"
import type { SchemaChange, Written, WriteVerdict } from "../engine.ts"
import type { KeepLimits } from "../keep-limits.ts"
import { capReached, fail, invalid, notFound, ok, type EngineError, type Result } from "../errors.ts"
import { hasBit, bitsOf } from "../index/bits.ts"
import { SegmentBuilder } from "../index/builders.ts"
import { encodeUtf8, hashText } from "../index/bytes.ts"
import { GONE, mergeSegments } from "../index/merge.ts"
import {
  markDeleted,
  PREPARED_DOCS_MIN,
  type Publication,
  type PublishedSegment,
  type SegmentView
} from "../index/reader.ts"
import { Segment } from "../index/segment.ts"
import type { Allocate, Region, SegmentMeta } from "../index/sections.ts"
import { graphsOf } from "../index/vector-graph.ts"
import type { WriteOperation } from "../plan.ts"
import { hasPlace, intersectTerms } from "../index/places.ts"
import type { CollectionSchema, Document, Field } from "../schema.ts"
import { IdFilters } from "./id-filter.ts"
import type { CollectionRecord, Journal, StoredDocument, StoredSegment } from "./journal.ts"
import { exceeds, type NamespaceUse } from "./namespace-use.ts"
import { inSlices, nextTurn } from "../turns.ts"
import { VectorGraphs, type GraphOptions } from "./vector-graphs.ts"

/** Work between two turns of the event loop: what else waits (a single upsert, a search) waits for one slice. */
const SLICE_ms = 0.5
/** While an import runs: merging must keep up with it, and leave it most of the time. */
const MERGE_SLICE_ms = 0.25
/** Documents that become one segment and one batch of the journal. */
const CHUNK_DOCS = 1_024
const REBUILD_DOCS = 4_096
/** Segments of one size class that are merged into one of the next. */
const FAN_OUT = 8
/** Large segments are worth merging earlier: every search visits each of them. */
const LARGE_DOCS = 3_500
const LARGE_CLASS = 100
const FAN_OUT_LARGE = 3
/**
 * While an import runs, and until it has been quiet for long enough for everything to become one segment: each level
 * that its documents go through costs a third of what reading them does, and searches meanwhile visit some ten segments
 * more.
 */
const FAN_OUT_IMPORTING = 8
const IMPORTING_ms = 1_500
const SEGMENTS_MAX = 48
/**
 * A chunk of so many documents is found before the disk has it. Bounds what readers keep beside the disk: writes that
 * wait for their answer.
 */
const EARLY_DOCS = 64
const IDS_RENEWED_MIN = 65_536
const SEGMENT_DOCS_MAX = 1_000_000
const QUIET_ms = 1_000
const COMPACT_DOCS_MAX = 2_000_000

/** The next operations of a write that are on their way; undefined: there are no more. */
export type MoreOperations = () => Promise<ReadonlyArray<WriteOperation> | undefined>
/** Lets readers make a segment ready before it replaces others; resolves when they have, or will not search it. */
export type PrepareSegment = (segment: PublishedSegment, replaced: ReadonlyArray<number>) => Promise<void>
/** What a writer needs to see of others: references cross collections. */
export interface WriterNeighbours {
  collection(name: string): CollectionWriter | undefined
}
export class CollectionWriter {
  schema: CollectionSchema
  /** The journal and readers have it, or soon will: what is queued for them. */ private savedSchema: CollectionSchema
  readonly key: number
  readonly views: SegmentView[] = []
  private readonly namespace: string
  private readonly createdAt_s: number
  private readonly journal: Journal
  readonly use: NamespaceUse
  private readonly neighbours: WriterNeighbours
  private readonly allocate: Allocate
  private readonly release: (region: Region) => void
  private readonly publish: (publication: Publication) => void
  private readonly prepare: PrepareSegment | undefined
  private readonly dictionaries: Dictionaries | undefined
  private nextSeq: number
  private nextSegment = 1
  /** Never rejects: a commit that failed breaks the whole writer off. */ private published: Promise<void> =
    Promise.resolve()
  private readonly broken: (error: Error) => void
  private readonly defective: (error: Error) => void
  private failure: CommitFailed | undefined
  private pendingPublications = 0
  private earlyBatches = 0
  /**
   * Chunks that writes fill or that are being laid out: none of their documents is in `views` or in the journal yet.
   */
  private readonly openChunks = new Set<Chunk>()
  /** Merged segments that readers may still read. */ private readonly leaving = new Set<SegmentView>()
  /** Segments that readers have not heard of. */ private readonly unpublished = new Set<SegmentView>()
  private activeWrites = 0
  /** When a full chunk was written last. */ private importedAt = Number.NEGATIVE_INFINITY
  private gate: Promise<void> | undefined
  private waiters: Array<() => void> = []
  private merging: Promise<void> | undefined
  private quiet: ReturnType<typeof setTimeout> | undefined
  private isClosed = false
  private readonly graphs: VectorGraphs

  constructor(
    record: CollectionRecord,
    options: {
      readonly journal: Journal
      /** Of the namespace. */ readonly use: NamespaceUse
      readonly neighbours: WriterNeighbours
      readonly allocate: Allocate
      readonly release: (region: Region) => void
      readonly publish: (publication: Publication) => void
      /** A commit failed: this writer and its readers hold what the disk does not have. */ readonly broken: (
        error: Error
      ) => void
      /** Work behind the writes failed, for another reason than the disk. */ readonly defective: (error: Error) => void
      readonly prepare?: PrepareSegment | undefined
      readonly dictionaries?: Dictionaries
      readonly graphs: GraphOptions
    }
  ) {
    this.key = record.key
    this.schema = this.savedSchema = record.schema
    this.namespace = record.namespace
    this.createdAt_s = record.createdAt_s
    this.journal = options.journal
    this.use = options.use
    this.neighbours = options.neighbours
    this.allocate = options.allocate
    this.release = options.release
    this.publish = options.publish
    this.prepare = options.prepare
    this.broken = options.broken
    this.defective = options.defective
    this.dictionaries = options.dictionaries
    this.nextSeq = options.journal.nextSeq(record.key)
    this.graphs = new VectorGraphs(this.key, options.graphs, options.journal.graphFolder, {
      views: () => this.views,
      schema: () => this.schema,
      isMerging: () => this.merging !== undefined,
      isWriting: () => this.activeWrites > 0 || this.isWorthCompacting(),
      publish: (graph) => {
        this.enqueue(undefined, () => {
          this.publish({ added: [], removed: [], deletions: [], graphs: [graph] })
        })
      }
    })
  }
  get record(): CollectionRecord {
    return { key: this.key, namespace: this.namespace, schema: this.schema, createdAt_s: this.createdAt_s }
  }
  get documentCount(): number {
    let total = 0
    for (const view of this.views) total += view.segment.docs - view.deletedCount
    return total
  }

  // ---- opening
  // -------------------------------------------------------------------------------------------------------

  /** Loads the snapshot and replays what was written after it; without a snapshot everything is indexed anew. */
  async open(): Promise<void> {
    this.ids = undefined
    await this.load()
    this.learnIds()
  }
  private async load(): Promise<void> {
    const stored = await this.journal.loadIndex(this.key, this.allocate)
    if (stored === undefined) {
      await this.indexAll(this.journal.documents(this.key))
      return
    }
    const added: Array<Publication["added"][number]> = []
    for (const { id, meta, region, deleted } of stored.segments) {
      const view: SegmentView = { segment: new Segment(id, meta, region), deleted: undefined, deletedCount: 0 }
      markDeleted(view, deleted)
      this.views.push(view)
      this.nextSegment = Math.max(this.nextSegment, id + 1)
      added.push({ id, meta, region, deleted: docsOf(view) })
    }
    const graphs = this.graphs.adopt(stored.segments)
    this.publish({ added, removed: [], deletions: [], graphs })
    this.graphs.schedule()
    const changed = [...new Set(stored.changed)]
    if (changed.length === 0) return
    const deletions = this.deleteSeqs(changed)
    this.publish({ added: [], removed: [], deletions })
    const journal = this.journal,
      key = this.key
    await this.indexAll(
      (function* () {
        for (const seq of changed) {
          const document = journal.document(key, seq)
          if (document !== undefined) yield document
        }
      })()
    )
  }
  private async indexAll(documents: Iterable<StoredDocument>): Promise<void> {
    let builder = new SegmentBuilder(this.schema, this.dictionaries)
    let until = performance.now() + SLICE_ms
    for (const stored of documents) {
      const document = wholeDocument(stored)
      builder.add(stored.seq, String(document.id), flatten(this.schema, document))
      if (builder.docs >= REBUILD_DOCS) {
        await this.indexed(builder)
        builder = new SegmentBuilder(this.schema, this.dictionaries)
      }
      if (performance.now() > until) {
        await nextTurn()
        until = performance.now() + SLICE_ms
      }
    }
    if (builder.docs > 0) await this.indexed(builder)
    this.scheduleMerges()
  }
  private async indexed(builder: SegmentBuilder): Promise<void> {
    const { meta, region } = await inSlices(builder.finishing(this.allocate), SLICE_ms)
    this.publish({ added: [this.adoptRegion(meta, region)], removed: [], deletions: [] })
  }
  private adoptRegion(
    meta: SegmentMeta,
    region: Region,
    deleted?: ReadonlyArray<number>,
    id = this.nextSegment++
  ): PublishedSegment {
    const view: SegmentView = { segment: new Segment(id, meta, region), deleted: undefined, deletedCount: 0 }
    if (deleted !== undefined) markDeleted(view, deleted)
    this.views.push(view)
    return { id, meta, region, ...(deleted === undefined || deleted.length === 0 ? {} : { deleted }) }
  }
  private deleteSeqs(seqs: ReadonlyArray<number>): Publication["deletions"] {
    const deletions: Array<{ segment: number; docs: number[] }> = []
    for (const view of this.views) {
      const docs: number[] = []
      for (const seq of seqs)
        for (const doc of view.segment.docsOfSeq(seq))
          if (view.deleted === undefined || !hasBit(view.deleted, doc)) docs.push(doc)
      if (docs.length > 0) {
        markDeleted(view, docs)
        deletions.push({ segment: view.segment.id, docs })
      }
    }
    return deletions
  }

  // ---- writing
  // -------------------------------------------------------------------------------------------------------

  /**
   * One verdict per operation, in order. Resolves when everything is durable and published; undefined: closed
   * meanwhile, nothing was written.
   */
  async write(
    operations: ReadonlyArray<WriteOperation>,
    returnDocuments: boolean,
    keeps: KeepLimits | undefined,
    more?: MoreOperations
  ): Promise<ReadonlyArray<WriteVerdict> | undefined> {
    while (this.gate !== undefined) await this.gate
    if (this.isClosed) return undefined
    this.activeWrites++
    const verdicts: WriteVerdict[] = []
    let chunk = this.openChunk()
    try {
      for (let list: ReadonlyArray<WriteOperation> | undefined = operations; list !== undefined; list = await more?.())
        for (let at = 0; at < list.length && this.failure === undefined;) {
          const until = performance.now() + SLICE_ms
          // Another write that named an id of this chunk has had it committed: what follows goes into the next one.
          do {
            if (chunk.isClosed) chunk = this.openChunk()
            verdicts.push(chunk.apply(list[at++], returnDocuments, keeps))
          } while (at < list.length && performance.now() < until && chunk.builder.docs < CHUNK_DOCS)
          if (chunk.builder.docs >= CHUNK_DOCS) {
            this.importedAt = performance.now()
            await this.committed(chunk)
          }
          if (at < list.length) await nextTurn()
          while (this.views.length > SEGMENTS_MAX && this.merging !== undefined) await this.merging
        }
      await this.committed(chunk)
      const done = this.published
      if (this.pendingPublications > 0) await done
      if (this.failure === undefined)
        await this.journal.flushed().catch((error: unknown) => {
          this.breakOff(error)
        })
      if (this.failure !== undefined) throw this.failure
      return verdicts
    } finally {
      // Left open only by a defect: what it holds was promised to nobody.
      if (this.openChunks.delete(chunk)) this.use.add(-chunk.addedDocuments, -chunk.addedBytes)
      this.activeWrites--
      if (this.activeWrites === 0) for (const wake of this.waiters.splice(0)) wake()
    }
  }

  /** Of chunks that are counted as used and not in the journal. */
  get pendingUse(): { readonly documents: number; readonly bytes: number } {
    let documents = 0,
      bytes = 0
    for (const chunk of this.openChunks) {
      documents += chunk.addedDocuments
      bytes += chunk.addedBytes
    }
    return { documents, bytes }
  }
  private openChunk(): Chunk {
    const chunk = new Chunk(this)
    this.openChunks.add(chunk)
    return chunk
  }
  /** Lays a chunk out, large ones in slices, and commits it. */
  private async committed(chunk: Chunk): Promise<void> {
    for (let until = performance.now() + SLICE_ms; !chunk.isClosed;) {
      if (chunk.layOut(this.allocate)) {
        this.commit(chunk)
        return
      }
      if (performance.now() > until) {
        await nextTurn()
        until = performance.now() + SLICE_ms
      }
    }
  }
  /**
   * An operation names this id: whatever another open chunk did to it comes first. Rare, so that chunk is laid out here
   * and now.
   */
  settleOthers(own: Chunk, id: string): void {
    if (this.openChunks.size < 2) return
    for (const chunk of this.openChunks) {
      if (chunk === own || !chunk.holds(id)) continue
      while (!chunk.layOut(this.allocate)) {
        /* next column */
      }
      this.commit(chunk)
    }
  }
  isOpenElsewhere(own: Chunk, id: string): boolean {
    for (const chunk of this.openChunks) if (chunk !== own && chunk.holds(id)) return true
    return false
  }
  /**
   * Adopts what a chunk made: new segment, deletions, journal batch. A small one is published at once, so that it is
   * found before the disk has it; others when the batch is readable, in the order of their commits.
   */
  private commit(chunk: Chunk): void {
    this.openChunks.delete(chunk)
    const { builder, laidOut, puts, removes } = chunk
    chunk.isClosed = true
    // Fields that any open chunk detected may be in this one's documents.
    const isDetected = this.schema !== this.savedSchema
    // Whoever wrote it hears of the failure.
    if (this.failure !== undefined) {
      this.use.add(-chunk.addedDocuments, -chunk.addedBytes)
      return
    }
    if (puts.size === 0 && removes.size === 0 && !isDetected) return
    this.savedSchema = this.schema
    const deletions = this.markReplaced(chunk)
    const added: Array<Publication["added"][number]> = []
    if (builder.docs > 0 && laidOut !== undefined) {
      added.push(this.adoptRegion(laidOut.meta, laidOut.region, chunk.replaced))
      const { segment } = this.views[this.views.length - 1]
      for (let doc = 0; doc < segment.docs; doc++) {
        const hash = segment.idHash(doc)
        this.ids?.add(hash)
        this.nextIds?.add(hash)
      }
    }
    const list = [...puts].map(([seq, text]): StoredDocument => {
      const unstored = chunk.unstored.get(seq)
      return { seq, text, ...(unstored === undefined ? {} : { unstored }) }
    })
    const { journal, key } = this,
      documentsBefore = journal.documentCount(key),
      bytesBefore = journal.documentBytes(key)
    const committed = journal.commit(key, {
      puts: list,
      removes: [...removes],
      nextSeq: this.nextSeq,
      ...(isDetected ? { record: this.record } : {})
    })
    // A chunk counts characters; the journal knows the bytes.
    this.use.add(
      journal.documentCount(key) - documentsBefore - chunk.addedDocuments,
      journal.documentBytes(key) - bytesBefore - chunk.addedBytes
    )
    const publication: Publication = {
      ...(isDetected ? { schema: this.schema } : {}),
      added,
      removed: [],
      deletions: deletions.map(([view, docs]) => ({ segment: view.segment.id, docs }))
    }
    const view = added.length === 0 ? undefined : this.views[this.views.length - 1]
    // What readers have not heard of cannot lose a document before them, and a schema must not come before one that it
    // follows.
    const isEarly =
      committed !== undefined &&
      list.length + removes.size <= EARLY_DOCS &&
      !isDetected &&
      !deletions.some(([replaced]) => this.unpublished.has(replaced))
    if (isEarly) {
      const early = ++this.earlyBatches
      this.publish({ ...publication, early: { batch: early, texts: list.map(({ seq, text }) => [seq, text]) } })
      this.enqueue(committed, () => {
        this.publish({ added: [], removed: [], deletions: [], readable: early })
      })
    } else {
      if (view !== undefined) this.unpublished.add(view)
      this.enqueue(committed, () => {
        if (view !== undefined) this.unpublished.delete(view)
        this.publish(publication)
      })
    }
    this.scheduleMerges()
    this.renewIds()
  }
  /**
   * Marks what a chunk replaced or removed in segments of before: only now, so that no reader misses a document
   * meanwhile.
   */
  private markReplaced(chunk: Chunk): Array<readonly [SegmentView, number[]]> {
    const deletions = new Map<SegmentView, number[]>()
    for (const id of chunk.superseded) {
      const place = this.locate(id)
      if (place === undefined) continue
      markDeleted(place.view, [place.doc])
      const list = deletions.get(place.view)
      if (list === undefined) deletions.set(place.view, [place.doc])
      else list.push(place.doc)
    }
    return [...deletions]
  }
  /** Publications leave in the order of their commits; none leaves behind a commit that failed. */
  private enqueue(committed: Promise<void> | undefined, send: () => void): void {
    if (committed === undefined && this.pendingPublications === 0) {
      if (this.failure === undefined) send()
      return
    }
    // It may fail before its turn comes to be looked at.
    committed?.catch(() => {})
    this.pendingPublications++
    this.published = this.published.then(async () => {
      try {
        await committed
      } catch (error) {
        this.breakOff(error)
      }
      this.pendingPublications--
      if (this.failure === undefined) send()
    })
  }
  private breakOff(error: unknown): void {
    if (this.failure !== undefined) return
    this.failure = new CommitFailed(error)
    this.broken(this.failure)
  }

  /** Every change of the past is published and on disk, and no other write runs while `work` does. */
  private async exclusively<A>(work: () => Promise<A>): Promise<A> {
    while (this.gate !== undefined) await this.gate
    let open: () => void = () => {}
    this.gate = new Promise((resolve) => {
      open = resolve
    })
    try {
      while (this.activeWrites > 0)
        await new Promise<void>((resolve) => {
          this.waiters.push(resolve)
        })
      await this.published
      await this.merging
      return await work()
    } finally {
      this.gate = undefined
      open()
    }
  }

  textOf(seq: number): string | undefined {
    return this.journal.get(this.key, seq)
  }
  /** A live document with what is kept beside it, also where its commit is not readable yet. */
  storedOf(seq: number): StoredDocument | undefined {
    return this.journal.document(this.key, seq)
  }
  /** Ids of all segments; undefined until they have been read. */
  private ids: IdFilters | undefined = new IdFilters(0)
  /** The one that is being made of what is there; takes in what comes meanwhile. */ private nextIds:
    | IdFilters
    | undefined
  private learning: Promise<void> | undefined
  private learnIds(): void {
    const next = (this.nextIds = new IdFilters(this.documentCount))
    this.learning = this.behind(
      inSlices(this.addIds(next), MERGE_SLICE_ms).then(() => {
        this.ids = next
        this.nextIds = undefined
        this.learning = undefined
      })
    )
  }
  /** Segments that a merge takes away are left: their documents are in another one, which has its turn. */
  private *addIds(filter: IdFilters): Generator<void, void> {
    const read = new Set<SegmentView>()
    for (;;) {
      const view = this.isClosed ? undefined : this.views.find((candidate) => !read.has(candidate))
      if (view === undefined) return
      read.add(view)
      for (let doc = 0; doc < view.segment.docs; doc++) {
        filter.add(view.segment.idHash(doc))
        if ((doc & 4_095) !== 4_095) continue
        yield
        if (!this.views.includes(view)) break
      }
    }
  }
  /** When half of the ids are of documents that are gone. */
  private renewIds(): void {
    if (
      this.learning === undefined &&
      this.ids !== undefined &&
      this.ids.ids > IDS_RENEWED_MIN &&
      this.ids.ids > this.documentCount * 2
    )
      this.learnIds()
  }
  locate(id: string): Place | undefined {
    const hash = hashText(id)
    if (this.ids !== undefined && !this.ids.mayHold(hash)) return undefined
    const key = encodeUtf8(id)
    for (let at = this.views.length - 1; at >= 0; at--) {
      const view = this.views[at]
      for (const doc of view.segment.docsOfKey(key, hash))
        if (view.deleted === undefined || !hasBit(view.deleted, doc)) return { view, doc }
    }
    return undefined
  }
  takeSeq(): number {
    return this.nextSeq++
  }
  get upcomingSeq(): number {
    return this.nextSeq
  }
  get dictionaryLookup(): Dictionaries | undefined {
    return this.dictionaries
  }
  get neighbourhood(): WriterNeighbours {
    return this.neighbours
  }
  /** Detected fields become part of the schema; what was indexed before keeps its columns. */
  appendFields(detected: ReadonlyArray<Field>): void {
    const known = new Set(this.schema.fields.map(({ name, detected: found }) => `${name}|${found === true}`))
    const fresh = detected.filter(({ name }) => !known.has(`${name}|true`))
    this.schema = { ...this.schema, fields: [...this.schema.fields, ...fresh] }
  }

  // ---- alter
  // ---------------------------------------------------------------------------------------------------------

  /** Validates every stored document against the new schema, then replaces the index in one publication (2.6). */
  alter(change: SchemaChange, keeps?: KeepLimits): Promise<Result<CollectionRecord>> {
    return this.exclusively(async () => {
      const dropped = new Set(change.drop)
      const kept = this.schema.fields.filter(({ name }) => !dropped.has(name))
      const schema: CollectionSchema = {
        ...this.schema,
        fields: [...kept, ...change.add],
        ...(change.metadata === undefined ? {} : { metadata: change.metadata }),
        ...(change.synonym_sets === undefined ? {} : { synonym_sets: change.synonym_sets }),
        ...(change.curation_sets === undefined ? {} : { curation_sets: change.curation_sets })
      }
      const isTooWide = ({ fields }: CollectionSchema): boolean =>
        fields.length > this.schema.fields.length && exceeds(keeps?.fields_per_collection, fields.length)
      if (keeps !== undefined && isTooWide(schema)) return fail(capReached("fields_per_collection", keeps))
      if (change.drop.length === 0 && change.add.length === 0) {
        this.schema = this.savedSchema = schema
        await this.journal.saveCollection(this.record)
        this.publish({ schema, added: [], removed: [], deletions: [] })
        return ok(this.record)
      }
      let target = schema
      let until = performance.now() + SLICE_ms
      const pause = async (): Promise<void> => {
        if (performance.now() > until) {
          await nextTurn()
          until = performance.now() + SLICE_ms
        }
      }
      for (const stored of this.journal.documents(this.key)) {
        const prepared = revalidate(target, wholeDocument(stored))
        if (!prepared.ok) return prepared
        if (prepared.value.detected.length > 0) target = withFields(target, prepared.value.detected)
        if (keeps !== undefined && isTooWide(target)) return fail(capReached("fields_per_collection", keeps))
        await pause()
      }
      // A snapshot of the old index must not meet the new schema after a crash.
      await this.journal.dropIndex(this.key)
      await this.journal.commit(this.key, {
        puts: [],
        removes: [],
        nextSeq: this.nextSeq,
        record: { ...this.record, schema: target }
      })
      const built: Array<{ meta: SegmentMeta; region: Region }> = []
      let builder = new SegmentBuilder(target, this.dictionaries)
      for (const stored of this.journal.documents(this.key)) {
        const document = wholeDocument(stored)
        builder.add(stored.seq, String(document.id), flatten(target, document))
        if (builder.docs >= REBUILD_DOCS) {
          built.push(await inSlices(builder.finishing(this.allocate), SLICE_ms))
          builder = new SegmentBuilder(target, this.dictionaries)
        }
        await pause()
      }
      if (builder.docs > 0) built.push(builder.finish(this.allocate))
      // Until here everything looked at the old index; now it changes as a whole.
      const old = this.views.splice(0)
      this.schema = this.savedSchema = target
      const added = built.map(({ meta, region }) => this.adoptRegion(meta, region))
      this.publish({ schema: target, added, removed: old.map(({ segment }) => segment.id), deletions: [] })
      for (const { segment } of old) this.release(segment.region)
      await this.journal.flushed()
      this.scheduleMerges()
      return ok(this.record)
    })
  }

  // ---- merging
  // -------------------------------------------------------------------------------------------------------

  /** Nobody waits for it: what fails ends this collection's writer, not the thread that writes for all. */
  private behind(work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => {
      this.failure ??= new CommitFailed(error)
      this.defective(error instanceof Error ? error : new Error(String(error)))
    })
  }
  private scheduleMerges(): void {
    if (this.merging !== undefined || this.isClosed || this.failure !== undefined) return
    const chosen = this.mergeable()
    if (chosen === undefined) {
      this.compactWhenQuiet()
      this.graphs.schedule()
      return
    }
    this.merging = this.behind(this.merge(chosen, this.isImporting)).finally(() => {
      this.merging = undefined
      this.scheduleMerges()
    })
  }
  /** After a while without writes everything becomes one segment, provided that enough is new to be worth it. */
  private compactWhenQuiet(): void {
    clearTimeout(this.quiet)
    if (!this.isWorthCompacting() && !this.isImporting) return
    this.quiet = setTimeout(() => {
      if (this.isClosed || this.merging !== undefined || this.activeWrites > 0) return
      // Too little is new for one segment of everything: the import is over, and its segments merge by the narrower
      // levels of single writes.
      if (!this.isWorthCompacting()) {
        this.importedAt = Number.NEGATIVE_INFINITY
        this.scheduleMerges()
        return
      }
      this.merging = this.behind(this.merge([...this.views])).finally(() => {
        this.merging = undefined
        this.scheduleMerges()
      })
    }, QUIET_ms)
    // A pending compaction must not keep the process alive.
    ;(this.quiet as { unref?: () => void }).unref?.()
  }
  private get isImporting(): boolean {
    return performance.now() - this.importedAt < IMPORTING_ms
  }
  private isWorthCompacting(): boolean {
    let total = 0,
      largest = 0
    for (const { segment } of this.views) {
      total += segment.docs
      largest = Math.max(largest, segment.docs)
    }
    return this.views.length > 1 && total <= COMPACT_DOCS_MAX && (total - largest) * 10 >= largest
  }
  /** Segments of the smallest size class that has enough of them. */
  private mergeable(): SegmentView[] | undefined {
    const fanOutLarge = this.isImporting ? FAN_OUT_IMPORTING : FAN_OUT_LARGE
    const classes = new Map<number, SegmentView[]>()
    for (const view of this.views) {
      const live = view.segment.docs - view.deletedCount
      if (live >= SEGMENT_DOCS_MAX) continue
      const size =
        live < LARGE_DOCS
          ? Math.floor(Math.log(Math.max(1, live)) / Math.log(FAN_OUT))
          : LARGE_CLASS + Math.floor(Math.log(live / LARGE_DOCS) / Math.log(fanOutLarge))
      const list = classes.get(size)
      if (list === undefined) classes.set(size, [view])
      else list.push(view)
    }
    for (const size of [...classes.keys()].sort((a, b) => a - b))
      if (classes.get(size)!.length >= (size < LARGE_CLASS ? FAN_OUT : fanOutLarge))
        return classes.get(size)!.slice(0, FAN_OUT * 2)
    return this.views.find((view) => view.deletedCount * 2 > view.segment.docs) === undefined
      ? undefined
      : this.views.filter((view) => view.deletedCount * 2 > view.segment.docs).slice(0, FAN_OUT)
  }
  private async merge(views: ReadonlyArray<SegmentView>, isPassing = false): Promise<void> {
    const sources = views.map(({ segment, deleted }) => ({ segment, deleted: deleted?.slice() }))
    const live = views.reduce((n, { segment, deletedCount }) => n + segment.docs - deletedCount, 0)
    if (live > 256) await nextTurn()
    const work = mergeSegments(this.schema, sources, this.allocate, isPassing)
    const merged = await inSlices(work, () => (this.activeWrites > 0 ? MERGE_SLICE_ms : SLICE_ms))
    const id = this.nextSegment++,
      removed = views.map(({ segment }) => segment.id)
    if (merged.meta.docs >= PREPARED_DOCS_MIN && !this.isClosed)
      await this.prepare?.({ id, meta: merged.meta, region: merged.region }, removed)
    if (this.isClosed || !views.every((view) => this.views.includes(view))) {
      this.release(merged.region)
      return
    }
    // Documents deleted while the merge ran are deleted in its result.
    const lost: number[] = []
    views.forEach((view, s) => {
      if (view.deleted === undefined) return
      for (let doc = 0; doc < view.segment.docs; doc++) {
        if (hasBit(view.deleted, doc) && merged.moved[s][doc] !== GONE) lost.push(merged.moved[s][doc])
      }
    })
    for (const view of views) this.views.splice(this.views.indexOf(view), 1)
    // Of one document that is written again and again all but the newest segment are empty.
    const added = merged.meta.docs === 0 ? [] : [this.adoptRegion(merged.meta, merged.region, lost, id)]
    if (added.length === 0) this.release(merged.region)
    const view = added.length === 0 ? undefined : this.views[this.views.length - 1]
    if (view !== undefined) this.unpublished.add(view)
    for (const old of views) this.leaving.add(old)
    this.enqueue(undefined, () => {
      if (view !== undefined) this.unpublished.delete(view)
      this.publish({ added, removed, deletions: [] })
      for (const old of views) {
        this.leaving.delete(old)
        this.release(old.segment.region)
      }
    })
  }

  /** Resolves when nothing is waiting: no merge, no publication. */
  async settled(): Promise<void> {
    while (this.merging !== undefined || this.pendingPublications > 0) {
      await this.merging
      await this.published
    }
  }
  /** Everything whose memory is not given back yet. */
  get held(): ReadonlyArray<SegmentView> {
    return [...this.views, ...this.leaving]
  }
  /** Resolves when everything committed until now is readable; false when a commit failed. */
  async committedSoFar(): Promise<boolean> {
    await this.published
    return this.failure === undefined
  }
  /** A consistent picture of the index for a snapshot. */
  segmentsNow(): { segments: StoredSegment[]; position: number } {
    return {
      segments: this.views.map((view) => ({
        id: view.segment.id,
        meta: view.segment.meta,
        region: view.segment.region,
        deleted: Uint32Array.from(docsOf(view)),
        graphs: graphsOf(view.segment).flatMap(({ record, failure }) => (failure === undefined ? [record] : []))
      })),
      position: this.journal.position(this.key)
    }
  }
  async close(): Promise<void> {
    while (this.gate !== undefined) await this.gate
    while (this.activeWrites > 0)
      await new Promise<void>((resolve) => {
        this.waiters.push(resolve)
      })
    this.isClosed = true
    clearTimeout(this.quiet)
    await this.graphs.close()
    await this.merging
    await this.learning
    await this.published
  }
}

/** What was written is not stored, or nobody knows whether it is. */
export class CommitFailed extends Error {
  constructor(cause: unknown) {
    super(`The disk did not take a write: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
/** A stored document with the values of its `store: false` fields. */
const wholeDocument = ({ text, unstored }: StoredDocument): Document => {
  const document = parseJson(text) as Document
  return unstored === undefined ? document : { ...document, ...(parseJson(unstored) as Document) }
}
const docsOf = (view: SegmentView): number[] => {
  const docs: number[] = []
  if (view.deleted !== undefined)
    for (let doc = 0; doc < view.segment.docs; doc++) if (hasBit(view.deleted, doc)) docs.push(doc)
  return docs
}
const withFields = (schema: CollectionSchema, detected: ReadonlyArray<Field>): CollectionSchema => {
  const known = new Set(schema.fields.filter((field) => !isDynamic(field)).map(({ name }) => name))
  return { ...schema, fields: [...schema.fields, ...detected.filter(({ name }) => !known.has(name))] }
}
/** Where a live document is indexed. */
interface Place {
  readonly view: SegmentView
  readonly doc: number
}
interface Pending {
  readonly seq: number
  readonly text: string | undefined
  /** Its number in the segment, -1 where it was removed. */ readonly doc: number
}
/**
 * Operations of one write that become one segment and one journal batch.
 *
 * filling (`apply`) -> laying out (`layOut`, column by column) -> closed (committed by the writer). Nobody sees its
 * documents before that, and an id is in at most one open chunk: an operation of another write that names it has this
 * one committed first.
 */
class Chunk {
  readonly builder: SegmentBuilder
  readonly puts = new Map<number, string>()
  readonly removes = new Set<number>()
  readonly unstored = new Map<number, string>()
  /** Ids whose documents of older segments this chunk replaces or removes. */ readonly superseded = new Set<string>()
  /** Numbers in the new segment that a later operation of the same chunk replaced. */ readonly replaced: number[] = []
  isClosed = false
  /** What its documents are more than those they replace, in characters. */ addedDocuments = 0
  addedBytes = 0
  laidOut: { readonly meta: SegmentMeta; readonly region: Region } | undefined
  private work: Generator<void, { meta: SegmentMeta; region: Region }> | undefined
  private readonly writer: CollectionWriter
  /** What this chunk did to an id so far. */ private readonly ids = new Map<string, Pending>()
  constructor(writer: CollectionWriter) {
    this.writer = writer
    this.builder = new SegmentBuilder(writer.schema, writer.dictionaryLookup)
  }

  holds(id: string): boolean {
    return this.ids.has(id)
  }
  /** One step of the segment; true when there is nothing left to do. */
  layOut(allocate: Allocate): boolean {
    if (this.builder.docs === 0 || this.laidOut !== undefined) return true
    const step = (this.work ??= this.builder.finishing(allocate)).next()
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
      // Gone since the caller read it: there is nothing to index again, and it must not come back.
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
    if (!prepared.ok) return { ...idOf(operation), result: prepared }
    const { value } = prepared
    const refused = missingReference(writer, value)
    if (refused !== undefined) return { id: value.id, result: fail(refused) }
    if (!value.changed && operation.action !== "create" && operation.rewrite !== true)
      return { id: value.id, result: ok(written(value.id, returnDocuments ? value.stored : undefined, false)) }
    const draft = this.draftOf(value)
    const cap = keeps === undefined || operation.rewrite === true ? undefined : this.capOver(value, draft, keeps)
    if (cap !== undefined) return { id: value.id, result: fail(cap) }
    this.put(value, draft)
    return { id: value.id, result: ok(written(value.id, returnDocuments ? value.stored : undefined, true)) }
  }
  /** The decimal text of the next insertion number; numbers that a caller used as an id are passed over. */
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
  /** Of the document that was looked up last, which the next put replaces; 0 where there is none. */
  private existingSize = 0
  /** Texts of a document, and how much more it is than what it replaces. */
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
  /** Checking and putting a document ask for the same id one after the other, with nothing in between. */
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
      this.builder.extend(writer.schema, writer.dictionaryLookup)
    }
    const doc = this.builder.add(seq, id, prepared.values as ReadonlyMap<string, IndexValue>)
    this.count(isNew ? 1 : 0, grows)
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
    // What is kept beside it is told by the commit.
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
/** A put as it will be stored. */
interface Draft {
  readonly text: string
  readonly hidden: string | undefined
  readonly isNew: boolean
  /** Characters. */ readonly grows: number
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
  // A line that is no JSON has no id; the verdict itself says what is wrong with it.
  const parsed = parseBounded(text)
  return typeof parsed === "object" && isObject(parsed.value) && typeof parsed.value.id === "string"
    ? { id: parsed.value.id }
    : {}
}

// ---- references (3.7)
// ------------------------------------------------------------------------------------------------

/** Live documents whose field equals a value, counted up to two. */
export const countEqual = (writer: CollectionWriter, name: string, value: unknown): number => {
  if (name === "id") return writer.locate(String(value)) === undefined ? 0 : 1
  const field = writer.schema.fields.find((candidate) => candidate.name === name)
  if (field === undefined) return 0
  let found = 0
  for (const view of writer.views) {
    for (const doc of equalDocs(writer.schema, view, field, value)) {
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
const missingReference = (writer: CollectionWriter, prepared: Prepared): EngineError | undefined => {
  for (const field of documentPlanOf(writer.schema).references) {
    const value = prepared.values.get(field.name)
    if (value === undefined) continue
    const dot = field.reference.indexOf(".")
    const collection = field.reference.slice(0, dot),
      target = field.reference.slice(dot + 1)
    const other = writer.neighbourhood.collection(collection)
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
