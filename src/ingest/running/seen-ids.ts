/**
 * The ids of a pass as 64-bit hashes, to find what the pass did not contain. Two ids with the same hash count as one,
 * so a document that should be deleted may stay: with ten million, one pair in 370,000 passes. Never the reverse.
 *
 * Memory: at most 16 bytes per id from 10,000 ids on; 160 MB for ten million.
 */
const SHARDS = 256
/** A pass with more ids is refused, because a job may not remember more. */
export const SEEN_IDS_MAX = 10_000_000
/** A table grows by half when it is this full, so it takes between 8 / 0.85 and 8 / 0.57 bytes per id. */
const FULL = 0.85
const GROWTH = 1.5

/** FNV-1a over code units with two primes, mixed at the end as MurmurHash3 does. */
const mixed = (hash: number): number => {
  let h = hash
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
const hashOf = (id: string): readonly [high: number, low: number] => {
  let a = 0x811c9dc5,
    b = 0x9747b28c
  for (let i = 0; i < id.length; i++) {
    const unit = id.charCodeAt(i)
    a = Math.imul(a ^ unit, 0x01000193)
    b = Math.imul(b ^ unit, 0x5bd1e995) + i
  }
  // An empty slot has both halves zero, so a hash never does.
  return [mixed(a), mixed(b ^ Math.imul(a, 0x27d4eb2f)) || 1]
}

/** One of the hash tables: pairs of halves, open addressing. */
class Shard {
  #words = new Uint32Array(2 * 16)
  #size = 0
  #place(words: Uint32Array, high: number, low: number): number {
    const places = words.length / 2
    let at = low % places
    while (words[2 * at + 1] !== 0 && (words[2 * at] !== high || words[2 * at + 1] !== low))
      at = at + 1 === places ? 0 : at + 1
    return at
  }
  has(high: number, low: number): boolean {
    return this.#words[2 * this.#place(this.#words, high, low) + 1] !== 0
  }
  /** Returns false if it was already there. */
  add(high: number, low: number): boolean {
    const at = this.#place(this.#words, high, low)
    if (this.#words[2 * at + 1] !== 0) return false
    this.#words[2 * at] = high
    this.#words[2 * at + 1] = low
    if (++this.#size > FULL * (this.#words.length / 2)) this.#grow()
    return true
  }
  #grow(): void {
    const before = this.#words
    const words = new Uint32Array(2 * Math.ceil((before.length / 2) * GROWTH))
    for (let i = 0; i < before.length; i += 2) {
      if (before[i + 1] === 0) continue
      const at = this.#place(words, before[i]!, before[i + 1]!)
      words[2 * at] = before[i]!
      words[2 * at + 1] = before[i + 1]!
    }
    this.#words = words
  }
  get bytes(): number {
    return this.#words.byteLength
  }
}

export class SeenIds {
  /** Many shards, because a growing one exists twice for a moment. */
  readonly #shards = Array.from({ length: SHARDS }, () => new Shard())
  #size = 0
  get size(): number {
    return this.#size
  }
  get bytes(): number {
    return this.#shards.reduce((sum, { bytes }) => sum + bytes, 0)
  }
  get isFull(): boolean {
    return this.#size >= SEEN_IDS_MAX
  }
  add(id: string): void {
    const [high, low] = hashOf(id)
    if (this.#shards[high % SHARDS]!.add(high, low)) this.#size++
  }
  has(id: string): boolean {
    const [high, low] = hashOf(id)
    return this.#shards[high % SHARDS]!.has(high, low)
  }
}
