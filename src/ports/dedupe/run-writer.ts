/** Writes one run: rows in order, then its index. The file gets its name only once all of it is on disk. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"
import { FINGERPRINT_WORDS } from "@dowser/log/fingerprint"
import {
  checksumOf,
  encodeHeader,
  finishPage,
  type LogRange,
  ORGANIZATIONS_MAX,
  PAGE_BYTES,
  PAGE_ROWS,
  PAGE_WORDS,
  pageSeed,
  ROW_WORDS,
  type RunHeader,
  runName
} from "./run-format.ts"
import { filterAdd, filterScale, filterWords } from "./split-block-filter.ts"
import { compareRows } from "./sort-rows.ts"

const CHUNK_PAGES = 256
/** The suffix of a file while it is being written; such files are removed at start. */
const UNFINISHED_SUFFIX = ".new"

/** A finished run for the front: how to find it, and what a look-up checks before the file. */
export interface OpenedRun {
  readonly name: string
  readonly header: RunHeader
  /** First word of each page's first row. */ readonly fences: ArrayBuffer
  readonly filter: ArrayBuffer
}

const writeAll = (fd: number, bytes: Uint8Array): void => {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at)
}
/** A file name is durable only after its folder has been synced. */
export const syncFolder = (folder: string): void => {
  // Windows cannot open folders; its renames are in the journal of the volume.
  if (process.platform === "win32") return
  const fd = openSync(folder, "r")
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

export class RunWriter {
  readonly #folder: string
  readonly #identity: LogRange & { readonly mark: string; readonly generation: number }
  readonly #name: string
  readonly #fd: number
  readonly #chunk = new Uint32Array(CHUNK_PAGES * PAGE_WORDS)
  readonly #bytes = new Uint8Array(this.#chunk.buffer)
  readonly #filter: Uint32Array
  readonly #scale: number
  readonly #fences: Uint32Array
  readonly #indexes = new Map<number, number>([[0, 0]])
  readonly #counts: Array<number> = [0]
  readonly #last = new Uint32Array(ROW_WORDS)
  #count = 0
  #pages = 0
  #inChunk = 0
  #inPage = 0
  #hourFirst = 65_535
  #hourLast: number
  #isOpen = true

  /**
   * `idsMax` is the most rows that the run can have; it determines the filter's size. `hourLast` belongs to what the
   * run covers, even if none of its rows is left.
   */
  constructor(
    folder: string,
    identity: LogRange & { readonly mark: string; readonly generation: number },
    idsMax: number,
    hourLast = 0
  ) {
    this.#hourLast = hourLast
    this.#folder = folder
    this.#identity = identity
    this.#name = runName(identity)
    this.#filter = new Uint32Array(filterWords(idsMax))
    this.#scale = filterScale(this.#filter)
    this.#fences = new Uint32Array(Math.ceil(idsMax / PAGE_ROWS))
    this.#fd = openSync(this.#unfinished, "w")
    writeAll(this.#fd, new Uint8Array(PAGE_BYTES))
  }
  get #unfinished(): string {
    return join(this.#folder, this.#name + UNFINISHED_SUFFIX)
  }

  /** Number of rows by organization so far. */
  get organizations(): ReadonlyMap<number, number> {
    return new Map(
      [...this.#indexes].map(([tag, index]) => [tag, this.#counts[index]!] as const).filter(([, count]) => count > 0)
    )
  }

  /**
   * Adds the row at `rows[at]`, of this organization; it must not be smaller than the last one. An equal fingerprint
   * only updates the hour.
   */
  add(rows: Uint32Array, at: number, tag: number): void {
    const hour = rows[at + FINGERPRINT_WORDS]! >>> 16
    this.#hourFirst = Math.min(this.#hourFirst, hour)
    this.#hourLast = Math.max(this.#hourLast, hour)
    const isEqual = this.#count > 0 && compareRows(this.#last, 0, rows, at) === 0
    if (isEqual) {
      const packed = this.#last[FINGERPRINT_WORDS]!
      if (packed >>> 16 >= hour) return
      this.#last[FINGERPRINT_WORDS] = ((hour << 16) | (packed & 0xffff)) >>> 0
    } else {
      this.#flushLast()
      for (let i = 0; i < FINGERPRINT_WORDS; i++) this.#last[i] = rows[at + i]!
      const index = this.#indexOf(tag)
      this.#counts[index]!++
      this.#last[FINGERPRINT_WORDS] = ((hour << 16) | index) >>> 0
      this.#count++
    }
  }

  #indexOf(tag: number): number {
    let index = this.#indexes.get(tag)
    if (index === undefined) {
      if (this.#counts.length >= ORGANIZATIONS_MAX) return 0
      this.#indexes.set(tag, (index = this.#counts.length))
      this.#counts.push(0)
    }
    return index
  }

  /** The last row is held back in case an equal one follows; only then is it written to its page. */
  #flushLast(): void {
    if (this.#count === 0) return
    if (this.#inPage === 0) this.#fences[this.#pages] = this.#last[0]!
    const to = this.#inChunk * PAGE_WORDS + this.#inPage * ROW_WORDS
    for (let i = 0; i < ROW_WORDS; i++) this.#chunk[to + i] = this.#last[i]!
    filterAdd(this.#filter, this.#scale, this.#last[0]!, this.#last[1]!)
    if (++this.#inPage === PAGE_ROWS) this.#finishPage()
  }
  #finishPage(): void {
    const at = this.#inChunk * PAGE_WORDS
    this.#chunk.fill(0, at + this.#inPage * ROW_WORDS, at + PAGE_WORDS)
    finishPage(this.#chunk, at, this.#inPage, pageSeed(this.#identity, this.#pages))
    this.#inPage = 0
    this.#pages++
    if (++this.#inChunk === CHUNK_PAGES) this.#flushChunk()
  }
  #flushChunk(): void {
    writeAll(this.#fd, this.#bytes.subarray(0, this.#inChunk * PAGE_BYTES))
    this.#inChunk = 0
  }

  /** Writes everything to disk under the run's name. */
  finish(): OpenedRun {
    this.#flushLast()
    if (this.#inPage > 0) this.#finishPage()
    this.#flushChunk()
    const fences = this.#fences.slice(0, this.#pages)
    const organizations = new Uint32Array(this.#indexes.size * 2)
    for (const [tag, index] of this.#indexes) organizations.set([tag, this.#counts[index]!], index * 2)
    const header: RunHeader = {
      version: 1,
      ...this.#identity,
      count: this.#count,
      hourFirst: this.#count === 0 ? 0 : this.#hourFirst,
      hourLast: this.#hourLast,
      pages: this.#pages,
      filterWords: this.#filter.length,
      organizations: this.#indexes.size,
      checksums: [checksumOf(fences), checksumOf(this.#filter), checksumOf(organizations)]
    }
    for (const section of [fences, this.#filter, organizations])
      writeAll(this.#fd, new Uint8Array(section.buffer, section.byteOffset, section.byteLength))
    const page = encodeHeader(header)
    for (let at = 0; at < page.length;) at += writeSync(this.#fd, page, at, page.length - at, at)
    fsyncSync(this.#fd)
    closeSync(this.#fd)
    this.#isOpen = false
    renameSync(this.#unfinished, join(this.#folder, this.#name))
    syncFolder(this.#folder)
    return { name: this.#name, header, fences: fences.buffer, filter: this.#filter.buffer as ArrayBuffer }
  }

  /** Ends without leaving a file. */
  abandon(): void {
    if (this.#isOpen) closeSync(this.#fd)
    rmSync(this.#unfinished, { force: true })
  }
}
