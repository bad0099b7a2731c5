/**
 * Numbers for words, in the order they come: UTF-8 bytes behind an open-addressed table, so that a word that is known costs
 * neither a string nor an allocation.
 */
import { HASH_PRIME, HASH_SEED } from "../analysis/ascii-tokens.ts"
import { byteOrder } from "./byte-order.ts"
import { compareBytes, decodeUtf8, writeUtf8 } from "./bytes.ts"
import type { SectionWriter } from "./sections.ts"

let scratch = new Uint8Array(4_096)

export class TokenTable {
  private bytes = new Uint8Array(256)
  private starts: Uint32Array
  private hashes: Uint32Array
  /** Number + 1, 0 = free; never more than half full. */ private slots: Uint32Array
  size = 0
  /** Room for so many words at once. Small unless it is known: a single upsert makes some thirty of these, an import doubles them a few times. */
  constructor(words = 31) {
    let room = 32
    while (room < words + 1) room *= 2
    this.starts = new Uint32Array(room)
    this.hashes = new Uint32Array(room)
    this.slots = new Uint32Array(room * 2)
  }
  text(id: number): string { return decodeUtf8(this.bytes, this.starts[id], this.starts[id + 1]) }
  /** The same as `idOf`, hashed here. */
  idOfBytes(source: Uint8Array, start: number, end: number): number { return this.idOf(source, start, end, hashOf(source, start, end)) }
  /** Number of a word that may not be there, else -1. */
  find(word: Uint8Array): number {
    const hash = hashOf(word, 0, word.length), mask = this.slots.length - 1
    for (let slot = spread(hash) & mask; this.slots[slot] !== 0; slot = (slot + 1) & mask) {
      const id = this.slots[slot] - 1
      if (this.hashes[id] === hash && compareBytes(this.bytes, this.starts[id], this.starts[id + 1], word, 0, word.length) === 0) return id
    }
    return -1
  }
  /** Expected O(length). */
  idOf(source: Uint8Array, start: number, end: number, hash: number): number {
    const mask = this.slots.length - 1
    const { bytes, hashes, slots, starts } = this
    let slot = spread(hash) & mask
    for (let at = slots[slot]; at !== 0; slot = (slot + 1) & mask, at = slots[slot]) {
      const id = at - 1
      if (hashes[id] !== hash) continue
      const from = starts[id]
      if (starts[id + 1] - from !== end - start) continue
      let i = start
      for (let j = from; i < end && source[i] === bytes[j]; i++, j++) { /* next */ }
      if (i === end) return id
    }
    return this.add(source, start, end, hash, slot)
  }
  idOfText(text: string): number {
    const { length } = text
    if (length * 3 > scratch.length) scratch = new Uint8Array(length * 6)
    let hash = HASH_SEED
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i)
      if (code >= 0x80) return this.idOfOther(text)
      scratch[i] = code
      hash = Math.imul(hash ^ code, HASH_PRIME)
    }
    return this.idOf(scratch, 0, length, hash >>> 0)
  }
  private idOfOther(text: string): number {
    return this.idOfBytes(scratch, 0, writeUtf8(text, scratch, 0))
  }
  /**
   * Puts every word in byte order, as `StringTable` reads them. Answers the table and the rank of each number.
   * Cost: sorting their bytes; no word becomes a string.
   */
  put(out: SectionWriter, prefix: string): { readonly bytes: Uint8Array; readonly offsets: Uint32Array; readonly rank: Uint32Array } {
    const { size, starts } = this
    const order = byteOrder(this.bytes, starts, size)
    const bytes = new Uint8Array(starts[size]), offsets = new Uint32Array(size + 1), rank = new Uint32Array(size)
    let to = 0
    for (let i = 0; i < size; i++) {
      const id = order[i]
      rank[id] = i
      for (let from = starts[id]; from < starts[id + 1]; from++) bytes[to++] = this.bytes[from]
      offsets[i + 1] = to
    }
    out.put(prefix + "bytes", bytes)
    out.put(prefix + "offsets", offsets)
    return { bytes, offsets, rank }
  }
  private add(source: Uint8Array, start: number, end: number, hash: number, slot: number): number {
    const id = this.size++
    const from = this.starts[id], to = from + end - start
    if (to > this.bytes.length) { const wider = new Uint8Array(Math.max(to, this.bytes.length * 2)); wider.set(this.bytes); this.bytes = wider }
    for (let i = start, j = from; i < end; i++, j++) this.bytes[j] = source[i]
    if (id + 2 > this.starts.length) {
      const starts = new Uint32Array(this.starts.length * 2), hashes = new Uint32Array(this.hashes.length * 2)
      starts.set(this.starts)
      hashes.set(this.hashes)
      this.starts = starts
      this.hashes = hashes
    }
    this.starts[id + 1] = to
    this.hashes[id] = hash
    this.slots[slot] = id + 1
    if (this.size * 2 > this.slots.length) this.grow()
    return id
  }
  private grow(): void {
    const slots = new Uint32Array(this.slots.length * 2), mask = slots.length - 1
    for (let id = 0; id < this.size; id++) {
      let slot = spread(this.hashes[id]) & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = id + 1
    }
    this.slots = slots
  }
}
const hashOf = (bytes: Uint8Array, start: number, end: number): number => {
  let hash = HASH_SEED
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i], HASH_PRIME)
  return hash >>> 0
}
/** The low bits pick the slot; those of FNV alone lie close together for short words. */
const spread = (hash: number): number => Math.imul(hash ^ (hash >>> 15), 0x45d9f3b) >>> 0
