/**
 * Files of an index: segments, sections, graphs and vectors. Each gets its final name only when all of it is on disk,
 * and is identified by its hash. If a file is missing, short or altered, the caller rebuilds it.
 */
import { createHash } from "node:crypto"
import { open as openFile, readdir, readFile, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import type { DerivedSection } from "../index/derived-sections.ts"
import type { Allocate, Region, SegmentMeta } from "../index/sections.ts"
import type { GraphRecord } from "../index/vector-graph.ts"
import { warn } from "../warning.ts"
import { nextTurn } from "../turns.ts"
import type { StoredGraph } from "./journal.ts"
import { hasVectorsInside, withVectorsOutside } from "./move-vectors.ts"
import { isVectorFile, VectorFiles } from "./vector-files.ts"
import { type Laid, type Manifest, type ManifestSection, sectionName, segmentName } from "./lmdb-databases.ts"

/** Bytes hashed per slice, because the writing thread serves other collections, too. */
const HASHED_AT_ONCE = 1_048_576
const hashOf = async (bytes: Uint8Array): Promise<string> => {
  const hash = createHash("sha1")
  for (let at = 0; at < bytes.length; at += HASHED_AT_ONCE) {
    if (at > 0) await nextTurn()
    hash.update(bytes.subarray(at, at + HASHED_AT_ONCE))
  }
  return hash.digest("base64")
}

/** Writes a file and renames it once all of it is on disk; returns its hash. */
const writeWhole = async (file: string, length: number, { buffer, offset }: Region): Promise<string> => {
  // Copied, so that shared memory is never passed to file system calls.
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

export class IndexFiles {
  readonly graphFolder: string
  readonly vectorFiles: VectorFiles
  readonly #folder: string
  /**
   * Segment files whose bytes are verified, because they were read or written here, and their hashes. A file left by a
   * crash may carry the number of a later segment.
   */
  readonly #sound = new Map<string, string | undefined>()

  constructor(path: string) {
    this.#folder = join(path, "segments")
    this.graphFolder = join(path, "graphs")
    this.vectorFiles = new VectorFiles(path)
  }
  /** Marks the files of a collection as no longer verified. */
  doubt(key: number): void {
    for (const name of this.#sound.keys()) if (name.startsWith(`${key}-`)) this.#sound.delete(name)
  }
  #fileOf(name: string): string {
    return join(this.#folder, name)
  }
  async removeFiles(key: number, keep: { readonly has: (name: string) => boolean }): Promise<void> {
    for (const name of await readdir(this.#folder))
      if (name.startsWith(`${key}-`) && !keep.has(name)) {
        this.#sound.delete(name)
        await rm(join(this.#folder, name), { force: true })
      }
  }

  /** Removes graphs of segments up to `last` that are not kept. Graphs of later segments may still be written. */
  async removeGraphs(key: number, keep: ReadonlySet<number>, last: number): Promise<void> {
    for (const name of await readdir(this.graphFolder)) {
      const [owner, segment] = name.split("-").map(Number)
      // Files written by older versions are of no use.
      if (owner === key && segment <= last && (!keep.has(segment) || name.endsWith(".usearch")))
        await rm(join(this.graphFolder, name), { force: true })
    }
  }

  /** undefined if the segment's file, or the file of its vectors, is missing, short or altered. */
  async loadSegment(
    key: number,
    { hash, id, meta, vectors = "" }: Manifest["segments"][number],
    allocate: Allocate
  ): Promise<Laid | undefined> {
    const bytes = await readIfThere(this.#fileOf(segmentName(key, id)))
    if (
      bytes === undefined ||
      bytes.length !== meta.bytes ||
      (hash !== undefined && (await hashOf(bytes)) !== hash) ||
      !(await this.#hasVectors(key, meta, vectors))
    )
      return undefined
    const laid = await this.#laidOut(key, meta, bytes, allocate)
    if (laid.meta === meta) this.#sound.set(segmentName(key, id), hash)
    return laid
  }
  /** Hash, by name, of a file that was saved here. */
  hashOf(name: string): string | undefined {
    return this.#sound.get(name)
  }
  /** The segment unchanged, or with its vectors moved to a file if an older version stored them inside. */
  async #laidOut(key: number, meta: SegmentMeta, bytes: Uint8Array, allocate: Allocate): Promise<Laid> {
    if (hasVectorsInside(meta)) return withVectorsOutside(meta, bytes, allocate, this.vectorFiles.of(key))
    const region = allocate(Math.max(8, meta.bytes)),
      { outside } = meta
    new Uint8Array(region.buffer as ArrayBuffer, region.offset, meta.bytes).set(bytes)
    return {
      meta,
      region: outside === undefined ? region : { ...region, outside: this.vectorFiles.pathOf(outside.name) }
    }
  }
  /** Whether the segment's vector file exists and is unaltered, or the segment has none. */
  async #hasVectors(key: number, { outside }: SegmentMeta, hash: string): Promise<boolean> {
    return (
      outside === undefined ||
      (isVectorFile(key, outside.name) && (await this.vectorFiles.take(outside.name, outside.bytes, hash)))
    )
  }
  /** Loads graphs. An altered graph is rebuilt; until then its segment is searched exactly. */
  async loadGraphs(records: ReadonlyArray<GraphRecord>, allocate: Allocate): Promise<StoredGraph[]> {
    const whole: StoredGraph[] = []
    for (const record of records) {
      const { hash, meta, name } = record
      // Skip a file in the library's own format, which an older version wrote.
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
  /** Loads sections. A missing or altered section is rebuilt; the rest of the snapshot is not affected. */
  async loadSections(
    key: number,
    sections: ReadonlyArray<ManifestSection>,
    allocate: Allocate
  ): Promise<ReadonlyArray<DerivedSection>> {
    const whole: DerivedSection[] = []
    for (const { hash, id, meta, name } of sections) {
      const bytes = await readIfThere(this.#fileOf(sectionName(key, id)))
      if (bytes === undefined || bytes.length !== meta.bytes || (await hashOf(bytes)) !== hash) {
        warn(`a section of collection ${key} cannot be read and is made anew`, "it is not what was written")
        continue
      }
      const region = allocate(Math.max(8, meta.bytes))
      new Uint8Array(region.buffer as ArrayBuffer, region.offset, meta.bytes).set(bytes)
      this.#sound.set(sectionName(key, id), hash)
      whole.push({ id, name, meta, region })
    }
    return whole
  }

  /** Saves a segment or a section unless it is already saved. */
  async save(name: string, { meta, region }: Laid): Promise<void> {
    if (this.#sound.has(name)) return
    this.#sound.set(name, await writeWhole(this.#fileOf(name), meta.bytes, region))
  }
  saveGraph(name: string, { bytes }: SegmentMeta, region: Region): Promise<string> {
    return writeWhole(join(this.graphFolder, name), bytes, region)
  }
  /** Syncs the folder: when it resolves, the names of all its files are on disk. */
  async seal(): Promise<void> {
    const folder = await openFile(this.#folder, "r")
    await folder.sync()
    await folder.close()
  }
}
