/**
 * Whether an id may be in a collection at all: most documents of an import are new, and looking for each in every segment
 * would be a tenth of the work. A Bloom filter (Bloom 1970) of three bits in twelve per id: about one new id in fifty is
 * looked for in vain. Ids that were removed stay in it until it is built anew.
 */
const BITS_PER_ID = 12
const IDS_MIN = 4_096

export class IdFilter {
  private readonly bits: Uint32Array
  private readonly most: number
  private size = 0
  /** `ids`: how many there will be at least. */
  constructor(ids: number) {
    let words = 1
    while (words * 32 < Math.max(ids * 2, IDS_MIN) * BITS_PER_ID) words *= 2
    this.bits = new Uint32Array(words)
    this.most = Math.floor(words * 32 / BITS_PER_ID)
  }
  /** Too many are in it: build a larger one. */
  get isFull(): boolean { return this.size >= this.most }
  add(hash: number): void {
    this.size++
    const mask = this.bits.length - 1
    const a = mixed(hash, 0x85ebca6b), b = mixed(hash, 0x9e3779b1) | 1
    for (let i = 0; i < 3; i++) { const bit = a + Math.imul(i, b); this.bits[(bit >>> 5) & mask] |= 1 << (bit & 31) }
  }
  mayHold(hash: number): boolean {
    const mask = this.bits.length - 1
    const a = mixed(hash, 0x85ebca6b), b = mixed(hash, 0x9e3779b1) | 1
    for (let i = 0; i < 3; i++) { const bit = a + Math.imul(i, b); if ((this.bits[(bit >>> 5) & mask] & (1 << (bit & 31))) === 0) return false }
    return true
  }
}
/** Every bit of the hash on every bit of the result (the finalizer of MurmurHash3): only the low ones are used. */
const mixed = (hash: number, factor: number): number => {
  let h = Math.imul(hash ^ (hash >>> 16), factor)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
