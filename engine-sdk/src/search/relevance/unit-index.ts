/**
 * The relevance ranking's own index of one segment and one unit. A unit is one name of `query_by` (a field, an object,
 * or a wildcard whose fields count as one). Postings carry counts and lengths; the words of each document are also
 * stored in order, for pairs of words and for document vectors. Immutable like the segment, derived from stored
 * documents on first use, and removed with the segment.
 */
import { ByteLog, encodeUtf8, hashBytes, sortingUtf8, WordLog } from "../../index/bytes.ts"
import { sharing as sharingPrefixes } from "../../index/text-builder.ts"
import { StringTable } from "../../index/string-table.ts"
import type { WordAnalyzer } from "./words.ts"

/** Separates two values of a unit: words on either side of it are never adjacent. */
export const GAP = 0
/** Ends the words at positions; the parts of joined words follow it. */
export const PARTS = 1
/** Term numbers in streams start after the two markers. */
export const FIRST_TERM = 2
const NO_TERM = 0xffffffff
const WORDS_MAX = 0x7fff
/** Maximum characters read of one text: more than `WORDS_MAX` words of usual length, in a hundred milliseconds. */
const CHARACTERS_MAX = 262_144
/** Characters of a text that are read between two chances to yield. */
const PIECE_CHARACTERS = 8_192
/** Cost of a value in addition to its characters, in characters. */
const VALUE_CHARACTERS = 8
const COUNT_MAX = 255
/** Lengths below this one are written beside the counts. */
export const LONG = 255
/** A root that occurs once, before the length is added. */
const ONCE = 256

export class UnitIndex {
  readonly docs: number
  /** Roots, sorted. */ readonly terms: StringTable
  /** Identity of a root across segments and units; a collision barely changes a cosine. */ readonly hashes: Uint32Array
  readonly starts: Uint32Array
  readonly postingDocs: Uint32Array
  /**
   * Of each posting, how often the root occurs in the document (255 at most), times 256, plus the document's length
   * (`LONG` at most): what a posting weighs is read front to back, not looked up by document.
   */
  readonly occurrences: Uint16Array
  /** Words as written (lower case), sorted; completions and spellings are looked up here. */ readonly surfaces: {
    readonly terms: StringTable
    readonly shared: Uint8Array
    readonly termOf: Uint32Array
  }
  readonly streamStarts: Uint32Array
  readonly stream: Uint16Array | Uint32Array
  /** Number of words at positions, per document. */ readonly lengths: Uint16Array
  readonly lengthTotal: number
  /** Number of documents that have the unit. */ readonly docsWith: number
  readonly bytes: number
  constructor(parts: Omit<UnitIndex, "bytes" | "frequency">) {
    this.docs = parts.docs
    this.terms = parts.terms
    this.hashes = parts.hashes
    this.starts = parts.starts
    this.postingDocs = parts.postingDocs
    this.occurrences = parts.occurrences
    this.surfaces = parts.surfaces
    this.streamStarts = parts.streamStarts
    this.stream = parts.stream
    this.lengths = parts.lengths
    this.lengthTotal = parts.lengthTotal
    this.docsWith = parts.docsWith
    const { surfaces } = parts
    const arrays = [
      parts.terms.bytes,
      parts.terms.offsets,
      parts.hashes,
      parts.starts,
      parts.postingDocs,
      parts.occurrences,
      surfaces.terms.bytes,
      surfaces.terms.offsets,
      surfaces.shared,
      surfaces.termOf,
      parts.streamStarts,
      parts.stream,
      parts.lengths
    ]
    this.bytes = arrays.reduce((sum, array) => sum + array.byteLength, 0)
  }
  frequency(term: number): number {
    return this.starts[term + 1] - this.starts[term]
  }
}

/** Words between two chances to yield, less one. */
const STEP_MASK = 8_191
function* tabling(sorted: ReadonlyArray<string>): Generator<void, StringTable> {
  const log = new ByteLog()
  const offsets = new Uint32Array(sorted.length + 1)
  for (let i = 0; i < sorted.length; i++) {
    if ((i & STEP_MASK) === STEP_MASK) yield
    offsets[i + 1] = log.text(sorted[i])
  }
  return new StringTable(log.done().slice(), offsets)
}

/** Collects documents in order; every document of the segment is closed once, with or without words. */
export class UnitBuilder {
  private readonly analyzer: WordAnalyzer
  /** Number of each surface; -1 for stop words. */ private readonly surfaceIds = new Map<string, number>()
  private readonly surfaceTerm = new WordLog()
  private readonly termIds = new Map<string, number>()
  private readonly stream = new WordLog(1024)
  private readonly starts = new WordLog()
  private readonly lengths = new WordLog()
  private readonly parts: number[] = []
  private length = 0
  private open = false
  /** Values of the document still to be read; the first one is to be read from `restAt` on. */
  private readonly rest: string[] = []
  private restFirst = 0
  private restAt = 0
  /** Characters of the document read in the current chunk. */ private taken = 0
  constructor(analyzer: WordAnalyzer) {
    this.analyzer = analyzer
    this.starts.push(0)
  }
  /** Adds a value of the document. Long values, and those after many have been read, are left to `addRest`. */
  add(text: string): void {
    if (this.taken + text.length > PIECE_CHARACTERS || this.rest.length > 0) {
      this.rest.push(text.slice(0, CHARACTERS_MAX))
      return
    }
    this.taken += text.length + VALUE_CHARACTERS
    this.addPiece(text, false)
  }
  /** Adds one chunk of the rest; false if none is left. Call it until it returns false, before closing the document. */
  addRest(): boolean {
    const { rest } = this
    for (this.taken = 0; this.restFirst < rest.length && this.taken < PIECE_CHARACTERS;) {
      const text = rest[this.restFirst],
        from = this.restAt
      // A text shorter than a chunk is never cut, because that would split a word in two.
      if (this.taken > 0 && this.taken + text.length > PIECE_CHARACTERS) break
      // Cuts between two words, if possible.
      const most = from + PIECE_CHARACTERS,
        space = text.length <= most ? -1 : text.lastIndexOf(" ", most),
        end = text.length <= most ? text.length : space > from ? space : most
      this.addPiece(text.slice(from, end), from > 0)
      this.taken += end - from + VALUE_CHARACTERS
      this.restAt = end
      if (this.length >= WORDS_MAX) this.restFirst = rest.length
      else if (end === text.length) {
        this.restFirst++
        this.restAt = 0
      }
    }
    const isLeft = rest.length > 0
    if (this.restFirst >= rest.length) {
      rest.length = 0
      this.restFirst = 0
      this.restAt = 0
    }
    return isLeft
  }
  private addPiece(text: string, isBegun: boolean): void {
    const { analyzer, stream, parts } = this
    if (this.open && !isBegun) stream.push(GAP)
    this.open = true
    for (const word of analyzer.words(text)) {
      if (this.length >= WORDS_MAX) return
      const term = this.termOf(word.surface)
      if (term >= 0) {
        stream.push(term + FIRST_TERM)
        this.length++
      }
      if (word.parts !== undefined)
        for (const part of word.parts) {
          const id = this.termOf(part)
          if (id >= 0) parts.push(id + FIRST_TERM)
        }
    }
  }
  /** Adopts the vocabulary of an index of the same unit; returns the numbers of its terms here. O(its words). */
  adopt(index: UnitIndex): Uint32Array {
    const numbers = new Uint32Array(index.terms.size)
    for (let term = 0; term < numbers.length; term++) {
      const stem = index.terms.text(term)
      let id = this.termIds.get(stem)
      if (id === undefined) this.termIds.set(stem, (id = this.termIds.size))
      numbers[term] = id
    }
    const { termOf, terms } = index.surfaces
    for (let at = 0; at < terms.size; at++) {
      const surface = terms.text(at)
      if (this.surfaceIds.has(surface)) continue
      this.surfaceIds.set(surface, this.surfaceTerm.length)
      this.surfaceTerm.push(numbers[termOf[at]])
    }
    return numbers
  }
  /** Adds the words of a document of an adopted index, instead of reading its text. */
  addFrom(index: UnitIndex, doc: number, numbers: Uint32Array): void {
    const { stream } = index
    for (let i = index.streamStarts[doc], end = index.streamStarts[doc + 1]; i < end; i++)
      this.stream.push(stream[i] < FIRST_TERM ? stream[i] : numbers[stream[i] - FIRST_TERM] + FIRST_TERM)
    this.length = index.lengths[doc]
  }
  closeDocument(): void {
    const { stream, parts } = this
    if (parts.length > 0) {
      stream.push(PARTS)
      for (const part of parts) stream.push(part)
      parts.length = 0
    }
    this.starts.push(stream.length)
    this.lengths.push(this.length)
    this.length = 0
    this.taken = 0
    this.open = false
  }
  private termOf(surface: string): number {
    const known = this.surfaceIds.get(surface)
    if (known !== undefined) return known < 0 ? -1 : this.surfaceTerm.words[known]
    if (this.analyzer.isStop(surface)) {
      this.surfaceIds.set(surface, -1)
      return -1
    }
    const stem = this.analyzer.stem(surface)
    let term = this.termIds.get(stem)
    if (term === undefined) this.termIds.set(stem, (term = this.termIds.size))
    this.surfaceIds.set(surface, this.surfaceTerm.length)
    this.surfaceTerm.push(term)
    return term
  }
  /** Builds the index, in steps. */
  *finishing(): Generator<void, UnitIndex> {
    const words = this.stream.done()
    const { isUsed, rank, stems } = yield* this.rankedStems(words)
    const stream = yield* streamOf(words, rank, stems.length)
    const streamStarts = this.starts.done().slice()
    const lengths = Uint16Array.from(this.lengths.done())
    const postings = yield* postingsOf(stream, streamStarts, stems.length, lengths)
    const surfaces = yield* this.surfacesOf(isUsed, rank)
    let lengthTotal = 0,
      docsWith = 0
    for (const length of lengths) {
      lengthTotal += length
      if (length > 0) docsWith++
    }
    yield
    const terms = yield* tabling(stems),
      hashes = new Uint32Array(stems.length)
    for (let i = 0; i < stems.length; i++) {
      if ((i & STEP_MASK) === STEP_MASK) yield
      const bytes = encodeUtf8(stems[i])
      hashes[i] = hashBytes(bytes, 0, bytes.length)
    }
    return new UnitIndex({
      docs: lengths.length,
      terms,
      ...postings,
      streamStarts,
      stream,
      lengths,
      lengthTotal,
      docsWith,
      hashes,
      surfaces
    })
  }
  /** Stems that occur in a document, sorted, and the index of each stem number among them. */
  private *rankedStems(words: Uint32Array): Generator<void, RankedStems> {
    // An adopted vocabulary may contain words whose documents no longer exist.
    const isUsed = new Uint8Array(this.termIds.size)
    for (let i = 0; i < words.length; i++) {
      if ((i & STEP_MASK) === STEP_MASK) yield
      if (words[i] >= FIRST_TERM) isUsed[words[i] - FIRST_TERM] = 1
    }
    const used: string[] = []
    for (const [stem, id] of this.termIds) if (isUsed[id] === 1) used.push(stem)
    yield
    const stems = yield* sortingUtf8(used)
    const rank = new Uint32Array(this.termIds.size)
    for (let i = 0; i < stems.length; i++) {
      if ((i & STEP_MASK) === STEP_MASK) yield
      rank[this.termIds.get(stems[i])!] = i
    }
    return { isUsed, stems, rank }
  }
  /** Words as they were written, with their stems. */
  private *surfacesOf(
    isUsed: Uint8Array,
    rank: Uint32Array
  ): Generator<void, ConstructorParameters<typeof UnitIndex>[0]["surfaces"]> {
    const written: string[] = []
    for (const [surface, id] of this.surfaceIds)
      if (id >= 0 && isUsed[this.surfaceTerm.words[id]] !== 0) written.push(surface)
    yield
    const surfaces = yield* sortingUtf8(written)
    const terms = yield* tabling(surfaces)
    const termOf = new Uint32Array(surfaces.length)
    for (let i = 0; i < surfaces.length; i++) {
      if ((i & STEP_MASK) === STEP_MASK) yield
      termOf[i] = rank[this.surfaceTerm.words[this.surfaceIds.get(surfaces[i])!]]
    }
    const shared = yield* sharingPrefixes(terms.bytes, terms.offsets)
    return { terms, shared, termOf }
  }
}
interface RankedStems {
  readonly isUsed: Uint8Array
  readonly stems: ReadonlyArray<string>
  readonly rank: Uint32Array
}
/** The words of all documents as indexes of their stems, in as few bytes as these need. */
function* streamOf(words: Uint32Array, rank: Uint32Array, stems: number): Generator<void, Uint16Array | Uint32Array> {
  const stream = stems + FIRST_TERM <= 0x10000 ? new Uint16Array(words.length) : new Uint32Array(words.length)
  for (let i = 0; i < words.length; i++) {
    if ((i & STEP_MASK) === STEP_MASK) yield
    stream[i] = words[i] < FIRST_TERM ? words[i] : rank[words[i] - FIRST_TERM] + FIRST_TERM
  }
  return stream
}
/** Documents of each stem, in order, and how often the stem occurs in them. */
function* postingsOf(
  stream: Uint16Array | Uint32Array,
  streamStarts: Uint32Array,
  stems: number,
  lengths: Uint16Array
): Generator<void, Pick<UnitIndex, "occurrences" | "postingDocs" | "starts">> {
  const docs = streamStarts.length - 1
  const starts = new Uint32Array(stems + 1),
    last = new Uint32Array(stems).fill(NO_TERM)
  for (let doc = 0; doc < docs; doc++)
    for (let i = streamStarts[doc]; i < streamStarts[doc + 1]; i++) {
      if ((i & STEP_MASK) === STEP_MASK) yield
      const term = stream[i] - FIRST_TERM
      if (term >= 0 && last[term] !== doc) {
        last[term] = doc
        starts[term + 1]++
      }
    }
  for (let t = 0; t < stems; t++) starts[t + 1] += starts[t]
  const postingDocs = new Uint32Array(starts[stems]),
    occurrences = new Uint16Array(starts[stems]),
    next = starts.slice()
  last.fill(NO_TERM)
  for (let doc = 0; doc < docs; doc++)
    for (let i = streamStarts[doc]; i < streamStarts[doc + 1]; i++) {
      if ((i & STEP_MASK) === STEP_MASK) yield
      const term = stream[i] - FIRST_TERM
      if (term < 0) continue
      if (last[term] !== doc) {
        last[term] = doc
        postingDocs[next[term]] = doc
        occurrences[next[term]++] = ONCE + Math.min(LONG, lengths[doc])
      } else if (occurrences[next[term] - 1] < COUNT_MAX * ONCE) occurrences[next[term] - 1] += ONCE
    }
  return { starts, postingDocs, occurrences }
}
