/**
 * Space for the lists of documents that one search finds in one segment, reused from search to search. Allocated each
 * time, they were 17 kB of garbage per search over 100,000 products and 38 with real words, kept until the next
 * collection (`bench/README.md`).
 */

/** Larger space is not kept after its search; in numbers, so a megabyte. */
const KEPT_MAX = 1 << 18
const ROOM_MIN = 1 << 12

export class DocLists {
  private room = new Uint32Array(0)
  private used = 0

  /** Space for up to `size` numbers, with arbitrary content. Give back the rest with `keep` before the next call. */
  take(size: number): Uint32Array {
    // Lists in the previous space stay valid: they refer to it.
    if (this.used + size > this.room.length) {
      this.room = new Uint32Array(Math.max(size, Math.min(KEPT_MAX, this.room.length * 2), ROOM_MIN))
      this.used = 0
    }
    const taken = this.room.subarray(this.used, this.used + size)
    this.used += size
    return taken
  }
  /** The first `count` numbers of the space that was taken last, as a list. */
  keep(taken: Uint32Array, count: number): Uint32Array {
    this.used -= taken.length - count
    return count === taken.length ? taken : taken.subarray(0, count)
  }
  /** Called when no list is read anymore. */
  clear(): void {
    this.used = 0
    if (this.room.length > KEPT_MAX) this.room = new Uint32Array(0)
  }
}
