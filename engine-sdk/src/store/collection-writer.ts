/**
 * The writing side of one collection: turns operations into documents of the journal and segments of the index, keeps
 * the number of segments small by merging, and publishes every step. It does not depend on threads: its owner passes
 * publications on. Chunks are filled in `chunk.ts`, segments are merged in `segment-merger.ts`, and `publisher.ts`
 * orders the publications.
 */
import { withChange } from "../documents/mod.ts"
import type { Dictionaries } from "../analysis/tokens.ts"
import type { SchemaChange, WriteVerdict } from "../engine.ts"
import type { KeepLimits } from "../keep-limits.ts"
import { capReached, fail, ok, type Result } from "../errors.ts"
import type { Publication, SegmentView } from "../index/reader.ts"
import type { Allocate, Outside, Region } from "../index/sections.ts"
import { regionsOf, sectionsOf } from "../index/derived-sections.ts"
import { graphsOf } from "../index/vector-graph.ts"
import type { RelevanceUnit, WriteOperation } from "../plan.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import { Chunk, type ChunkOwner } from "./chunk.ts"
import type { CollectionRecord, Journal, SavedIndex, StoredDocument, StoredIndex } from "./journal.ts"
import { deletedDocs, LiveSegments, type Place } from "./live-segments.ts"
import { isWorthCompacting } from "./merge-policy.ts"
import { exceeds, type NamespaceUse } from "./namespace-use.ts"
import { Publisher } from "./publisher.ts"
import type { WriterNeighbours } from "./references.ts"
import { buildSegments, revalidateAll, type BuiltSegment } from "./segment-building.ts"
import { SegmentMerger } from "./segment-merger.ts"
import { SegmentSections } from "./segment-sections.ts"
import { nextTurn } from "../turns.ts"
import { VectorGraphs } from "./vector-graphs.ts"
import { WriteGate } from "./write-gate.ts"
import { type CollectionWriterOptions, type MoreOperations, storedDocuments } from "./collection-writer-options.ts"

/** Work between two turns of the event loop. Other work (a single upsert, a search) waits for at most one slice. */
const SLICE_MS = 0.5
/** With more segments than this, a write waits for merges. */
const SEGMENTS_MAX = 48
/**
 * A chunk of up to this many documents is searchable before it is on disk. Readers therefore hold at most the unstored
 * documents of writes that are still waiting for their verdicts.
 */
const EARLY_DOCS = 64

export class CollectionWriter implements ChunkOwner {
  schema: CollectionSchema
  /** The schema in the journal and with readers, or queued for both. */ private savedSchema: CollectionSchema
  readonly key: number
  readonly use: NamespaceUse
  readonly neighbours: WriterNeighbours
  readonly dictionaries: Dictionaries | undefined
  private readonly namespace: string
  private readonly createdAt_s: number
  private readonly journal: Journal
  private readonly allocate: Allocate
  private readonly outside: Outside | undefined
  private readonly release: (region: Region) => void
  private readonly publisher: Publisher
  private readonly segments: LiveSegments
  private readonly merger: SegmentMerger
  private readonly graphs: VectorGraphs
  private readonly sections: SegmentSections
  private readonly gate = new WriteGate()
  /**
   * Chunks that writes are filling or that are being laid out; none of their documents is in `views` or the journal
   * yet.
   */
  private readonly openChunks = new Set<Chunk>()
  private nextSeq: number
  private isClosed = false

  constructor(record: CollectionRecord, options: CollectionWriterOptions) {
    this.key = record.key
    this.schema = this.savedSchema = record.schema
    this.namespace = record.namespace
    this.createdAt_s = record.createdAt_s
    this.journal = options.journal
    this.use = options.use
    this.neighbours = options.neighbours
    this.allocate = options.allocate
    this.outside = options.journal.vectorFiles?.of(record.key)
    this.release = options.release
    this.dictionaries = options.dictionaries
    this.nextSeq = options.journal.nextSeq(record.key)
    this.publisher = new Publisher(options)
    this.segments = new LiveSegments((work) => this.publisher.behind(work))
    this.graphs = new VectorGraphs(this.key, options.graphs, {
      journal: options.journal,
      allocate: options.allocateLinear,
      release: options.release,
      views: () => this.views,
      schema: () => this.schema,
      isMerging: () => this.merger.running !== undefined,
      isWriting: () => this.gate.hasWrites || isWorthCompacting(this.views),
      publish: (graph) => {
        this.publisher.enqueue(undefined, () => {
          this.publisher.send({ added: [], removed: [], deletions: [], graphs: [graph] })
        })
      }
    })
    this.sections = this.sectionsFor()
    this.merger = new SegmentMerger({
      segments: this.segments,
      sections: this.sections,
      publisher: this.publisher,
      schema: () => this.schema,
      isWriting: () => this.gate.hasWrites,
      rested: () => {
        this.graphs.schedule()
        this.sections.schedule()
      },
      prepare: options.prepare,
      searches: options.searches,
      allocate: options.allocate,
      outside: this.outside,
      release: options.release
    })
  }
  private sectionsFor(): SegmentSections {
    const { allocate, publisher, release } = this
    return new SegmentSections({
      views: () => this.views,
      schema: () => this.schema,
      text: (seq) => this.textOf(seq),
      isWriting: () => this.gate.hasWrites,
      takeNumber: () => this.segments.takeNumber(),
      allocate,
      release,
      publish: (sections, dropped) => {
        publisher.enqueue(undefined, () => {
          publisher.send({ added: [], removed: [], deletions: [], sections: [sections] })
          for (const region of dropped) release(region)
        })
      },
      sent: () => publisher.done,
      behind: (work) => publisher.behind(work)
    })
  }
  get record(): CollectionRecord {
    return { key: this.key, namespace: this.namespace, schema: this.schema, createdAt_s: this.createdAt_s }
  }
  get views(): ReadonlyArray<SegmentView> {
    return this.segments.views
  }
  get documentCount(): number {
    return this.segments.documentCount
  }

  // ---- opening ------------------------------------------------------------------------------------------------------

  /** Loads the snapshot and replays later changes; without a snapshot all documents are indexed again. */
  async open(): Promise<void> {
    this.segments.ids.forget()
    const stored = await this.journal.loadIndex(this.key, this.allocate, this.graphs.allocate)
    if (stored === undefined) await this.indexAll(this.journal.documents(this.key))
    else await this.load(stored, [...new Set(stored.changed)])
    this.segments.ids.learn(this.documentCount)
  }
  /** `changed`: insertion numbers of documents that were changed after the segments were saved. */
  private async load({ asked, segments }: StoredIndex, changed: ReadonlyArray<number>): Promise<void> {
    const added = segments.map((stored) => this.segments.load(stored))
    this.sections.remember(asked)
    this.publisher.send({ added, removed: [], deletions: [], graphs: this.graphs.adopt(segments) })
    this.graphs.schedule()
    this.sections.schedule()
    if (changed.length === 0) return
    this.publisher.send({ added: [], removed: [], deletions: this.segments.deleteSeqs(changed) })
    await this.indexAll(storedDocuments(this.journal, this.key, changed))
  }
  private async indexAll(documents: Iterable<StoredDocument>): Promise<void> {
    for await (const { meta, region } of buildSegments(
      this.schema,
      documents,
      this.dictionaries,
      this.allocate,
      this.outside
    ))
      this.publisher.send({ added: [this.segments.adopt(meta, region).published], removed: [], deletions: [] })
    this.merger.schedule()
  }

  // ---- writing ------------------------------------------------------------------------------------------------------

  /**
   * Returns one verdict per operation, in order. Resolves when everything is durable and published; undefined if it was
   * closed in the meantime and nothing was written. Rejects with `CommitFailed`. `taken` is called when every operation
   * is in a chunk, so a later write that names one of their ids has that chunk committed first.
   */
  async write(
    operations: ReadonlyArray<WriteOperation>,
    returnDocuments: boolean,
    keeps: KeepLimits | undefined,
    more?: MoreOperations,
    taken?: () => void
  ): Promise<ReadonlyArray<WriteVerdict> | undefined> {
    const { publisher } = this
    while (this.gate.isShut !== undefined) await this.gate.isShut
    if (this.isClosed) return undefined
    this.gate.enter()
    const verdicts: WriteVerdict[] = []
    let chunk = this.openChunk()
    try {
      for (let list: ReadonlyArray<WriteOperation> | undefined = operations; list !== undefined; list = await more?.())
        for (let at = 0; at < list.length && publisher.failure === undefined;) {
          const until = performance.now() + SLICE_MS
          // Another write named an id of this chunk and had it committed: further operations go into the next chunk.
          do {
            if (chunk.isClosed) chunk = this.openChunk()
            verdicts.push(chunk.apply(list[at++], returnDocuments, keeps))
          } while (at < list.length && performance.now() < until && !chunk.isFull)
          if (chunk.isFull) {
            this.merger.noteImport()
            await this.committed(chunk)
          }
          if (at < list.length) await nextTurn()
          while (this.views.length > SEGMENTS_MAX && this.merger.running !== undefined) await this.merger.running
        }
      taken?.()
      await this.committed(chunk)
      await this.durable()
      if (publisher.failure !== undefined) throw publisher.failure
      return verdicts
    } finally {
      // The chunk is only still open after a defect; its content was never acknowledged.
      if (this.openChunks.delete(chunk)) this.use.add(-chunk.addedDocuments, -chunk.addedBytes)
      this.gate.leave()
    }
  }
  /** Resolves when everything committed so far is published and on disk, or a commit failed. */
  private async durable(): Promise<void> {
    const { publisher } = this
    const published = publisher.done
    if (publisher.isPending) await published
    if (publisher.failure === undefined)
      await this.journal.flushed().catch((error: unknown) => {
        publisher.breakOff(error)
      })
  }

  /** Use by chunks that is counted already, but not in the journal. */
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
  /** Lays out a chunk (a large one in slices) and commits it. */
  private async committed(chunk: Chunk): Promise<void> {
    for (let until = performance.now() + SLICE_MS; !chunk.isClosed;) {
      if (chunk.layOut(this.allocate, this.outside)) {
        this.commit(chunk)
        return
      }
      if (performance.now() > until) {
        await nextTurn()
        until = performance.now() + SLICE_MS
      }
    }
  }
  /**
   * Called if an operation names this id: another open chunk that changed it is committed first. This is rare, so that
   * chunk is laid out immediately.
   */
  settleOthers(own: Chunk, id: string): void {
    if (this.openChunks.size < 2) return
    for (const chunk of this.openChunks) {
      if (chunk === own || !chunk.holds(id)) continue
      while (!chunk.layOut(this.allocate, this.outside)) {
        /* Lay out the next column. */
      }
      this.commit(chunk)
    }
  }
  isOpenElsewhere(own: Chunk, id: string): boolean {
    for (const chunk of this.openChunks) if (chunk !== own && chunk.holds(id)) return true
    return false
  }
  /**
   * Adopts the results of a chunk: new segment, deletions, journal batch. A small chunk is published immediately, so
   * that it is searchable before it is on disk; others are published when their batch is readable, in commit order.
   */
  private commit(chunk: Chunk): void {
    const { publisher, segments } = this
    this.openChunks.delete(chunk)
    chunk.isClosed = true
    // Documents of this chunk may contain fields that any open chunk detected.
    const isDetected = this.schema !== this.savedSchema
    // The failure is reported to the caller of the write.
    if (publisher.failure !== undefined) {
      this.use.add(-chunk.addedDocuments, -chunk.addedBytes)
      return
    }
    if (chunk.puts.size === 0 && chunk.removes.size === 0 && !isDetected) return
    this.savedSchema = this.schema
    // Deleted only now, so that readers miss no document in the meantime.
    const deletions = segments.deleteIds(chunk.superseded)
    const { laidOut } = chunk
    const added = laidOut === undefined ? undefined : segments.adopt(laidOut.meta, laidOut.region, chunk.replaced)
    if (added !== undefined) segments.learnIds(added.view)
    const documents = chunk.documents()
    const committed = this.store(chunk, documents, isDetected)
    const publication: Publication = {
      ...(isDetected ? { schema: this.schema } : {}),
      added: added === undefined ? [] : [added.published],
      removed: [],
      deletions: [...deletions].map(([view, docs]) => ({ segment: view.segment.id, docs }))
    }
    // A deletion must not be published before its segment, nor a schema before the one it replaces.
    const isSmall = documents.length + chunk.removes.size <= EARLY_DOCS
    if (committed !== undefined && isSmall && !isDetected && !this.isAnyUnpublished(deletions.keys())) {
      const texts = documents.map(({ seq, text }) => [seq, text] as const)
      publisher.sendEarly(publication, texts, committed)
    } else
      publisher.enqueueSegment(added?.view, committed, () => {
        publisher.send(publication)
      })
    this.merger.schedule()
    segments.ids.renew(() => this.documentCount)
  }
  private isAnyUnpublished(views: Iterable<SegmentView>): boolean {
    for (const view of views) if (this.publisher.unpublished.has(view)) return true
    return false
  }
  /** Commits the batch of a chunk; undefined if it is readable immediately. */
  private store(
    chunk: Chunk,
    documents: ReadonlyArray<StoredDocument>,
    isDetected: boolean
  ): Promise<void> | undefined {
    const { journal, key } = this,
      documentsBefore = journal.documentCount(key),
      bytesBefore = journal.documentBytes(key)
    const committed = journal.commit(key, {
      puts: documents,
      removes: [...chunk.removes],
      nextSeq: this.nextSeq,
      ...(isDetected ? { record: this.record } : {})
    })
    // A chunk counts characters; the journal counts bytes.
    this.use.add(
      journal.documentCount(key) - documentsBefore - chunk.addedDocuments,
      journal.documentBytes(key) - bytesBefore - chunk.addedBytes
    )
    return committed
  }

  // ---- what chunks need ---------------------------------------------------------------------------------------------

  textOf(seq: number): string | undefined {
    return this.journal.get(this.key, seq)
  }
  storedOf(seq: number): StoredDocument | undefined {
    return this.journal.document(this.key, seq)
  }
  locate(id: string): Place | undefined {
    return this.segments.locate(id)
  }
  takeSeq(): number {
    return this.nextSeq++
  }
  get upcomingSeq(): number {
    return this.nextSeq
  }
  /** Adds detected fields to the schema; existing segments keep their columns. */
  appendFields(detected: ReadonlyArray<Field>): void {
    const known = new Set(this.schema.fields.map(({ name, detected: found }) => `${name}|${found === true}`))
    const fresh = detected.filter(({ name }) => !known.has(`${name}|true`))
    this.schema = { ...this.schema, fields: [...this.schema.fields, ...fresh] }
  }

  // ---- alter --------------------------------------------------------------------------------------------------------

  /** Validates every stored document against the new schema, then replaces the index in one publication. */
  alter(change: SchemaChange, keeps?: KeepLimits): Promise<Result<CollectionRecord>> {
    return this.gate.alone(async () => {
      await this.publisher.done
      await this.merger.running
      const schema = withChange(this.schema, change)
      const width = this.schema.fields.length
      const check = ({ fields }: CollectionSchema): Result<void> =>
        keeps !== undefined && fields.length > width && exceeds(keeps.fields_per_collection, fields.length)
          ? fail(capReached("fields_per_collection", keeps))
          : ok(undefined)
      const checked = check(schema)
      if (!checked.ok) return checked
      if (change.drop.length === 0 && change.add.length === 0) {
        this.schema = this.savedSchema = schema
        await this.journal.saveCollection(this.record)
        this.publisher.send({ schema, added: [], removed: [], deletions: [] })
        return ok(this.record)
      }
      const target = await revalidateAll(schema, this.journal.documents(this.key), check)
      if (!target.ok) return target
      await this.reindex(target.value)
      return ok(this.record)
    })
  }
  /** Indexes all documents under another schema. */
  private async reindex(schema: CollectionSchema): Promise<void> {
    const { journal, key } = this
    // A snapshot of the old index must not be used with the new schema after a crash.
    await journal.dropIndex(key)
    await journal.commit(key, {
      puts: [],
      removes: [],
      nextSeq: this.nextSeq,
      record: { ...this.record, schema }
    })
    const built: BuiltSegment[] = []
    for await (const segment of buildSegments(
      schema,
      journal.documents(key),
      this.dictionaries,
      this.allocate,
      this.outside
    ))
      built.push(segment)
    // Until here everything used the old index; now all of it is replaced.
    const old = [...this.views]
    this.segments.remove(old)
    this.schema = this.savedSchema = schema
    const added = built.map(({ meta, region }) => this.segments.adopt(meta, region).published)
    this.publisher.send({ schema, added, removed: old.map(({ segment }) => segment.id), deletions: [] })
    for (const { segment } of old) for (const region of regionsOf(segment)) this.release(region)
    await journal.flushed()
    this.merger.schedule()
  }

  // ---- as its owner sees it -----------------------------------------------------------------------------------------

  /** Resolves when no work is pending: no merge and no publication. */
  async settled(): Promise<void> {
    while (this.merger.running !== undefined || this.publisher.isPending) {
      await this.merger.running
      await this.publisher.done
    }
  }
  /** Resolves when the indexes of these units are ready for relevance searches, or will not be built. */
  makeUnits(units: ReadonlyArray<RelevanceUnit>): Promise<void> {
    return this.sections.ask(units)
  }
  /** All segments whose memory has not been released yet. */
  get held(): ReadonlyArray<SegmentView> {
    return [...this.views, ...this.merger.held]
  }
  /** Resolves when everything committed so far is readable; false if a commit failed. */
  async committedSoFar(): Promise<boolean> {
    await this.publisher.done
    return this.publisher.failure === undefined
  }
  /** A consistent view of the index for a snapshot. */
  segmentsNow(): SavedIndex & { readonly position: number } {
    return {
      asked: this.sections.askedUnits,
      segments: this.views.map((view) => ({
        id: view.segment.id,
        meta: view.segment.meta,
        region: view.segment.region,
        deleted: Uint32Array.from(deletedDocs(view)),
        graphs: graphsOf(view.segment).filter(({ failure }) => failure === undefined),
        sections: [...sectionsOf(view.segment).values()]
      })),
      position: this.journal.position(this.key)
    }
  }
  /** Accepts no more writes; resolves when pending writes and all background work have ended. */
  async close(): Promise<void> {
    while (this.gate.isShut !== undefined) await this.gate.isShut
    // There is no await between the last check and the flag: no write can begin in between.
    while (this.gate.hasWrites) await this.gate.idle()
    this.isClosed = true
    const merged = this.merger.close(),
      learned = this.segments.ids.close()
    await this.graphs.close()
    await this.sections.close()
    await merged
    await learned
    await this.publisher.done
  }
}
