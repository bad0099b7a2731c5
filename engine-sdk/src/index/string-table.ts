/**
 * Sorted distinct texts of a segment, as bytes and offsets: terms of a field, verbatim facet values, sort keys. A
 * lookup is a binary search over bytes; a text is decoded to a string only when it is shown.
 */
import { compareBytes, decodeUtf8, passingUtf8, ByteLog, WordLog } from "./bytes.ts"
import type { SectionReader } from "./sections.ts"
import { firstNotBefore } from "../sorted.ts"

export class StringTable {
  readonly bytes: Uint8Array
  readonly offsets: Uint32Array
  readonly size: number
  constructor(bytes: Uint8Array, offsets: Uint32Array) {
    this.bytes = bytes
    this.offsets = offsets
    this.size = offsets.length - 1
  }
  static read(sections: SectionReader, prefix: string): StringTable {
    return new StringTable(sections.u8(prefix + "bytes"), sections.u32(prefix + "offsets"))
  }
  text(index: number): string {
    return decodeUtf8(this.bytes, this.offsets[index], this.offsets[index + 1])
  }
  /** The bytes of an entry, as a key of other tables; not a copy. */
  key(index: number): Uint8Array {
    return this.bytes.subarray(this.offsets[index], this.offsets[index + 1])
  }
  /** First entry not below `key`. O(log size). */
  lowerBound(key: Uint8Array): number {
    const { bytes, offsets, size } = this
    return firstNotBefore(0, size, (at) => compareBytes(bytes, offsets[at], offsets[at + 1], key, 0, key.length) < 0)
  }
  /** Index of an equal entry, else -1. */
  find(key: Uint8Array): number {
    const at = this.lowerBound(key)
    return at < this.size && compareBytes(this.bytes, this.offsets[at], this.offsets[at + 1], key, 0, key.length) === 0
      ? at
      : -1
  }
  findText(text: string): number {
    return this.find(passingUtf8(text))
  }
  /** One past the last entry that starts with `key`, searching from `from` (its lower bound). */
  prefixEnd(key: Uint8Array, from: number): number {
    const { bytes, offsets, size } = this
    return firstNotBefore(from, size, (at) => {
      const start = offsets[at]
      return compareBytes(bytes, start, Math.min(offsets[at + 1], start + key.length), key, 0, key.length) <= 0
    })
  }
}

/**
 * Merges sorted tables, keeping only entries that `keep` marks as used (undefined: all). Returns the merged table and,
 * per source, the new index of each entry (0xffffffff: dropped). Cost: O(total entries · sources) comparisons of
 * numbers.
 */
export function* mergeTables(
  tables: ReadonlyArray<StringTable>,
  keep: ReadonlyArray<Uint8Array | undefined>
): Generator<void, { bytes: Uint8Array; offsets: Uint32Array; moved: Uint32Array[] }> {
  const log = new ByteLog()
  const offsets = new WordLog(1_024)
  offsets.push(0)
  const count = tables.length
  const moved = tables.map((table) => new Uint32Array(table.size).fill(0xffffffff))
  const heads = new Uint32Array(count)
  /** The first bytes of each next entry as one number, which decides most comparisons; infinity past the end. */
  const leads = new Float64Array(count)
  const advance = (t: number, from: number): void => {
    const table = tables[t],
      at = nextKept(table, keep[t], from)
    heads[t] = at
    leads[t] = at < table.size ? leadOf(table, at) : Infinity
  }
  for (let t = 0; t < count; t++) advance(t, 0)
  for (let step = 1; ; step++) {
    let best = 0
    for (let t = 1; t < count; t++) {
      if (
        leads[t] < leads[best] ||
        (leads[t] === leads[best] &&
          leads[t] < Infinity &&
          compareEntries(tables[t], heads[t], tables[best], heads[best]) < 0)
      )
        best = t
    }
    const lead = leads[best]
    if (count === 0 || lead === Infinity) break
    const source = tables[best],
      entry = heads[best],
      number = offsets.length - 1
    for (let t = 0; t < count; t++) {
      if (leads[t] !== lead || (t !== best && compareEntries(tables[t], heads[t], source, entry) !== 0)) continue
      moved[t][heads[t]] = number
      advance(t, heads[t] + 1)
    }
    offsets.push(log.copy(source.bytes, source.offsets[entry], source.offsets[entry + 1]))
    if ((step & 255) === 0) yield
  }
  return { bytes: log.done(), offsets: offsets.done(), moved }
}
const LEAD_BYTES = 6
const leadOf = ({ bytes, offsets }: StringTable, entry: number): number => {
  const start = offsets[entry],
    length = Math.min(LEAD_BYTES, offsets[entry + 1] - start)
  let lead = 0
  for (let i = 0; i < LEAD_BYTES; i++) lead = lead * 256 + (i < length ? bytes[start + i] : 0)
  return lead
}
const nextKept = (table: StringTable, keep: Uint8Array | undefined, from: number): number => {
  let at = from
  if (keep !== undefined) while (at < table.size && keep[at] === 0) at++
  return at
}
const compareEntries = (a: StringTable, i: number, b: StringTable, j: number): number =>
  compareBytes(a.bytes, a.offsets[i], a.offsets[i + 1], b.bytes, b.offsets[j], b.offsets[j + 1])
