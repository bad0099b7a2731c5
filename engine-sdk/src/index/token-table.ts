/**
 * Numbers for words, in the order they come: UTF-8 bytes behind an open-addressed table, so that a word that is known costs
 * neither a string nor an allocation.
 */
import { HASH_PRIME, HASH_SEED } from "../analysis/ascii-tokens.ts"
import { decodeUtf8, encodeUtf8 } from "./bytes.ts"

export class TokenTable {
  private bytes = new Uint8Array(8_192)
  private starts = new Uint32Array(1_024)
  private hashes = new Uint32Array(1_024)
  /** Number + 1, 0 = free; never more than half full. */ private slots = new Uint32Array(2_048)
  size = 0
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
    const source = encodeUtf8(text)
    let hash = HASH_SEED
    for (let i = 0; i < source.length; i++) hash = Math.imul(hash ^ source[i], HASH_PRIME)
    return this.idOf(source, 0, source.length, hash >>> 0)
  }
  /** Every word, by number. */
  texts(): string[] {
    const texts = new Array<string>(this.size)
    for (let id = 0; id < texts.length; id++) texts[id] = decodeUtf8(this.bytes, this.starts[id], this.starts[id + 1])
    return texts
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
/** The low bits pick the slot; those of FNV alone lie close together for short words. */
const spread = (hash: number): number => Math.imul(hash ^ (hash >>> 15), 0x45d9f3b) >>> 0
