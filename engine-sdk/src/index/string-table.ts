/**
 * Sorted distinct texts of a segment, as bytes and offsets: terms of a field, verbatim facet values, sort keys. Looking
 * one up is a binary search over bytes; a text becomes a string only when it is shown.
 */
import { compareBytes, decodeUtf8, encodeUtf8, ByteLog } from "./bytes.ts"
import type { SectionReader, SectionWriter } from "./sections.ts"

export class StringTable {
  readonly bytes: Uint8Array
  readonly offsets: Uint32Array
  readonly size: number
  constructor(bytes: Uint8Array, offsets: Uint32Array) {
    this.bytes = bytes
    this.offsets = offsets
    this.size = offsets.length - 1
  }
  static read(sections: SectionReader, prefix: string): StringTable { return new StringTable(sections.u8(prefix + "bytes"), sections.u32(prefix + "offsets")) }
  text(index: number): string { return decodeUtf8(this.bytes, this.offsets[index], this.offsets[index + 1]) }
  /** First entry not below `key`. O(log size). */
  lowerBound(key: Uint8Array): number {
    let low = 0, high = this.size
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareBytes(this.bytes, this.offsets[middle], this.offsets[middle + 1], key, 0, key.length) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
  /** Index of an equal entry, else -1. */
  find(key: Uint8Array): number {
    const at = this.lowerBound(key)
    return at < this.size && compareBytes(this.bytes, this.offsets[at], this.offsets[at + 1], key, 0, key.length) === 0 ? at : -1
  }
  findText(text: string): number { return this.find(encodeUtf8(text)) }
  /** One past the last entry that starts with `key`, searching from `from` (its lower bound). */
  prefixEnd(key: Uint8Array, from: number): number {
    let low = from, high = this.size
    while (low < high) {
      const middle = (low + high) >>> 1
      const start = this.offsets[middle], end = Math.min(this.offsets[middle + 1], start + key.length)
      if (compareBytes(this.bytes, start, end, key, 0, key.length) <= 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Writes a table from texts that are sorted in byte order and distinct. */
export const writeTable = (out: SectionWriter, prefix: string, sorted: ReadonlyArray<string>): { bytes: Uint8Array; offsets: Uint32Array } => {
  const log = new ByteLog()
  const offsets = new Uint32Array(sorted.length + 1)
  for (let i = 0; i < sorted.length; i++) offsets[i + 1] = log.text(sorted[i])
  const bytes = log.done()
  out.put(prefix + "bytes", bytes)
  out.put(prefix + "offsets", offsets)
  return { bytes, offsets }
}

/**
 * Merges sorted tables, keeping only entries that `keep` says are used. Answers the merged table and, per source, where
 * each entry went (0xffffffff: nowhere). Cost: O(total entries · sources).
 */
export function* mergeTables(tables: ReadonlyArray<StringTable>, keep: ReadonlyArray<Uint8Array>): Generator<void, { bytes: Uint8Array; offsets: Uint32Array; moved: Uint32Array[] }> {
  const log = new ByteLog()
  const offsets: number[] = [0]
  const moved = tables.map((table) => new Uint32Array(table.size).fill(0xffffffff))
  const heads = tables.map((table, t) => nextKept(table, keep[t], 0))
  for (let step = 1; ; step++) {
    let best = -1
    for (let t = 0; t < tables.length; t++) {
      if (heads[t] >= tables[t].size) continue
      if (best < 0 || compareEntries(tables[t], heads[t], tables[best], heads[best]) < 0) best = t
    }
    if (best < 0) break
    const source = tables[best], entry = heads[best]
    for (let t = 0; t < tables.length; t++) {
      if (heads[t] < tables[t].size && (t === best || compareEntries(tables[t], heads[t], source, entry) === 0)) moved[t][heads[t]] = offsets.length - 1
    }
    for (let t = 0; t < tables.length; t++) if (heads[t] < tables[t].size && moved[t][heads[t]] === offsets.length - 1) heads[t] = nextKept(tables[t], keep[t], heads[t] + 1)
    offsets.push(log.copy(source.bytes, source.offsets[entry], source.offsets[entry + 1]))
    if ((step & 1023) === 0) yield
  }
  return { bytes: log.done(), offsets: Uint32Array.from(offsets), moved }
}
const nextKept = (table: StringTable, keep: Uint8Array, from: number): number => {
  let at = from
  while (at < table.size && keep[at] === 0) at++
  return at
}
const compareEntries = (a: StringTable, i: number, b: StringTable, j: number): number =>
  compareBytes(a.bytes, a.offsets[i], a.offsets[i + 1], b.bytes, b.offsets[j], b.offsets[j + 1])
