/**
 * Numbers for the values of one facet field across the segments of a reader, so that counts of several segments can be
 * added without decoding texts. The segment with the most values is the base: its values use their ordinals as numbers
 * and need no entry. Values of other segments are looked up in the base's sorted table; those it lacks are stored as
 * bytes, because a million strings would burden every garbage collection.
 */
import { compareBytes, encodeUtf8 } from "./bytes.ts"
import type { Segment } from "./segment.ts"
import { StringTable } from "./string-table.ts"
import { TokenTable } from "./token-table.ts"
import { gallop } from "../sorted.ts"

/** Values looked up between two chances to yield. */
const STEP_MASK = 127
/** Maximum number of values for which space is reserved (32 MB); beyond it, space grows on demand. */
const EXTRAS_ROOM_MAX = 2_000_000
const NO_TABLE = new StringTable(new Uint8Array(0), new Uint32Array(1))

export class FieldDictionary {
  /** Its bytes are read as long as this dictionary is used; a reader drops both together. */ readonly base:
    | Segment
    | undefined
  private readonly field: string
  private readonly table: StringTable
  private readonly extras: TokenTable
  private readonly maps = new WeakMap<Segment, Uint32Array>()
  /** The reader's version for which all of its segments were mapped. */ version = -1
  /** `others`: number of values of segments other than the base, to reserve space for them. */
  constructor(field: string, base: Segment | undefined, others = 0) {
    this.field = field
    this.extras = new TokenTable(Math.min(others, EXTRAS_ROOM_MAX))
    this.base = base
    this.table = base?.values(field)?.table ?? NO_TABLE
    if (base !== undefined) this.maps.set(base, firstNumbers(this.table.size))
  }
  /** Exclusive upper bound of all numbers. Grows while segments are mapped. */
  get size(): number {
    return this.table.size + this.extras.size
  }
  text(id: number): string {
    return id < this.table.size ? this.table.text(id) : this.extras.text(id - this.table.size)
  }
  /** Number of a value; call it after a segment that has the value was mapped. */
  idOf(text: string): number | undefined {
    const key = encodeUtf8(text),
      at = this.table.find(key)
    if (at >= 0) return at
    const extra = this.extras.find(key)
    return extra < 0 ? undefined : this.table.size + extra
  }
  isMapped(segment: Segment): boolean {
    return this.maps.has(segment)
  }
  /** The number of each ordinal of the segment; computed once per segment. */
  ordinalsOf(segment: Segment): Uint32Array | undefined {
    const known = this.maps.get(segment)
    if (known !== undefined) return known
    const work = this.mapping(segment)
    for (;;) {
      const step = work.next()
      if (step.done === true) return step.value
    }
  }
  /** Like `ordinalsOf`, in steps. Cost: O(values · log of the gaps between them in the base's table). */
  *mapping(segment: Segment): Generator<void, Uint32Array | undefined> {
    const known = this.maps.get(segment)
    if (known !== undefined) return known
    const table = segment.values(this.field)?.table
    if (table === undefined) return undefined
    const map = new Uint32Array(table.size),
      { bytes, offsets } = table
    for (let ordinal = 0, from = 0; ordinal < table.size; ordinal++) {
      if ((ordinal & STEP_MASK) === STEP_MASK) yield
      const start = offsets[ordinal],
        end = offsets[ordinal + 1]
      // Both tables are sorted, so the next value is at or after the index of the last one.
      from = lowerBoundFrom(this.table, from, bytes, start, end)
      if (
        from < this.table.size &&
        compareBytes(this.table.bytes, this.table.offsets[from], this.table.offsets[from + 1], bytes, start, end) === 0
      ) {
        map[ordinal] = from++
        continue
      }
      map[ordinal] = this.table.size + this.extras.idOfBytes(bytes, start, end)
    }
    this.maps.set(segment, map)
    return map
  }
}

/** First entry from `from` on that is not below the key: doubling strides, then a binary search. */
const lowerBoundFrom = (
  { bytes, offsets, size }: StringTable,
  from: number,
  key: Uint8Array,
  start: number,
  end: number
): number => gallop(from, size, (at) => compareBytes(bytes, offsets[at], offsets[at + 1], key, start, end) < 0)

let numbers = new Uint32Array(0)
/** The numbers 0, 1, 2, … in one array for all bases of the process, as long as the longest. Must not be modified. */
const firstNumbers = (count: number): Uint32Array => {
  if (count > numbers.length) {
    numbers = new Uint32Array(Math.max(count, Math.min(numbers.length * 2, count * 2)))
    for (let i = 0; i < numbers.length; i++) numbers[i] = i
  }
  return numbers.subarray(0, count)
}
