/**
 * Numbers for words, in order of first occurrence: UTF-8 bytes behind an open-addressing table, so that a known word
 * costs neither a string nor an allocation.
 */
import { HASH_PRIME, HASH_SEED, tokenHash } from "../analysis/ascii-tokens.ts"
import { byteOrder } from "./byte-order.ts"
import { compareBytes, decodeUtf8, writeUtf8 } from "./bytes.ts"
import { freeSlot, slotOf } from "../slots.ts"
import type { SectionWriter } from "./sections.ts"

let scratch = new Uint8Array(4_096)
/** Larger tables move to a larger array gradually, with every new word: moving half a million takes 10 ms. */
const MOVED_AT_ONCE_MAX = 16_384
/** Moving starts at three quarters of the capacity, so four words per new word suffice to finish before it is full. */
const MOVED_PER_WORD = 8
interface Room {
  readonly starts: Uint32Array
  readonly hashes: Uint32Array
  readonly slots: Uint32Array
  /** Number of words moved so far. */ moved: number
}

export class TokenTable {
  private bytes = new Uint8Array(256)
  private starts: Uint32Array
  private hashes: Uint32Array
  /** Number + 1, 0 = free; the table is never more than half full. */ private slots: Uint32Array
  private next: Room | undefined
  private nextBytes: Uint8Array<ArrayBuffer> | undefined
  private copiedBytes = 0
  size = 0
  /**
   * Reserves space for this many words. Small unless the number is known: a single upsert creates some thirty of these
   * tables, and in an import they double a few times.
   */
  constructor(words = 31) {
    let room = 32
    while (room < words + 1) room *= 2
    this.starts = new Uint32Array(room)
    this.hashes = new Uint32Array(room)
    this.slots = new Uint32Array(room * 2)
  }
  text(id: number): string {
    return decodeUtf8(this.bytes, this.starts[id], this.starts[id + 1])
  }
  /** Like `idOf`, but the hash is computed here. */
  idOfBytes(source: Uint8Array, start: number, end: number): number {
    return this.idOf(source, start, end, tokenHash(source, start, end))
  }
  /** Number of a word that may be absent, else -1. */
  find(word: Uint8Array): number {
    const hash = tokenHash(word, 0, word.length),
      { bytes, hashes, starts } = this
    const slot = slotOf(
      this.slots,
      spread(hash),
      (value) =>
        hashes[value - 1] === hash && compareBytes(bytes, starts[value - 1], starts[value], word, 0, word.length) === 0
    )
    return this.slots[slot] - 1
  }
  /** Expected O(length). */
  idOf(source: Uint8Array, start: number, end: number, hash: number): number {
    // An inlined loop, because calling `slotOf` here costs an import 14 % (docs/performance-log.md).
    const mask = this.slots.length - 1
    const { bytes, hashes, slots, starts } = this
    let slot = spread(hash) & mask
    for (let at = slots[slot]; at !== 0; slot = (slot + 1) & mask, at = slots[slot]) {
      const id = at - 1
      if (hashes[id] !== hash) continue
      const from = starts[id]
      if (starts[id + 1] - from !== end - start) continue
      let i = start
      for (let j = from; i < end && source[i] === bytes[j]; i++, j++) {
        /* Try the next slot. */
      }
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
   * Sorts the words in byte order, as `StringTable` reads them. Returns the table and the rank of each number. Cost:
   * sorting their bytes; no word is decoded to a string.
   */
  put(
    out: SectionWriter,
    prefix: string
  ): { readonly bytes: Uint8Array; readonly offsets: Uint32Array; readonly rank: Uint32Array } {
    const { size, starts } = this
    const order = byteOrder(this.bytes, starts, size)
    const bytes = new Uint8Array(starts[size]),
      offsets = new Uint32Array(size + 1),
      rank = new Uint32Array(size)
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
    const from = this.starts[id],
      to = from + end - start
    if (to * 4 > this.bytes.length * 3) this.widen(to)
    for (let i = start, j = from; i < end; i++, j++) this.bytes[j] = source[i]
    this.starts[id + 1] = to
    this.hashes[id] = hash
    this.slots[slot] = id + 1
    // Space for `slots.length / 2 - 1` words, because `starts` has one more entry.
    if (this.size * 8 > this.slots.length * 3) this.grow()
    return id
  }
  /** Moves the bytes to an array of twice the size, gradually if they are many; afterwards all of `to` is allocated. */
  private widen(to: number): void {
    const { bytes } = this
    if (this.size > MOVED_AT_ONCE_MAX && to <= bytes.length) {
      const wider = (this.nextBytes ??= new Uint8Array(bytes.length * 2))
      const used = this.starts[this.size - 1],
        copied = this.copiedBytes,
        until = Math.min(used, copied + MOVED_PER_WORD * (to - used) + 64)
      wider.set(bytes.subarray(copied, until), copied)
      this.copiedBytes = until
      return
    }
    if (to <= bytes.length) return
    const wider = this.nextBytes ?? new Uint8Array(bytes.length * 2)
    const roomy = to <= wider.length ? wider : new Uint8Array(to * 2)
    const copied = roomy === wider ? this.copiedBytes : 0
    roomy.set(bytes.subarray(copied, this.starts[this.size - 1]), copied)
    this.bytes = roomy
    this.nextBytes = undefined
    this.copiedBytes = 0
  }
  private grow(): void {
    const isFull = this.size * 2 + 2 >= this.slots.length
    if (this.size <= MOVED_AT_ONCE_MAX && !isFull) return
    const length = this.slots.length
    const next = (this.next ??= {
      starts: new Uint32Array(length),
      hashes: new Uint32Array(length),
      slots: new Uint32Array(length * 2),
      moved: 0
    })
    const until = isFull ? this.size : Math.min(this.size, next.moved + MOVED_PER_WORD)
    for (let id = next.moved; id < until; id++) {
      const hash = this.hashes[id]
      next.slots[freeSlot(next.slots, spread(hash))] = id + 1
      next.hashes[id] = hash
      next.starts[id + 1] = this.starts[id + 1]
    }
    next.moved = until
    if (!isFull) return
    this.starts = next.starts
    this.hashes = next.hashes
    this.slots = next.slots
    this.next = undefined
  }
}
/** The low bits select the slot; those of plain FNV cluster for short words. */
const spread = (hash: number): number => Math.imul(hash ^ (hash >>> 15), 0x45d9f3b) >>> 0
