/**
 * The journal on disk: one LMDB environment for documents, schemas, counters and a change log, and separate files for
 * the segments of index snapshots. If a snapshot is old, the change log says what to index again; if it is lost, the
 * index is rebuilt from the documents.
 */
import { mkdir, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { documentPlanOf } from "../documents/mod.ts"
import type { Allocate, Region, SegmentMeta } from "../index/sections.ts"
import { warn } from "../warning.ts"
import type {
  CollectionRecord,
  Journal,
  JournalBatch,
  SavedIndex,
  StoredDocument,
  StoredIndex,
  StoredSegment,
  UnreadableRecord
} from "./journal.ts"
import { LINKS_FOLDER } from "./native-links.ts"
import { IndexFiles } from "./index-files.ts"
import type { VectorFiles } from "./vector-files.ts"
import {
  askedOf,
  changesAfter,
  collectionKey,
  type Counters,
  type Databases,
  entryKey,
  inBatch,
  json,
  manifestOf,
  type Laid,
  openDatabases,
  readCounters,
  readManifest,
  readRecord,
  sectionName,
  segmentName,
  textOf
} from "./lmdb-databases.ts"

/** Version of the layout of keys and segments; a folder of another version is refused. */
const FORMAT = 1
const PAGE_DOCUMENTS = 512
/** Larger than a page, so that the disk must allocate space for it. */
const PROBE = "probe".repeat(2_000)

export class LmdbJournal implements Journal {
  private readonly path: string
  private readonly databases: Databases
  private readonly records = new Map<number, CollectionRecord>()
  private readonly counters = new Map<number, Counters>()
  private readonly keyBytes = Buffer.alloc(10)
  private readonly unreadable_ = new Map<number, UnreadableRecord>()
  /** Counters that were recomputed; the stored index may disagree. */ private readonly recounted = new Set<number>()
  /**
   * Batches that are handed over but not readable yet, by collection and insertion number. At most the documents of
   * writes that are waiting for their verdicts.
   */
  private readonly inFlight = new Map<
    number,
    Map<
      number,
      {
        readonly text: string | undefined
        readonly unstored: string | undefined
        readonly bytes: number
        readonly position: number
      }
    >
  >()
  /** Callers that wait for a flush. */ private readonly flushing = new Set<(error: unknown) => void>()
  /** Whether the last commit failed. */ private isRefused = false
  private readonly files: IndexFiles
  private constructor(path: string, databases: Databases) {
    this.path = path
    this.databases = databases
    this.files = new IndexFiles(path)
  }

  get graphFolder(): string {
    return this.files.graphFolder
  }
  get vectorFiles(): VectorFiles {
    return this.files.vectorFiles
  }

  /** Opens or creates the folder. Fails if another version wrote it. */
  static async open(path: string): Promise<LmdbJournal> {
    await mkdir(join(path, "segments"), { recursive: true })
    await mkdir(join(path, "graphs"), { recursive: true })
    const databases = await openDatabases(path, false)
    const format = databases.records.getBinary(Buffer.from("format"))
    if (format === undefined) await databases.records.put(Buffer.from("format"), json(FORMAT))
    else if (Number(textOf(format)) !== FORMAT) {
      await databases.env.close()
      throw new Error(`data folder has format ${textOf(format)}, this version reads ${FORMAT}`)
    }
    const journal = new LmdbJournal(path, databases)
    journal.readRecords()
    for (const key of journal.recounted) await journal.dropIndex(key)
    await journal.sweep()
    return journal
  }
  private readRecords(): void {
    for (const { key, value } of this.databases.records.getRange({ start: Buffer.from("c"), end: Buffer.from("d") })) {
      const record = readRecord(key.readUInt32BE(1), textOf(value))
      if ("message" in record) this.unreadable_.set(record.key, record)
      else this.records.set(record.key, record)
    }
    for (const { key, value } of this.databases.records.getRange({ start: Buffer.from("n"), end: Buffer.from("o") })) {
      const number = key.readUInt32BE(1)
      const counters = readCounters(textOf(value))
      if (counters === undefined) this.recounted.add(number)
      this.counters.set(number, counters ?? this.countAnew(number))
    }
  }
  /** Recomputes the counters from the documents and the change log. O(documents). */
  private countAnew(key: number): Counters {
    warn(`the counters of collection ${key} cannot be read and are made anew`, "they are not what was written")
    const range = { start: entryKey(key, 0), end: entryKey(key + 1, 0) }
    const counters = { nextSeq: 0, position: 0, documents: 0, bytes: 0 }
    for (const { key: at, value } of this.databases.documents.getRange(range)) {
      counters.documents++
      counters.bytes += value.length
      counters.nextSeq = at.readUIntBE(4, 6) + 1
    }
    for (const { value } of this.databases.unstored.getRange(range)) counters.bytes += value.length
    for (const at of this.databases.changes.getKeys(range)) counters.position = at.readUIntBE(4, 6)
    return counters
  }
  /**
   * Completes drops that a crash interrupted: numbers of collections are reused after a start, and no data of a
   * previous owner may remain.
   */
  private async sweep(): Promise<void> {
    const orphans = new Set<number>()
    for (const key of this.counters.keys()) orphans.add(key)
    for (const key of this.databases.records.getKeys({ start: Buffer.from("s"), end: Buffer.from("t") }))
      orphans.add(key.readUInt32BE(1))
    for (const database of [this.databases.documents, this.databases.unstored, this.databases.changes]) {
      for (let from = 0; ;) {
        const [first] = [...database.getKeys({ start: entryKey(from, 0), limit: 1 })]
        if (first === undefined) break
        const key = first.readUInt32BE(0)
        orphans.add(key)
        from = key + 1
      }
    }
    for (const folder of [join(this.path, "segments"), this.graphFolder])
      for (const name of await readdir(folder)) orphans.add(Number.parseInt(name, 10))
    for (const key of this.vectorFiles.owners) orphans.add(key)
    for (const name of await readdir(this.graphFolder))
      if (name.startsWith(LINKS_FOLDER)) await rm(join(this.graphFolder, name), { recursive: true, force: true })
    for (const key of orphans)
      if (Number.isSafeInteger(key) && !this.records.has(key) && !this.unreadable_.has(key))
        await this.dropCollection(key)
  }
  private named(kind: "c" | "n" | "s", key: number): Buffer {
    return Buffer.concat([Buffer.from(kind), collectionKey(key)])
  }
  private countersOf(key: number): Counters {
    let own = this.counters.get(key)
    if (own === undefined) this.counters.set(key, (own = { nextSeq: 0, position: 0, documents: 0, bytes: 0 }))
    return own
  }

  collections(): ReadonlyArray<CollectionRecord> {
    return [...this.records.values()].sort((a, b) => a.key - b.key)
  }
  unreadable(): ReadonlyArray<UnreadableRecord> {
    return [...this.unreadable_.values()]
  }
  nextSeq(key: number): number {
    return this.countersOf(key).nextSeq
  }
  position(key: number): number {
    return this.countersOf(key).position
  }
  documentBytes(key: number): number {
    return this.countersOf(key).bytes
  }
  documentCount(key: number): number {
    return this.countersOf(key).documents
  }
  async saveCollection(record: CollectionRecord): Promise<void> {
    this.records.set(record.key, record)
    await this.record(this.named("c", record.key), json(record))
  }
  async dropCollection(key: number): Promise<void> {
    this.records.delete(key)
    this.counters.delete(key)
    this.inFlight.delete(key)
    const { env, documents, unstored, changes, records } = this.databases
    await this.written(
      env.batch(() => {
        inBatch(records.remove(this.named("c", key)))
        inBatch(records.remove(this.named("n", key)))
        inBatch(records.remove(this.named("s", key)))
      })
    )
    // The transaction above also removes the record; the rest can be cleared in parts.
    for (const database of [documents, unstored, changes]) {
      for (;;) {
        const keys = [...database.getKeys({ start: entryKey(key, 0), end: entryKey(key + 1, 0), limit: 4_096 })].map(
          (found) => Buffer.from(found)
        )
        if (keys.length === 0) break
        await this.written(
          env.batch(() => {
            for (const found of keys) inBatch(database.remove(found))
          })
        )
        env.resetReadTxn()
      }
    }
    await this.files.removeFiles(key, new Set())
    await this.files.removeGraphs(key, new Set(), Infinity)
    this.vectorFiles.name(key)
  }

  get(key: number, seq: number): string | undefined {
    const flight = this.inFlight.get(key)?.get(seq)
    return flight === undefined ? this.readable(key, seq) : flight.text
  }
  /** The version on disk: the one published to readers, or one that is about to be published. */
  readable(key: number, seq: number): string | undefined {
    this.keyBytes.writeUInt32BE(key)
    this.keyBytes.writeUIntBE(seq, 4, 6)
    const bytes = this.databases.documents.getBinaryFast(this.keyBytes)
    return bytes === undefined ? undefined : textOf(bytes)
  }
  document(key: number, seq: number): StoredDocument | undefined {
    const flight = this.inFlight.get(key)?.get(seq)
    if (flight !== undefined)
      return flight.text === undefined
        ? undefined
        : { seq, text: flight.text, ...(flight.unstored === undefined ? {} : { unstored: flight.unstored }) }
    const text = this.readable(key, seq)
    if (text === undefined) return undefined
    const unstored = this.databases.unstored.getBinary(entryKey(key, seq))
    return { seq, text, ...(unstored === undefined ? {} : { unstored: textOf(unstored) }) }
  }
  *documents(key: number): Iterable<StoredDocument> {
    // Reads page by page: a cursor held open across turns of the event loop would pin old pages.
    for (let from = 0; ;) {
      const page = [
        ...this.databases.documents.getRange({
          start: entryKey(key, from),
          end: entryKey(key + 1, 0),
          limit: PAGE_DOCUMENTS
        })
      ].map((entry) => ({ seq: entry.key.readUIntBE(4, 6), text: textOf(entry.value) }))
      for (const { seq, text } of page) {
        const unstored = this.databases.unstored.getBinary(entryKey(key, seq))
        yield { seq, text, ...(unstored === undefined ? {} : { unstored: textOf(unstored) }) }
      }
      if (page.length < PAGE_DOCUMENTS) return
      from = page[page.length - 1].seq + 1
    }
  }

  commit(key: number, batch: JournalBatch): Promise<void> {
    const own = this.countersOf(key)
    const { env, documents, unstored, changes, records } = this.databases
    const known = own.nextSeq
    own.nextSeq = batch.nextSeq
    own.position++
    const puts = batch.puts.map(({ seq, text, unstored: hidden }) => {
      const bytes = Buffer.from(text, "utf8")
      return { seq, text, bytes, hidden, size: bytes.length + (hidden === undefined ? 0 : Buffer.byteLength(hidden)) }
    })
    // Concurrent writes commit in any order, so a number below the known ones may be that of a new document.
    const sizeBefore = (seq: number): number => (seq >= known ? 0 : this.bytesOf(key, seq))
    for (const { seq, size } of puts) {
      const before = sizeBefore(seq)
      if (before === 0) own.documents++
      own.bytes += size - before
    }
    for (const seq of batch.removes) {
      const before = sizeBefore(seq)
      if (before > 0) own.documents--
      own.bytes -= before
    }
    const changed = Buffer.alloc((puts.length + batch.removes.length) * 6)
    let at = 0
    const done = this.written(
      env.batch(() => {
        for (const { seq, bytes, hidden } of puts) {
          at = changed.writeUIntBE(seq, at, 6)
          inBatch(documents.put(entryKey(key, seq), bytes))
          if (hidden !== undefined) inBatch(unstored.put(entryKey(key, seq), Buffer.from(hidden, "utf8")))
          else if (seq < known) inBatch(unstored.remove(entryKey(key, seq)))
        }
        for (const seq of batch.removes) {
          at = changed.writeUIntBE(seq, at, 6)
          inBatch(documents.remove(entryKey(key, seq)))
          inBatch(unstored.remove(entryKey(key, seq)))
        }
        inBatch(changes.put(entryKey(key, own.position), changed))
        inBatch(records.put(this.named("n", key), json(own)))
        if (batch.record !== undefined) {
          this.records.set(key, batch.record)
          inBatch(records.put(this.named("c", key), json(batch.record)))
        }
      })
    )
    let flights = this.inFlight.get(key)
    if (flights === undefined) this.inFlight.set(key, (flights = new Map()))
    const { position } = own
    for (const { seq, size, text, hidden } of puts) flights.set(seq, { text, unstored: hidden, bytes: size, position })
    for (const seq of batch.removes) flights.set(seq, { text: undefined, unstored: undefined, bytes: 0, position })
    return done.then(() => {
      env.resetReadTxn()
      for (const { seq } of puts) if (flights.get(seq)?.position === position) flights.delete(seq)
      for (const seq of batch.removes) if (flights.get(seq)?.position === position) flights.delete(seq)
    })
  }
  /** Size of the latest version of a document and its separately stored values, readable or not; 0 if there is none. */
  private bytesOf(key: number, seq: number): number {
    const flight = this.inFlight.get(key)?.get(seq)
    if (flight !== undefined) return flight.bytes
    const stored = this.databases.documents.getBinaryFast(entryKey(key, seq))?.length ?? 0
    const record = this.records.get(key)
    if (stored === 0 || record === undefined || documentPlanOf(record.schema).unstored.length === 0) return stored
    return stored + (this.databases.unstored.getBinaryFast(entryKey(key, seq))?.length ?? 0)
  }
  /** Rejects if a commit fails in the meantime, because the library does not settle a flush after a failed commit. */
  flushed(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.flushing.add(reject)
      this.databases.env.flushed
        .then(() => {
          resolve()
        }, reject)
        .finally(() => {
          this.flushing.delete(reject)
        })
    })
  }
  private async record(name: Buffer, value: Buffer | undefined): Promise<void> {
    const { env, records } = this.databases
    await this.written(
      env.batch(() => {
        inBatch(value === undefined ? records.remove(name) : records.put(name, value))
      })
    )
  }
  /**
   * The outcome of a commit. The library reports the cause of a failure through a promise that nothing else handles.
   */
  private async written<A>(write: Promise<A>): Promise<A> {
    // When a turn ends, the library creates one promise for all its writes without handling it. Unhandled, it would end
    // the program.
    setImmediate(() => {
      this.databases.env.committed.then(
        () => {},
        () => {}
      )
    })
    try {
      const answer = await write
      this.isRefused = false
      return answer
    } catch (error) {
      ;(error as { readonly commitError?: Promise<unknown> }).commitError?.catch(() => {})
      this.isRefused = true
      for (const reject of this.flushing) reject(error)
      this.flushing.clear()
      throw error
    }
  }
  /** Cost: O(documents), because a later batch may have been stored with counts that include the failed one. */
  rollback(key: number): void {
    const { env, documents, records, unstored } = this.databases
    env.resetReadTxn()
    this.inFlight.delete(key)
    const stored = records.getBinary(this.named("n", key)),
      record = records.getBinary(this.named("c", key))
    const counters =
      stored === undefined
        ? { nextSeq: 0, position: 0, documents: 0, bytes: 0 }
        : (JSON.parse(textOf(stored)) as Counters)
    counters.documents = counters.bytes = 0
    for (const { value } of documents.getRange({ start: entryKey(key, 0), end: entryKey(key + 1, 0) })) {
      counters.documents++
      counters.bytes += value.length
    }
    for (const { value } of unstored.getRange({ start: entryKey(key, 0), end: entryKey(key + 1, 0) }))
      counters.bytes += value.length
    this.counters.set(key, counters)
    if (record !== undefined) this.records.set(key, JSON.parse(textOf(record)) as CollectionRecord)
  }
  async probe(): Promise<void> {
    await this.record(Buffer.from("probe"), json(PROBE))
    await this.flushed()
  }

  // ---- snapshots ----------------------------------------------------------------------------------------------------

  async loadIndex(key: number, allocate: Allocate, allocateLinear?: Allocate): Promise<StoredIndex | undefined> {
    this.files.doubt(key)
    const found = this.databases.records.getBinary(this.named("s", key))
    if (found === undefined) {
      this.vectorFiles.name(key)
      return undefined
    }
    const manifest = readManifest(textOf(found))
    // An unreadable part of a snapshot only costs a rebuild; reads never fail because of it.
    if (manifest === undefined) {
      warn(`the snapshot of collection ${key} cannot be read and is made anew`, "it is not what was written")
      await this.dropIndex(key)
      return undefined
    }
    const segments: StoredSegment[] = [],
      files = new Map<string, string>()
    for (const stored of manifest.segments) {
      const { deleted, graphs, id, meta, sections, vectors = "" } = stored
      const laid = await this.files.loadSegment(key, stored, allocate)
      if (laid === undefined) {
        for (const { region } of segments) if (region.outside !== undefined) this.vectorFiles.drop(region.outside)
        await this.dropIndex(key)
        return undefined
      }
      if (meta.outside !== undefined) files.set(meta.outside.name, vectors)
      const list = Buffer.from(deleted, "base64")
      segments.push({
        id,
        ...laid,
        deleted: Uint32Array.from({ length: list.length / 4 }, (_cell, i) => list.readUInt32LE(i * 4)),
        graphs: allocateLinear === undefined ? [] : await this.files.loadGraphs(graphs ?? [], allocateLinear),
        sections: await this.files.loadSections(key, sections ?? [], allocate)
      })
    }
    this.vectorFiles.name(key, files)
    const changed = changesAfter(this.databases, key, manifest.position)
    return { segments, changed, asked: askedOf(manifest) }
  }
  saveGraph(name: string, meta: SegmentMeta, region: Region): Promise<string> {
    return this.files.saveGraph(name, meta, region)
  }
  async saveIndex(key: number, { asked, segments }: SavedIndex, position: number): Promise<void> {
    const { env, changes, records } = this.databases
    if (!this.records.has(key)) return
    const files = new Map<string, Laid>()
    for (const segment of segments) {
      files.set(segmentName(key, segment.id), segment)
      for (const section of segment.sections) files.set(sectionName(key, section.id), section)
    }
    for (const [name, laid] of files) await this.files.save(name, laid)
    const vectors = new Map<string, string>()
    for (const { meta } of segments)
      if (meta.outside !== undefined) vectors.set(meta.outside.name, await this.vectorFiles.sealed(meta.outside.name))
    if (vectors.size > 0) await this.vectorFiles.sealFolder()
    await this.files.seal()
    const manifest = manifestOf({ asked, segments }, position, {
      hashOf: (name) => this.files.hashOf(name),
      vectorsOf: (name) => vectors.get(name)!,
      key
    })
    const covered = [...changes.getKeys({ start: entryKey(key, 0), end: entryKey(key, position + 1) })].map((found) =>
      Buffer.from(found)
    )
    await this.written(
      env.batch(() => {
        inBatch(records.put(this.named("s", key), json(manifest)))
        for (const found of covered) inBatch(changes.remove(found))
      })
    )
    await this.flushed()
    this.vectorFiles.name(key, vectors)
    await this.files.removeFiles(key, files)
    await this.files.removeGraphs(
      key,
      new Set(segments.map(({ id }) => id)),
      segments.reduce((last, { id }) => Math.max(last, id), 0)
    )
  }

  async dropIndex(key: number): Promise<void> {
    await this.record(this.named("s", key), undefined)
    this.vectorFiles.name(key)
  }

  async close(): Promise<void> {
    // A failed commit is not waited for, because it was never acknowledged.
    if (!this.isRefused) await this.flushed().catch(() => {})
    await this.databases.env.close()
  }
}
