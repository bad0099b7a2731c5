/**
 * Reads runs: everything but the rows in one go (`openRun`), rows one after another for a merge (`RunCursor`), a single
 * fingerprint (`SealedRun`).
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs"
import { join } from "node:path"
import { FINGERPRINT_WORDS } from "@dowser/log/fingerprint"
import {
  checkedRows,
  checksumOf,
  decodeHeader,
  PAGE_BYTES,
  PAGE_WORDS,
  pageSeed,
  ROW_WORDS,
  RunCorrupt,
  type RunHeader,
  sectionsOf
} from "./run-format.ts"
import type { OpenedRun } from "./run-writer.ts"
import { filterMayHave, filterScale } from "./split-block-filter.ts"

const readAll = (fd: number, bytes: Uint8Array, position: number, run: string): void => {
  for (let at = 0; at < bytes.length;) {
    const read = readSync(fd, bytes, at, bytes.length - at, position + at)
    if (read === 0) throw new RunCorrupt(run, "it ends too early")
    at += read
  }
}

/**
 * Reads and checks the header, fences, filter and organizations; pages of rows are checked when they are read. Throws
 * `RunCorrupt`.
 */
export const openRun = (
  folder: string,
  name: string
): OpenedRun & { readonly organizations: ReadonlyMap<number, number> } => {
  const fd = openSync(join(folder, name), "r")
  try {
    const page = new Uint8Array(PAGE_BYTES)
    readAll(fd, page, 0, name)
    const header = decodeHeader(page, name)
    const at = sectionsOf(header)
    if (fstatSync(fd).size !== at.end) throw new RunCorrupt(name, "it has not the size its header tells")
    const section = (position: number, words: number, checksum: number): Uint32Array => {
      const read = new Uint32Array(words)
      readAll(fd, new Uint8Array(read.buffer), position, name)
      if (checksumOf(read) !== checksum) throw new RunCorrupt(name, "a section does not match its checksum")
      return read
    }
    const fences = section(at.fences, header.pages, header.checksums[0])
    const filter = section(at.filter, header.filterWords, header.checksums[1])
    return {
      name,
      header,
      fences: fences.buffer as ArrayBuffer,
      filter: filter.buffer as ArrayBuffer,
      organizations: organizationsOf(section(at.organizations, 2 * header.organizations, header.checksums[2]))
    }
  } finally {
    closeSync(fd)
  }
}

const organizationsOf = (words: Uint32Array): ReadonlyMap<number, number> => {
  const counts = new Map<number, number>()
  for (let i = 0; i < words.length; i += 2) if (words[i + 1]! > 0) counts.set(words[i]!, words[i + 1]!)
  return counts
}

/** Organization tags by the index that rows use for them. */
const tagsOf = (fd: number, header: RunHeader, run: string): Uint32Array => {
  const words = new Uint32Array(2 * header.organizations)
  readAll(fd, new Uint8Array(words.buffer), sectionsOf(header).organizations, run)
  return words.filter((_, i) => i % 2 === 0)
}

const CHUNK_PAGES = 256

/** Iterates over the rows of a run in order, with a megabyte of them in memory. */
export class RunCursor {
  readonly #fd: number
  readonly #name: string
  readonly #header: RunHeader
  readonly #tags: Uint32Array
  readonly #chunk = new Uint32Array(CHUNK_PAGES * PAGE_WORDS)
  #nextPage = 0
  #page = 0
  #inChunk = 0
  #row = 0
  #rows = 0

  constructor(folder: string, name: string, header: RunHeader) {
    this.#name = name
    this.#header = header
    this.#fd = openSync(join(folder, name), "r")
    this.#tags = tagsOf(this.#fd, header, name)
    this.#page = -1
    this.#nextPageOrEnd()
  }
  get isAtEnd(): boolean {
    return this.#row >= this.#rows
  }
  /** The words that contain the row at `at`. */
  get words(): Uint32Array {
    return this.#chunk
  }
  get at(): number {
    return this.#page * PAGE_WORDS + this.#row * ROW_WORDS
  }
  get tag(): number {
    return this.#tags[this.#chunk[this.at + FINGERPRINT_WORDS]! & 0xffff] ?? 0
  }
  /** Advances to the next row. Throws `RunCorrupt`. */
  next(): void {
    if (++this.#row >= this.#rows) this.#nextPageOrEnd()
  }
  #nextPageOrEnd(): void {
    this.#row = 0
    this.#rows = 0
    if (++this.#page >= this.#inChunk) {
      this.#inChunk = Math.min(CHUNK_PAGES, this.#header.pages - this.#nextPage)
      this.#page = 0
      if (this.#inChunk <= 0) return
      readAll(
        this.#fd,
        new Uint8Array(this.#chunk.buffer, 0, this.#inChunk * PAGE_BYTES),
        PAGE_BYTES * (1 + this.#nextPage),
        this.#name
      )
      this.#nextPage += this.#inChunk
    }
    this.#rows = checkedRows(
      this.#chunk,
      this.#page * PAGE_WORDS,
      this.#name,
      pageSeed(this.#header, this.#nextPage - this.#inChunk + this.#page)
    )
  }
  close(): void {
    closeSync(this.#fd)
  }
}

/** One page is enough for all look-ups, because they run one after another. */
const page = new Uint32Array(PAGE_WORDS)
const pageBytes = new Uint8Array(page.buffer)

/** A run that can be queried: the filter and the fences are in memory (2 bytes an id), the rows in the file. */
export class SealedRun {
  readonly name: string
  readonly header: RunHeader
  readonly filter: Uint32Array
  readonly scale: number
  readonly #fences: Uint32Array
  readonly #fd: number

  constructor(folder: string, { fences, filter, header, name }: OpenedRun) {
    this.name = name
    this.header = header
    this.filter = new Uint32Array(filter)
    this.scale = filterScale(this.filter)
    this.#fences = new Uint32Array(fences)
    this.#fd = openSync(join(folder, name), "r")
  }
  get bytes(): number {
    return this.filter.byteLength + this.#fences.byteLength
  }
  mayHave(words: Uint32Array, at: number): boolean {
    return filterMayHave(this.filter, this.scale, words[at]!, words[at + 1]!)
  }

  /**
   * The hour in which the fingerprint was admitted, or -1. Reads one page (rarely two): some µs if the page is in the
   * system's cache. Throws `RunCorrupt`.
   */
  hourOf(words: Uint32Array, at: number): number {
    const first = words[at]!
    let low = 0
    for (let high = this.#fences.length; low < high;) {
      const middle = (low + high) >>> 1
      if (this.#fences[middle]! <= first) low = middle + 1
      else high = middle
    }
    // The first `low` pages begin at or before it. Rows with the same first word may begin on the previous page.
    for (let index = low - 1; index >= 0; index--) {
      const hour = this.#hourIn(index, words, at)
      if (hour >= 0 || this.#fences[index]! < first) return hour
    }
    return -1
  }
  #hourIn(index: number, words: Uint32Array, at: number): number {
    readAll(this.#fd, pageBytes, PAGE_BYTES * (1 + index), this.name)
    const rows = checkedRows(page, 0, this.name, pageSeed(this.header, index))
    let low = 0
    for (let high = rows; low < high;) {
      const middle = (low + high) >>> 1
      if (page[middle * ROW_WORDS]! < words[at]!) low = middle + 1
      else high = middle
    }
    for (let row = low * ROW_WORDS; low < rows && page[row] === words[at]; low++, row += ROW_WORDS) {
      if (page[row + 1] === words[at + 1] && page[row + 2] === words[at + 2] && page[row + 3] === words[at + 3])
        return page[row + FINGERPRINT_WORDS]! >>> 16
    }
    return -1
  }
  close(): void {
    closeSync(this.#fd)
  }
}
