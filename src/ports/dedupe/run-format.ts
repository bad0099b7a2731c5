/**
 * The file of one sealed run, immutable once it has its name:
 *
 *     [header page][pages of rows, sorted by fingerprint][fences][filter][organizations]
 *
 * A row is five words: the fingerprint, then hour (high half) and index into the run's organizations (low half). A page
 * holds 204 rows and ends with their number and its checksum. Fences are the first word of each page's first row: with
 * them a look-up reads one page. The header is JSON with its checksum and those of the sections after the pages.
 */
export const ROW_WORDS = 5
export const PAGE_BYTES = 4_096
export const PAGE_WORDS = PAGE_BYTES / 4
export const PAGE_ROWS = Math.floor((PAGE_WORDS - 2) / ROW_WORDS)
const ROWS_AT = PAGE_WORDS - 2
const CHECKSUM_AT = PAGE_WORDS - 1
/** Maximum number of organizations that a run distinguishes; further ones share index 0. */
export const ORGANIZATIONS_MAX = 65_535
export const RUN_SUFFIX = ".run"

/** The part of the log that a run covers, and the mark that identifies the log. */
export interface LogRange {
  readonly from: number
  /** One past the last offset covered. */
  readonly to: number
  /** Offset and digest of the last record in the range: they differ in any other log. */
  readonly lastOffset: number
  readonly digest: number
}

export interface RunHeader extends LogRange {
  readonly version: 1
  /** Derived from the installation's key and the topic. */
  readonly mark: string
  /** Increases when a run of the same range is rewritten. */
  readonly generation: number
  readonly count: number
  readonly hourFirst: number
  readonly hourLast: number
  readonly pages: number
  readonly filterWords: number
  readonly organizations: number
  readonly checksums: readonly [fences: number, filter: number, organizations: number]
}

export class RunCorrupt extends Error {
  override readonly name = "RunCorrupt"
  readonly run: string
  constructor(run: string, reason: string) {
    super(`the run ${run} of the dedupe window is damaged: ${reason}`)
    this.run = run
  }
}

/** Checksum over words; not cryptographic. About 1 ns a word. */
export const checksumOf = (words: Uint32Array, from = 0, to = words.length, seed = 0): number => {
  let a = 0x243f6a88 ^ seed
  for (let i = from; i < to; i++) {
    a = Math.imul(a ^ words[i]!, 0x9e3779b1)
    a ^= a >>> 15
  }
  return a >>> 0
}

/** Digest of a record of the log, for `LogRange.digest`. */
export const digestOf = (appendedAt: number, value: Uint8Array): number => {
  let a = Math.imul(appendedAt % 0x7fffffff, 0x85ebca6b)
  for (let i = 0; i < value.length; i++) a = Math.imul(a ^ value[i]!, 0x01000193)
  return (a ^ (a >>> 16)) >>> 0
}

/**
 * Part of a page's checksum, so that an intact page from elsewhere is not mistaken for the requested one. `index` is
 * among the run's pages.
 */
export const pageSeed = (
  { from, generation, to }: Pick<RunHeader, "from" | "to" | "generation">,
  index: number
): number =>
  Math.imul(index + 1, 0x9e3779b1) ^ Math.imul(to | 0, 0x85ebca6b) ^ Math.imul(from | 0, 0xc2b2ae35) ^ generation

/** `words` contains only the page, or a larger chunk with the page at `at`. */
export const finishPage = (words: Uint32Array, at: number, rows: number, seed: number): void => {
  words[at + ROWS_AT] = rows
  words[at + CHECKSUM_AT] = checksumOf(words, at, at + CHECKSUM_AT, seed)
}
/** Number of rows of the page at `at`; throws `RunCorrupt`. */
export const checkedRows = (words: Uint32Array, at: number, run: string, seed: number): number => {
  const rows = words[at + ROWS_AT]!
  if (rows > PAGE_ROWS || words[at + CHECKSUM_AT] !== checksumOf(words, at, at + CHECKSUM_AT, seed))
    throw new RunCorrupt(run, "a page does not match its checksum")
  return rows
}

/** Names sort by the range that files cover, and suffice to find out which of two files replaces the other. */
export const runName = ({ from, generation, to }: Pick<RunHeader, "from" | "to" | "generation">): string =>
  `${from}-${to}.${generation}${RUN_SUFFIX}`

export const encodeHeader = (header: RunHeader): Uint8Array => {
  const page = new Uint8Array(PAGE_BYTES)
  const text = new TextEncoder().encode(JSON.stringify(header))
  page.set(text, 8)
  const words = new Uint32Array(page.buffer)
  words[0] = text.length
  words[1] = checksumOf(words, 2)
  return page
}
export const decodeHeader = (page: Uint8Array, run: string): RunHeader => {
  const words = new Uint32Array(page.buffer, page.byteOffset, PAGE_WORDS)
  if (words[0]! > PAGE_BYTES - 8 || words[1] !== checksumOf(words, 2))
    throw new RunCorrupt(run, "its header does not match its checksum")
  const header = JSON.parse(new TextDecoder().decode(page.subarray(8, 8 + words[0]!))) as RunHeader
  if (header.version !== 1) throw new RunCorrupt(run, `its version is ${String(header.version)}`)
  return header
}

/** Byte positions of the sections. */
export const sectionsOf = ({
  filterWords,
  organizations,
  pages
}: Pick<RunHeader, "pages" | "filterWords" | "organizations">) => {
  const fences = PAGE_BYTES * (1 + pages)
  const filter = fences + 4 * pages
  const tags = filter + 4 * filterWords
  return { fences, filter, organizations: tags, end: tags + 8 * organizations }
}
