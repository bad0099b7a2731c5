/**
 * Rows of numbers in a file, of which only the rows read last are in memory: the vectors of a stored segment. Reads are
 * positioned and synchronous, as searches are. Each thread opens the files it reads, a few at a time, and closes one
 * that it has not read for a second, so that a removed file frees its disk space.
 */
import { BLOCK_BYTES, RowKernel } from "./row-kernel.ts"

interface Files {
  openSync(path: string, flags: string): number
  readSync(file: number, into: Uint8Array, offset: number, length: number, position: number): number
  closeSync(file: number): void
}
interface Runtime {
  readonly getBuiltinModule?: (name: string) => unknown
}
/** Loaded on use, because a static import would exclude browsers. */
const filesHere = (): Files => {
  const files = (globalThis as { readonly process?: Runtime }).process?.getBuiltinModule?.("node:fs")
  if (files === undefined) throw new Error("Vectors in a file cannot be read here: there is no file system.")
  return files as Files
}

/** Maximum descriptors per thread. */
const OPEN_MAX = 16
const IDLE_MS = 1_000
class OpenFiles {
  readonly #files = filesHere()
  /** Open files by path; the most recently used is last. */ readonly #open = new Map<
    string,
    { readonly file: number; usedAt_ms: number }
  >()
  #timer: ReturnType<typeof setTimeout> | undefined
  read(path: string, into: Uint8Array, position: number): void {
    const file = this.#opened(path)
    for (let done = 0; done < into.length;) {
      const count = this.#files.readSync(file, into, done, into.length - done, position + done)
      if (count === 0) throw new Error(`The vectors in ${path} end too early.`)
      done += count
    }
  }
  #last: { readonly path: string; readonly file: number } | undefined
  #opened(path: string): number {
    // Rows of the same file are usually read in sequence.
    if (this.#last?.path === path) return this.#last.file
    const known = this.#open.get(path)
    const entry = known ?? { file: this.#files.openSync(path, "r"), usedAt_ms: 0 }
    entry.usedAt_ms = performance.now()
    this.#open.delete(path)
    this.#open.set(path, entry)
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= OPEN_MAX) break
      this.#close(oldest)
    }
    this.#last = { path, file: entry.file }
    this.#closeWhenIdle()
    return entry.file
  }
  #close(path: string): void {
    this.#files.closeSync(this.#open.get(path)!.file)
    this.#open.delete(path)
    if (this.#last?.path === path) this.#last = undefined
  }
  #closeWhenIdle(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      // The caller must announce further rows again.
      this.#last = undefined
      const until_ms = performance.now() - IDLE_MS
      for (const [path, { usedAt_ms }] of this.#open) if (usedAt_ms <= until_ms) this.#close(path)
      if (this.#open.size > 0) this.#closeWhenIdle()
    }, IDLE_MS)
    ;(this.#timer as { unref?: () => void }).unref?.()
  }
}
let open: OpenFiles | undefined

/** Maximum gap of rows that is read along instead of starting a new read, because both take as long. */
const GAP_ROWS = 8
/** The kernel of this thread. */
let kernel: RowKernel | undefined
let block = new Float32Array(0)
let blockOf: RowFile | undefined
let blockFrom = 0,
  blockTo = 0

const NO_ROWS = new Uint32Array(0)

export class RowFile {
  readonly #path: string
  readonly #start_bytes: number
  readonly #width: number
  readonly #rows: number
  /** Rows of `width` numbers of four bytes; the first row is at `start_bytes`. */
  constructor(path: string, start_bytes: number, width: number, rows: number) {
    this.#path = path
    this.#start_bytes = start_bytes
    this.#width = width
    this.#rows = rows
  }
  /** Announced rows, ascending, that will be requested next; rows close to each other are read together. */
  #ahead: Uint32Array = NO_ROWS
  #next = 0
  expect(rows: Uint32Array): void {
    this.#ahead = rows
    this.#next = 0
  }
  /** Number of rows to read together with this one, as far as the next ones were announced. */
  #together(row: number, most: number): number {
    const ahead = this.#ahead
    while (this.#next < ahead.length && ahead[this.#next] < row) this.#next++
    if (ahead[this.#next] !== row)
      return blockOf === this && row >= blockTo && row - blockTo <= GAP_ROWS ? (blockTo - blockFrom) * 2 : 1
    let last = row
    for (let i = this.#next + 1; i < ahead.length && ahead[i] - row < most; i++) {
      if (ahead[i] <= last || ahead[i] - last > GAP_ROWS) break
      last = ahead[i]
    }
    return last - row + 1
  }
  /** For the row that `find` returned, the same as `RowKernel.sumsOf`. */
  sumsOf(query: ArrayLike<number>, at: number): Float64Array | undefined {
    return kernel?.sumsOf(query, at, this.#width)
  }
  /** The numbers that the last `find` read. */
  get numbers(): Float32Array {
    return block
  }
  /** Index of the row in `numbers`, valid until the next call for any file. Consecutive rows are read in blocks. */
  find(row: number): number {
    const width = this.#width
    if (blockOf === this && row >= blockFrom && row < blockTo) return (row - blockFrom) * width
    const most = Math.max(1, Math.floor(BLOCK_BYTES / (4 * width)))
    const count = Math.min(this.#together(row, most), most, this.#rows - row)
    if (open === undefined) {
      open = new OpenFiles()
      kernel = RowKernel.make()
      block = kernel?.block ?? new Float32Array(BLOCK_BYTES / 4)
    }
    if (block.length < width) {
      // The kernel does not support rows of this width, so plain loops multiply them.
      kernel = undefined
      block = new Float32Array(width)
    }
    // A partial read must not be reused later.
    blockOf = undefined
    open.read(
      this.#path,
      new Uint8Array(block.buffer, block.byteOffset, count * width * 4),
      this.#start_bytes + row * width * 4
    )
    blockOf = this
    blockFrom = row
    blockTo = row + count
    return 0
  }
}
