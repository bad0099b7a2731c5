/**
 * Where a writer keeps its durable state: schemas, documents by insertion number, counters, and snapshots of the index.
 * The memory journal keeps it in maps; `lmdb-journal.ts` keeps it on disk. A journal has one writer.
 */
import type { CollectionSchema } from "../schema.ts"
import type { Allocate, Region, SegmentMeta } from "../index/sections.ts"
import type { DerivedSection } from "../index/derived-sections.ts"
import type { GraphRecord } from "../index/vector-graph.ts"
import type { RelevanceUnit } from "../plan.ts"
import type { VectorFiles } from "./vector-files.ts"

/** A collection by its number; names never become part of a key. */
export interface CollectionRecord {
  readonly key: number
  readonly namespace: string
  readonly schema: CollectionSchema
  readonly createdAt_s: number
}
/** `namespace` is empty if it is unknown. */
export interface UnreadableRecord {
  readonly key: number
  readonly namespace: string
  readonly message: string
}
export interface StoredDocument {
  readonly seq: number
  readonly text: string
  readonly unstored?: string
}
export interface JournalBatch {
  /**
   * `unstored`: values of `store: false` fields as a JSON object, stored separately so that an index can be rebuilt.
   */
  readonly puts: ReadonlyArray<StoredDocument>
  readonly removes: ReadonlyArray<number>
  /** The next insertion number after this batch. */ readonly nextSeq: number
  readonly record?: CollectionRecord
}
export interface StoredGraph {
  readonly record: GraphRecord
  /** undefined if the graph only has to be named in a snapshot. */ readonly region: Region | undefined
}
export interface StoredSegment {
  readonly id: number
  readonly meta: SegmentMeta
  readonly region: Region
  readonly deleted: Uint32Array
  readonly graphs: ReadonlyArray<StoredGraph>
  /** Sections derived from the segment; one that cannot be read is left out and rebuilt. */
  readonly sections: ReadonlyArray<DerivedSection>
}
/** The content of a snapshot. */
export interface SavedIndex {
  readonly segments: ReadonlyArray<StoredSegment>
  /** Units that relevance searches recently requested. */ readonly asked: ReadonlyArray<ReadonlyArray<RelevanceUnit>>
}
export interface StoredIndex extends SavedIndex {
  /** Insertion numbers written after the snapshot. */ readonly changed: Iterable<number>
}

export interface Journal {
  /**
   * Folder for files of vector graphs; undefined if nothing is durable. Files of segments that no snapshot names are
   * removed with the next snapshot.
   */
  readonly graphFolder: string | undefined
  /** Where vectors of segments are kept; undefined if they stay in memory because there is no disk. */
  readonly vectorFiles: VectorFiles | undefined
  collections(): ReadonlyArray<CollectionRecord>
  /** Collections whose records cannot be read; their stored data is left as it is. */
  unreadable(): ReadonlyArray<UnreadableRecord>
  nextSeq(key: number): number
  saveCollection(record: CollectionRecord): Promise<void>
  dropCollection(key: number): Promise<void>
  /** Includes committed changes that are not readable yet. */ get(key: number, seq: number): string | undefined
  /**
   * Live documents of a collection in insertion order, as far as they are readable; after all commits have resolved,
   * that is all of them.
   */
  documents(key: number): Iterable<StoredDocument>
  /** One live document with the values stored separately from it; like `get`, it includes unreadable commits. */
  document(key: number, seq: number): StoredDocument | undefined
  /** Resolves when readers can see the batch; after a crash all or nothing of it exists. undefined = immediately. */
  commit(key: number, batch: JournalBatch): Promise<void> | undefined
  /** Resolves when everything committed before is on disk. */
  flushed(): Promise<void>
  /** Discards what is not on disk; called after a failed commit, once no commit of the collection is pending. */
  rollback(key: number): void
  /** Writes a small record through to the disk; rejects as long as writing fails. */
  probe(): Promise<void>
  /** Loads the snapshot. Without `allocateLinear`, graphs are left out. */
  loadIndex(key: number, allocate: Allocate, allocateLinear?: Allocate): Promise<StoredIndex | undefined>
  /** Writes the file and gives it its name once it is on disk; returns its hash. "" if nothing is durable. */
  saveGraph(name: string, meta: SegmentMeta, region: Region): Promise<string>
  /** Makes the given index the snapshot, which covers all changes committed so far. */
  saveIndex(key: number, index: SavedIndex, position: number): Promise<void>
  /** Drops the snapshot; the next open indexes every document. */
  dropIndex(key: number): Promise<void>
  /** Number of changes committed to a collection; it serves as the position of a snapshot. */
  position(key: number): number
  documentBytes(key: number): number
  documentCount(key: number): number
  close(): Promise<void>
}

/** Nothing survives the process; documents are kept as JSON text. */
export class MemoryJournal implements Journal {
  readonly graphFolder = undefined
  readonly vectorFiles = undefined
  private readonly records = new Map<number, CollectionRecord>()
  private readonly texts = new Map<number, Map<number, string>>()
  private readonly counters = new Map<number, number>()
  private readonly bytes = new Map<number, number>()
  private readonly unstored = new Map<number, Map<number, string>>()
  collections(): ReadonlyArray<CollectionRecord> {
    return [...this.records.values()]
  }
  unreadable(): ReadonlyArray<UnreadableRecord> {
    return []
  }
  nextSeq(key: number): number {
    return this.counters.get(key) ?? 0
  }
  async saveCollection(record: CollectionRecord): Promise<void> {
    this.records.set(record.key, record)
    if (!this.texts.has(record.key)) this.texts.set(record.key, new Map())
  }
  async dropCollection(key: number): Promise<void> {
    this.records.delete(key)
    this.texts.delete(key)
    this.counters.delete(key)
    this.bytes.delete(key)
    this.unstored.delete(key)
  }
  get(key: number, seq: number): string | undefined {
    return this.texts.get(key)?.get(seq)
  }
  *documents(key: number): Iterable<StoredDocument> {
    const texts = this.texts.get(key)
    if (texts !== undefined) for (const seq of [...texts.keys()].sort((a, b) => a - b)) yield this.document(key, seq)!
  }
  document(key: number, seq: number): StoredDocument | undefined {
    const text = this.texts.get(key)?.get(seq)
    const unstored = this.unstored.get(key)?.get(seq)
    return text === undefined ? undefined : { seq, text, ...(unstored === undefined ? {} : { unstored }) }
  }
  commit(key: number, batch: JournalBatch): undefined {
    const texts = this.texts.get(key)
    if (texts === undefined) return undefined
    let bytes = this.bytes.get(key) ?? 0
    let apart = this.unstored.get(key)
    const sizeOf = (seq: number): number => (texts.get(seq)?.length ?? 0) + (apart?.get(seq)?.length ?? 0)
    for (const seq of batch.removes) {
      bytes -= sizeOf(seq)
      texts.delete(seq)
      apart?.delete(seq)
    }
    for (const { seq, text, unstored } of batch.puts) {
      bytes += text.length + (unstored?.length ?? 0) - sizeOf(seq)
      if (unstored !== undefined) {
        if (apart === undefined) this.unstored.set(key, (apart = new Map()))
        apart.set(seq, unstored)
      } else apart?.delete(seq)
      texts.set(seq, text)
    }
    this.bytes.set(key, bytes)
    this.counters.set(key, batch.nextSeq)
    if (batch.record !== undefined) this.records.set(key, batch.record)
    return undefined
  }
  async flushed(): Promise<void> {}
  rollback(): void {}
  async probe(): Promise<void> {}
  async loadIndex(): Promise<undefined> {
    return undefined
  }
  async saveIndex(): Promise<void> {}
  async saveGraph(): Promise<string> {
    return ""
  }
  async dropIndex(): Promise<void> {}
  position(): number {
    return 0
  }
  documentBytes(key: number): number {
    return this.bytes.get(key) ?? 0
  }
  documentCount(key: number): number {
    return this.texts.get(key)?.size ?? 0
  }
  async close(): Promise<void> {}
}
