/**
 * Whether an id may be in a collection at all. Most documents of an import are new, and looking each up in every
 * segment would be a tenth of the work. A Bloom filter (Bloom 1970) of three bits in twelve per id: about one new id in
 * fifty is looked up in vain. Removed ids stay in it until it is rebuilt.
 */
const BITS_PER_ID = 12
const IDS_MIN = 4_096

/** A filter that grows: when it is full, one of twice the size takes further ids, and no ids are read again. */
export class IdFilters {
  private readonly filters: IdFilter[]
  /** Number of ids in the filter, including removed ones; at twice the number of documents a rebuild pays off. */
  ids: number
  /** `ids`: expected minimum number of ids. */
  constructor(ids: number) {
    this.ids = 0
    this.filters = [new IdFilter(ids)]
  }
  /** An id that is replaced repeatedly counts once. */
  add(hash: number): void {
    if (this.mayHold(hash)) return
    let last = this.filters[this.filters.length - 1]
    if (last.isFull) this.filters.push((last = new IdFilter(this.ids)))
    this.ids++
    last.add(hash)
  }
  mayHold(hash: number): boolean {
    for (const filter of this.filters) if (filter.mayHold(hash)) return true
    return false
  }
}

export class IdFilter {
  private readonly bits: Uint32Array
  private readonly most: number
  private size = 0
  /** `ids`: expected minimum number of ids. */
  constructor(ids: number) {
    let words = 1
    while (words * 32 < Math.max(ids * 2, IDS_MIN) * BITS_PER_ID) words *= 2
    this.bits = new Uint32Array(words)
    this.most = Math.floor((words * 32) / BITS_PER_ID)
  }
  /** Whether it contains so many ids that a larger one is needed. */
  get isFull(): boolean {
    return this.size >= this.most
  }
  add(hash: number): void {
    this.size++
    const mask = this.bits.length - 1
    const a = mixed(hash, 0x85ebca6b),
      b = mixed(hash, 0x9e3779b1) | 1
    for (let i = 0; i < 3; i++) {
      const bit = a + Math.imul(i, b)
      this.bits[(bit >>> 5) & mask] |= 1 << (bit & 31)
    }
  }
  mayHold(hash: number): boolean {
    const mask = this.bits.length - 1
    const a = mixed(hash, 0x85ebca6b),
      b = mixed(hash, 0x9e3779b1) | 1
    for (let i = 0; i < 3; i++) {
      const bit = a + Math.imul(i, b)
      if ((this.bits[(bit >>> 5) & mask] & (1 << (bit & 31))) === 0) return false
    }
    return true
  }
}
/** The finalizer of MurmurHash3: every bit of the hash affects every bit of the result. Only its low bits are used. */
const mixed = (hash: number, factor: number): number => {
  let h = Math.imul(hash ^ (hash >>> 16), factor)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
