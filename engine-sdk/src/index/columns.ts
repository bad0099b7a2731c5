/**
 * The columns of a segment as a search reads them: text postings, value ordinals, numbers, points, sort keys, vectors.
 * Each class is a set of views over the segment's bytes; they are built in `builders.ts` and merged in `merge.ts`.
 */
import { hasBit, type Bits } from "./bits.ts"
import { isDense, type ListSet, type ListSets } from "./list-sets.ts"
import { RowFile } from "./row-file.ts"
import type { Ordinals, SectionReader } from "./sections.ts"
import { StringTable } from "./string-table.ts"
import { firstNotBefore } from "../sorted.ts"

/** Marks a posting with several positions, which are spilled: their count, then `element << 16 | position` for each. */
export const SPILLED = 0x80000000

/** The inverted text of one field. `locs` holds for each posting its only position, or an index into `spill`. */
export class TextColumn {
  readonly terms: StringTable
  /** Number of bytes that each term shares with the one before it (at most 255). */ readonly shared: Uint8Array
  /** Best default sorting value among a term's documents, if the schema has such a field. */ readonly best:
    | Float64Array
    | undefined
  readonly starts: Uint32Array
  readonly docs: Uint32Array
  readonly locs: Uint32Array
  readonly spill: Uint32Array
  /** Number of tokens per document of a plain field; 0 = no value. */ readonly lengths: Uint16Array | undefined
  /** For array fields: index of each document's first token count. */ readonly elementStarts: Uint32Array | undefined
  readonly elementLengths: Uint16Array | undefined
  readonly isArray: boolean
  private readonly sets: ListSets | undefined
  private readonly at: number
  /** `sets` are shared by the columns of a segment; `at` is this column's index. */
  constructor(sections: SectionReader, prefix: string, sets?: ListSets, at = 0) {
    this.sets = sets
    this.at = at
    this.terms = StringTable.read(sections, prefix + "terms.")
    this.shared = sections.u8(prefix + "shared")
    this.best = sections.has(prefix + "best") ? sections.f64(prefix + "best") : undefined
    this.starts = sections.u32(prefix + "starts")
    this.docs = sections.u32(prefix + "docs")
    this.locs = sections.u32(prefix + "locs")
    this.spill = sections.u32(prefix + "spill")
    this.isArray = sections.has(prefix + "elementStarts")
    this.lengths = this.isArray ? undefined : sections.u16(prefix + "lengths")
    this.elementStarts = this.isArray ? sections.u32(prefix + "elementStarts") : undefined
    this.elementLengths = this.isArray ? sections.u16(prefix + "elementLengths") : undefined
  }
  /** Number of tokens of one value; a plain field has only element 0. */
  lengthOf(doc: number, element: number): number {
    return this.lengths !== undefined ? this.lengths[doc] : this.elementLengths![this.elementStarts![doc] + element]
  }
  private shortest: Uint16Array | undefined
  /** Number of tokens of the shortest value that contains the term; computed once per term, by reading its postings. */
  shortestOf(term: number): number {
    const known = (this.shortest ??= new Uint16Array(this.terms.size))
    if (known[term] !== 0) return known[term]
    let least = 0xffff
    for (let p = this.starts[term], end = this.starts[term + 1]; p < end && least > 1; p++) {
      const doc = this.docs[p]
      if (this.lengths !== undefined) {
        if (this.lengths[doc] < least) least = this.lengths[doc]
        continue
      }
      // Any element counts, even one without the term, because only a bound is needed.
      for (let e = this.elementStarts![doc], last = this.elementStarts![doc + 1]; e < last; e++)
        if (this.elementLengths![e] > 0 && this.elementLengths![e] < least) least = this.elementLengths![e]
    }
    return (known[term] = Math.max(1, least))
  }
  frequency(term: number): number {
    return this.starts[term + 1] - this.starts[term]
  }
  /**
   * The term's documents as a set, if there are enough of them; with `onlyKnown`, only if the set already exists.
   * Unless the segment has stored sets, the first use reads the postings.
   */
  setOf(term: number, onlyKnown = false): ListSet | undefined {
    const { sets } = this
    if (sets === undefined || !isDense(this.frequency(term), sets.docs)) return undefined
    const stored = sets.storedOf(this.at, term)
    if (stored !== undefined) return stored
    const key = this.at * 0x1_0000_0000 + term
    return (
      sets.get(key) ?? (onlyKnown ? undefined : sets.make(key, this.docs, this.starts[term], this.starts[term + 1]))
    )
  }
  /** The set if all threads share it; unlike a thread's own, it stays valid as long as the segment. */
  storedSetOf(term: number): ListSet | undefined {
    return this.sets?.storedOf(this.at, term)
  }
  /** Index of the posting of `doc`, else -1. O(log postings). */
  posting(term: number, doc: number): number {
    const { docs } = this,
      end = this.starts[term + 1]
    const at = firstNotBefore(this.starts[term], end, (index) => docs[index] < doc)
    return at < end && docs[at] === doc ? at : -1
  }
}

/** Verbatim values (facets, groups, references to strings): ordinals into a sorted table. */
export class ValueColumn {
  readonly table: StringTable
  /** If documents have a single value: ordinal + 1, 0 = none. */ readonly single: Ordinals | undefined
  readonly starts: Uint32Array | undefined
  /** Ordinals in document order, including repeats. */ readonly ordinals: Uint32Array | undefined
  private repeats: boolean | undefined
  /** `repeats`: whether a document repeats a value, if known. */
  constructor(sections: SectionReader, prefix: string, repeats?: boolean) {
    this.repeats = repeats
    this.table = StringTable.read(sections, prefix + "table.")
    if (sections.has(prefix + "single")) this.single = sections.ordinals(prefix + "single")
    else {
      this.starts = sections.u32(prefix + "starts")
      this.ordinals = sections.u32(prefix + "ordinals")
    }
  }
  /** Whether some document contains a value twice; computed once. */
  get hasRepeats(): boolean {
    if (this.repeats !== undefined) return this.repeats
    const work = this.lookingForRepeats()
    for (;;) {
      const step = work.next()
      if (step.done === true) return step.value
    }
  }
  /** Like `hasRepeats`, in steps. */
  *lookingForRepeats(): Generator<void, boolean> {
    if (this.repeats !== undefined) return this.repeats
    const { starts, ordinals } = this
    if (starts === undefined || ordinals === undefined) return (this.repeats = false)
    for (let doc = 0, looked = 0; doc + 1 < starts.length; doc++) {
      const count = starts[doc + 1] - starts[doc]
      // For many values a `Set` finds repeats, because comparing each value with those before it is quadratic.
      if (count > PAIRS_MAX) {
        if (new Set(ordinals.subarray(starts[doc], starts[doc + 1])).size < count) return (this.repeats = true)
      } else
        for (let i = starts[doc] + 1; i < starts[doc + 1]; i++)
          for (let j = starts[doc]; j < i; j++) if (ordinals[i] === ordinals[j]) return (this.repeats = true)
      if ((looked += 1 + count) >= LOOKED_MAX) {
        looked = 0
        yield
      }
    }
    return (this.repeats = false)
  }
}

/** Maximum values of a document that are compared pairwise, and values examined between two chances to yield. */
const PAIRS_MAX = 32,
  LOOKED_MAX = 16_384

type NumberArray = Int32Array | Float32Array | Float64Array | Uint8Array
/** Numbers and booleans (0/1). `big` holds the exact values if an int64 needs more than 53 bits. */
export class NumberColumn {
  readonly values: NumberArray
  readonly big: BigInt64Array | undefined
  readonly has: Bits | undefined
  readonly starts: Uint32Array | undefined
  constructor(sections: SectionReader, prefix: string) {
    this.values = sections.numbers(prefix + "values")
    this.big = sections.has(prefix + "big") ? sections.i64(prefix + "big") : undefined
    if (sections.has(prefix + "starts")) this.starts = sections.u32(prefix + "starts")
    else this.has = sections.u32(prefix + "has")
  }
  /** The first value of a document, or undefined. */
  first(doc: number): number | undefined {
    if (this.starts !== undefined)
      return this.starts[doc] < this.starts[doc + 1] ? this.values[this.starts[doc]] : undefined
    return hasBit(this.has!, doc) ? this.values[doc] : undefined
  }
}

/** Points as latitude and longitude in alternation; polygons are runs of points. */
export class GeoColumn {
  readonly starts: Uint32Array
  readonly coordinates: Float64Array
  constructor(sections: SectionReader, prefix: string) {
    this.starts = sections.u32(prefix + "starts")
    this.coordinates = sections.f64(prefix + "coordinates")
  }
}

/** Normalized sort keys: ordinal + 1 into a sorted table, 0 = missing. */
export class SortColumn {
  readonly table: StringTable
  readonly ordinals: Uint32Array
  constructor(sections: SectionReader, prefix: string) {
    this.table = StringTable.read(sections, prefix + "table.")
    this.ordinals = sections.u32(prefix + "ordinals")
  }
}

/** Vectors in single precision, in the segment's file if it has one, else in memory. */
export class VectorColumn {
  readonly has: Bits
  readonly dimensions: number
  readonly bytes: number
  /** The array that `find` returns an index into. */ numbers: Float32Array
  private readonly file: RowFile | undefined
  constructor(sections: SectionReader, prefix: string, docs: number) {
    const outside = sections.outside(prefix + "values")
    this.has = sections.u32(prefix + "has")
    this.numbers = outside === undefined ? sections.f32(prefix + "values") : NOTHING_READ
    const count = outside?.count ?? this.numbers.length
    this.bytes = count * 4
    this.dimensions = docs === 0 ? 0 : count / docs
    if (outside !== undefined) this.file = new RowFile(outside.path, outside.start_bytes, this.dimensions, docs)
  }
  get isInFile(): boolean {
    return this.file !== undefined
  }
  /** Index of a document's vector in `numbers`. Valid until the next vector is requested. */
  find(doc: number): number {
    const { file } = this
    if (file === undefined) return doc * this.dimensions
    const at = file.find(doc)
    this.numbers = file.numbers
    return at
  }
  /** For the vector that `find` returned, the same as `RowKernel.sumsOf`; undefined if a plain loop must compute it. */
  sumsOf(query: ArrayLike<number>, at: number): Float64Array | undefined {
    return this.file?.sumsOf(query, at)
  }
  /** Announces, in ascending order, the documents whose vectors will be requested next. */
  expect(docs: Uint32Array): void {
    this.file?.expect(docs)
  }
  /** Valid as long as the result of `find`. */
  vector(doc: number): Float32Array {
    const at = this.find(doc)
    return this.numbers.subarray(at, at + this.dimensions)
  }
  /** Valid as long as the segment; must not be modified. */
  lasting(doc: number): Float32Array {
    return this.file === undefined ? this.vector(doc) : this.vector(doc).slice()
  }
}
const NOTHING_READ = new Float32Array(0)

/** Calls `visit` with the values of a document, in its order. */
export const eachOrdinal = (column: ValueColumn, doc: number, visit: (ordinal: number) => void): void => {
  if (column.single !== undefined) {
    if (column.single[doc] !== 0) visit(column.single[doc] - 1)
  } else for (let i = column.starts![doc]; i < column.starts![doc + 1]; i++) visit(column.ordinals![i])
}
