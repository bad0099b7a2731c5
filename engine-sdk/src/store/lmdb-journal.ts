/**
 * The journal on disk: one LMDB environment for documents, schemas, counters and a change log, and files beside it for
 * the segments of index snapshots. A snapshot may be lost or old: the change log says what to index again, and without
 * a snapshot everything can be rebuilt from the documents.
 */
import { createHash } from "node:crypto"
import { mkdir, open as openFile, readdir, readFile, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import type { Database, RootDatabase } from "lmdb"
import { documentPlanOf, stringifyJson } from "../documents/mod.ts"
import type { DerivedSection } from "../index/derived-sections.ts"
import type { Allocate, Region, SegmentMeta } from "../index/sections.ts"
import type { GraphRecord } from "../index/vector-graph.ts"
import { missingPackage } from "../optional-package.ts"
import { warn } from "../warning.ts"
import { nextTurn } from "../turns.ts"
import type {
  CollectionRecord,
  Journal,
  JournalBatch,
  SavedIndex,
  StoredDocument,
  StoredGraph,
  StoredIndex,
  StoredSegment,
  UnreadableRecord
} from "./journal.ts"
import { LINKS_FOLDER } from "./native-links.ts"
import { hasVectorsInside, withVectorsOutside } from "./move-vectors.ts"
import { isVectorFile, VectorFiles } from "./vector-files.ts"

/** Layout of keys and segments; a folder of another version is refused. */
const FORMAT = 1
const PAGE_DOCUMENTS = 512
/** More than a page, so that the disk must have room for it. */
const PROBE = "probe".repeat(2_000)

interface Counters {
  nextSeq: number
  position: number
  documents: number
  bytes: number
}
interface Manifest {
  readonly position: number
  readonly segments: ReadonlyArray<{
    readonly id: number
    readonly meta: SegmentMeta
    /** SHA-1 of its file; absent in older snapshots. */ readonly hash?: string
    /** And of the file with its vectors, where it has one. */ readonly vectors?: string
    readonly deleted: string
    readonly graphs?: ReadonlyArray<GraphRecord>
    readonly sections?: ReadonlyArray<ManifestSection>
  }>
  readonly asked?: SavedIndex["asked"]
}
interface ManifestSection extends Omit<DerivedSection, "region"> {
  readonly hash: string
}
/** Of a segment, or of what is derived from one. */
interface Laid {
  readonly meta: SegmentMeta
  readonly region: Region
}
const segmentName = (key: number, id: number): string => `${key}-${id}.seg`
const sectionName = (key: number, id: number): string => `${key}-${id}.sec`
interface Databases {
  readonly env: RootDatabase<Buffer, Buffer>
  readonly documents: Database<Buffer, Buffer>
  readonly unstored: Database<Buffer, Buffer>
  readonly changes: Database<Buffer, Buffer>
  readonly records: Database<Buffer, Buffer>
}

const collectionKey = (key: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(key)
  return bytes
}
/** Collection number, then insertion number or position: 4 and 6 bytes, so that byte order is numeric order. */
const entryKey = (key: number, at: number): Buffer => {
  const bytes = Buffer.alloc(10)
  bytes.writeUInt32BE(key)
  bytes.writeUIntBE(at, 4, 6)
  return bytes
}
const json = (value: unknown): Buffer => Buffer.from(stringifyJson(value), "utf8")
const textOf = (bytes: Buffer): string => bytes.toString("utf8", 0, bytes.length)

/** A write inside of a batch: what the batch's own promise tells, this one need not tell again. */
const inBatch = (write: Promise<boolean>): void => {
  write.catch(() => {})
}
const openDatabases = async (path: string, readOnly: boolean): Promise<Databases> => {
  const lmdb = await import("lmdb").catch((error: unknown) => {
    throw missingPackage("lmdb", "Storage on disk", error)
  })
  const options = { encoding: "binary", keyEncoding: "binary" } as const
  // `safeRestore` (absent from the typings): after any crash go back to the newest synced transaction. By default LMDB
  // asks the machine's boot id whether the power was cut, and inside a virtual machine or a container that id can
  // survive a cut.
  const env = lmdb.open<Buffer, Buffer>({
    path: join(path, "documents.mdb"),
    maxDbs: 8,
    readOnly,
    ...options,
    ...(readOnly ? {} : { safeRestore: true })
  } as Parameters<typeof lmdb.open<Buffer, Buffer>>[0])
  const database = (name: string): Database<Buffer, Buffer> => env.openDB<Buffer, Buffer>({ name, ...options })
  return {
    env,
    documents: database("documents"),
    unstored: database("unstored"),
    changes: database("changes"),
    records: database("records")
  }
}

/** Documents as another thread reads them. */
export class LmdbReads {
  private readonly databases: Databases
  private readonly keyBytes = Buffer.alloc(10)
  private constructor(databases: Databases) {
    this.databases = databases
  }
  static async open(path: string): Promise<LmdbReads> {
    return new LmdbReads(await openDatabases(path, true))
  }
  text(key: number, seq: number): string | undefined {
    this.keyBytes.writeUInt32BE(key)
    this.keyBytes.writeUIntBE(seq, 4, 6)
    const bytes = this.databases.documents.getBinaryFast(this.keyBytes)
    return bytes === undefined ? undefined : textOf(bytes)
  }
  bytes(key: number): number {
    const found = this.databases.records.getBinaryFast(Buffer.concat([Buffer.from("n"), collectionKey(key)]))
    return found === undefined ? 0 : (JSON.parse(textOf(found)) as Counters).bytes
  }
  /** Without it a read transaction may outlive the commit that a publication speaks of. */
  refresh(): void {
    this.databases.env.resetReadTxn()
  }
  async close(): Promise<void> {
    await this.databases.env.close()
  }
}

export class LmdbJournal implements Journal {
  private readonly path: string
  private readonly databases: Databases
  private readonly records = new Map<number, CollectionRecord>()
  private readonly counters = new Map<number, Counters>()
  private readonly keyBytes = Buffer.alloc(10)
  /**
   * Segment files whose bytes are known to be right: read or written by this journal. A file left by a crash may carry
   * the number of a later segment.
   */
  private readonly sound = new Map<string, string | undefined>()
  private readonly unreadable_ = new Map<number, UnreadableRecord>()
  /** Counters that were made anew: what was written of the index may not go with them. */ private readonly recounted =
    new Set<number>()
  /**
   * Batches that are handed over and not readable yet, by collection and insertion number: at most what writes that
   * wait for their answer brought.
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
  /** Who waits for a flush. */ private readonly flushing = new Set<(error: unknown) => void>()
  /** The last commit failed. */ private isRefused = false
  readonly graphFolder: string
  readonly vectorFiles: VectorFiles
  private constructor(path: string, databases: Databases) {
    this.path = path
    this.databases = databases
    this.graphFolder = join(path, "graphs")
    this.vectorFiles = new VectorFiles(path)
  }

  /** Opens or creates the folder. Fails when it was written by another version. */
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
  /** From the documents and the change log. O(documents). */
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
   * Finishes drops that a crash cut short: numbers of collections are given again after a start, and nothing of an old
   * owner may be there then.
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
    // The record is gone with that; what is left can be cleared in parts.
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
    await this.removeFiles(key, new Set())
    await this.removeGraphs(key, new Set(), Infinity)
    this.vectorFiles.name(key)
  }

  get(key: number, seq: number): string | undefined {
    const flight = this.inFlight.get(key)?.get(seq)
    return flight === undefined ? this.readable(key, seq) : flight.text
  }
  /** What the disk has: the version that readers have heard of, or one that they are about to. */
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
    // Page by page: a cursor held open over turns would pin old pages.
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
    // Writes at the same time commit in any order: a number below the known ones may be that of a new document.
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
  /** Of the latest version of a document and what is kept beside it, readable or not; 0: there is none. */
  private bytesOf(key: number, seq: number): number {
    const flight = this.inFlight.get(key)?.get(seq)
    if (flight !== undefined) return flight.bytes
    const stored = this.databases.documents.getBinaryFast(entryKey(key, seq))?.length ?? 0
    const record = this.records.get(key)
    if (stored === 0 || record === undefined || documentPlanOf(record.schema).unstored.length === 0) return stored
    return stored + (this.databases.unstored.getBinaryFast(entryKey(key, seq))?.length ?? 0)
  }
  /** Rejects when a commit fails meanwhile: the library forgets who waits for the flush of one. */
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
  /** The outcome of a commit. The library tells the cause of a failure by a promise that nobody else looks at. */
  private async written<A>(write: Promise<A>): Promise<A> {
    // The library makes one promise for all writes of a turn when that turn ends, and leaves it alone: unhandled, it
    // would end the program.
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
  /** Cost: O(documents), because a later batch may have been stored with counts that include one that was not. */
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

  // ---- snapshots
  // -----------------------------------------------------------------------------------------------------

  private fileOf(name: string): string {
    return join(this.path, "segments", name)
  }
  private async removeFiles(key: number, keep: { readonly has: (name: string) => boolean }): Promise<void> {
    const folder = join(this.path, "segments")
    for (const name of await readdir(folder))
      if (name.startsWith(`${key}-`) && !keep.has(name)) {
        this.sound.delete(name)
        await rm(join(folder, name), { force: true })
      }
  }

  /** Graphs of segments up to `last` that are not kept. Later segments may be at work on theirs. */
  private async removeGraphs(key: number, keep: ReadonlySet<number>, last: number): Promise<void> {
    for (const name of await readdir(this.graphFolder)) {
      const [owner, segment] = name.split("-").map(Number)
      // What older versions wrote is of no use.
      if (owner === key && segment <= last && (!keep.has(segment) || name.endsWith(".usearch")))
        await rm(join(this.graphFolder, name), { force: true })
    }
  }

  async loadIndex(key: number, allocate: Allocate, allocateLinear?: Allocate): Promise<StoredIndex | undefined> {
    for (const name of this.sound.keys()) if (name.startsWith(`${key}-`)) this.sound.delete(name)
    const found = this.databases.records.getBinary(this.named("s", key))
    if (found === undefined) {
      this.vectorFiles.name(key)
      return undefined
    }
    const manifest = readManifest(textOf(found))
    // What cannot be read of a snapshot costs a rebuild, never an answer.
    if (manifest === undefined) {
      warn(`the snapshot of collection ${key} cannot be read and is made anew`, "it is not what was written")
      await this.dropIndex(key)
      return undefined
    }
    const segments: StoredSegment[] = [],
      files = new Map<string, string>()
    for (const { id, meta, deleted, graphs, hash, sections, vectors = "" } of manifest.segments) {
      const bytes = await readIfThere(this.fileOf(segmentName(key, id)))
      // So does a segment that is missing, short, or not what was written.
      if (
        bytes === undefined ||
        bytes.length !== meta.bytes ||
        (hash !== undefined && (await hashOf(bytes)) !== hash) ||
        !(await this.hasVectors(key, meta, vectors))
      ) {
        for (const { region } of segments) if (region.outside !== undefined) this.vectorFiles.drop(region.outside)
        await this.dropIndex(key)
        return undefined
      }
      if (meta.outside !== undefined) files.set(meta.outside.name, vectors)
      const laid = await this.laidOut(key, meta, bytes, allocate)
      const list = Buffer.from(deleted, "base64")
      if (laid.meta === meta) this.sound.set(segmentName(key, id), hash)
      segments.push({
        id,
        ...laid,
        deleted: Uint32Array.from({ length: list.length / 4 }, (_cell, i) => list.readUInt32LE(i * 4)),
        graphs: allocateLinear === undefined ? [] : await this.loadGraphs(graphs ?? [], allocateLinear),
        sections: await this.loadSections(key, sections ?? [], allocate)
      })
    }
    this.vectorFiles.name(key, files)
    const changed: number[] = []
    for (const { value } of this.databases.changes.getRange({
      start: entryKey(key, manifest.position + 1),
      end: entryKey(key + 1, 0)
    })) {
      for (let at = 0; at < value.length; at += 6) changed.push(value.readUIntBE(at, 6))
    }
    return { segments, changed, asked: askedOf(manifest) }
  }
  /** As it is, or with its vectors in a file, where an older version left them inside. */
  private async laidOut(key: number, meta: SegmentMeta, bytes: Uint8Array, allocate: Allocate): Promise<Laid> {
    if (hasVectorsInside(meta)) return withVectorsOutside(meta, bytes, allocate, this.vectorFiles.of(key))
    const region = allocate(Math.max(8, meta.bytes)),
      { outside } = meta
    new Uint8Array(region.buffer as ArrayBuffer, region.offset, meta.bytes).set(bytes)
    return {
      meta,
      region: outside === undefined ? region : { ...region, outside: this.vectorFiles.pathOf(outside.name) }
    }
  }
  /** The file beside a segment is there as it was written, or the segment has none. */
  private async hasVectors(key: number, { outside }: SegmentMeta, hash: string): Promise<boolean> {
    return (
      outside === undefined ||
      (isVectorFile(key, outside.name) && (await this.vectorFiles.take(outside.name, outside.bytes, hash)))
    )
  }
  /** One that is not as it was written is built again; until then its segment is searched exactly. */
  private async loadGraphs(records: ReadonlyArray<GraphRecord>, allocate: Allocate): Promise<StoredGraph[]> {
    const whole: StoredGraph[] = []
    for (const record of records) {
      const { hash, meta, name } = record
      // An older version wrote the library's own file.
      if (meta === undefined || hash === undefined) continue
      const bytes = await readIfThere(join(this.graphFolder, name))
      if (bytes === undefined || bytes.length !== meta.bytes || (await hashOf(bytes)) !== hash) continue
      try {
        const region = allocate(meta.bytes)
        new Uint8Array(region.buffer as ArrayBuffer, region.offset, meta.bytes).set(bytes)
        whole.push({ record, region })
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
        warn(`there is no memory for the vector graph ${name}`, error)
      }
    }
    return whole
  }
  /** One that is missing, or not what was written, costs making it anew, and nothing else of the snapshot. */
  private async loadSections(
    key: number,
    sections: ReadonlyArray<ManifestSection>,
    allocate: Allocate
  ): Promise<ReadonlyArray<DerivedSection>> {
    const whole: DerivedSection[] = []
    for (const { hash, id, meta, name } of sections) {
      const bytes = await readIfThere(this.fileOf(sectionName(key, id)))
      if (bytes === undefined || bytes.length !== meta.bytes || (await hashOf(bytes)) !== hash) {
        warn(`a section of collection ${key} cannot be read and is made anew`, "it is not what was written")
        continue
      }
      const region = allocate(Math.max(8, meta.bytes))
      new Uint8Array(region.buffer as ArrayBuffer, region.offset, meta.bytes).set(bytes)
      this.sound.set(sectionName(key, id), hash)
      whole.push({ id, name, meta, region })
    }
    return whole
  }

  /** Of a segment or a section, unless it is there. */
  private async saveFile(name: string, { meta, region }: Laid): Promise<void> {
    if (this.sound.has(name)) return
    this.sound.set(name, await writeWhole(this.fileOf(name), meta.bytes, region))
  }
  saveGraph(name: string, { bytes }: SegmentMeta, region: Region): Promise<string> {
    return writeWhole(join(this.graphFolder, name), bytes, region)
  }
  async saveIndex(key: number, { asked, segments }: SavedIndex, position: number): Promise<void> {
    const { env, changes, records } = this.databases
    if (!this.records.has(key)) return
    const files = new Map<string, Laid>()
    for (const segment of segments) {
      files.set(segmentName(key, segment.id), segment)
      for (const section of segment.sections) files.set(sectionName(key, section.id), section)
    }
    for (const [name, laid] of files) await this.saveFile(name, laid)
    const vectors = new Map<string, string>()
    for (const { meta } of segments)
      if (meta.outside !== undefined) vectors.set(meta.outside.name, await this.vectorFiles.sealed(meta.outside.name))
    if (vectors.size > 0) await this.vectorFiles.sealFolder()
    const folder = await openFile(join(this.path, "segments"), "r")
    await folder.sync()
    await folder.close()
    const manifest: Manifest = {
      position,
      asked,
      segments: segments.map(({ id, meta, deleted, graphs, sections }) => {
        const list = Buffer.alloc(deleted.length * 4)
        deleted.forEach((doc, i) => list.writeUInt32LE(doc, i * 4))
        const hash = this.sound.get(segmentName(key, id))
        return {
          id,
          meta,
          ...(hash === undefined ? {} : { hash }),
          ...(meta.outside === undefined ? {} : { vectors: vectors.get(meta.outside.name)! }),
          deleted: list.toString("base64"),
          graphs: graphs.map(({ record }) => record),
          sections: sections.map((section) => ({
            id: section.id,
            name: section.name,
            meta: section.meta,
            hash: this.sound.get(sectionName(key, section.id)) ?? ""
          }))
        }
      })
    }
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
    await this.removeFiles(key, files)
    await this.removeGraphs(
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
    // What failed is not waited for: nobody was told that it is stored.
    if (!this.isRefused) await this.flushed().catch(() => {})
    await this.databases.env.close()
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const readRecord = (key: number, text: string): CollectionRecord | UnreadableRecord => {
  const record = parsed(text)
  if (
    isObject(record) &&
    record.key === key &&
    typeof record.namespace === "string" &&
    isObject(record.schema) &&
    typeof record.schema.name === "string" &&
    Array.isArray(record.schema.fields) &&
    record.schema.fields.every(isObject)
  )
    return record as unknown as CollectionRecord
  const namespace = isObject(record)
    ? record.namespace
    : parsed(/"namespace":("(?:[^"\\]|\\.)*")/.exec(text)?.[1] ?? "")
  return {
    key,
    namespace: typeof namespace === "string" ? namespace : "",
    message: `The record of collection ${key} cannot be read.`
  }
}
const readCounters = (text: string): Counters | undefined => {
  const counters = parsed(text)
  return isObject(counters) &&
    ["nextSeq", "position", "documents", "bytes"].every((name) => Number.isSafeInteger(counters[name]))
    ? (counters as unknown as Counters)
    : undefined
}
const readManifest = (text: string): Manifest | undefined => {
  const manifest = parsed(text)
  const isSection = (section: unknown): boolean =>
    isObject(section) &&
    Number.isSafeInteger(section.id) &&
    typeof section.name === "string" &&
    typeof section.hash === "string" &&
    isObject(section.meta) &&
    Number.isSafeInteger(section.meta.bytes)
  const isSegment = (segment: unknown): boolean =>
    isObject(segment) &&
    Number.isSafeInteger(segment.id) &&
    isObject(segment.meta) &&
    Number.isSafeInteger(segment.meta.bytes) &&
    typeof segment.deleted === "string" &&
    (segment.meta.outside === undefined ||
      (isObject(segment.meta.outside) &&
        typeof segment.meta.outside.name === "string" &&
        Number.isSafeInteger(segment.meta.outside.bytes) &&
        typeof segment.vectors === "string")) &&
    (segment.sections === undefined || (Array.isArray(segment.sections) && segment.sections.every(isSection)))
  return isObject(manifest) &&
    Number.isSafeInteger(manifest.position) &&
    Array.isArray(manifest.segments) &&
    manifest.segments.every(isSegment)
    ? (manifest as unknown as Manifest)
    : undefined
}
const isUnit = (unit: unknown): boolean =>
  isObject(unit) &&
  typeof unit.name === "string" &&
  typeof unit.locale === "string" &&
  typeof unit.weight === "number" &&
  (unit.prefix === undefined || typeof unit.prefix === "string")
const askedOf = ({ asked }: Manifest): SavedIndex["asked"] =>
  Array.isArray(asked) && asked.every((units) => Array.isArray(units) && units.every(isUnit)) ? asked : []
/** In slices: the thread that writes has other collections too. */
const HASHED_AT_ONCE = 1_048_576
const hashOf = async (bytes: Uint8Array): Promise<string> => {
  const hash = createHash("sha1")
  for (let at = 0; at < bytes.length; at += HASHED_AT_ONCE) {
    if (at > 0) await nextTurn()
    hash.update(bytes.subarray(at, at + HASHED_AT_ONCE))
  }
  return hash.digest("base64")
}

/** Under its name only when the disk has all of it; its hash. */
const writeWhole = async (file: string, length: number, { buffer, offset }: Region): Promise<string> => {
  // The copy keeps shared memory out of the file system calls.
  const copy = new Uint8Array(buffer as ArrayBuffer, offset, length).slice()
  try {
    const handle = await openFile(`${file}.new`, "w")
    try {
      await handle.writeFile(copy)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(`${file}.new`, file)
  } catch (error) {
    await rm(`${file}.new`, { force: true })
    throw error
  }
  return hashOf(copy)
}
const readIfThere = async (path: string): Promise<Buffer | undefined> => {
  try {
    return await readFile(path)
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return undefined
    throw error
  }
}
