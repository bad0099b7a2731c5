/**
 * Room that a search needs for a moment, as many numbers as a field has values. Made anew it would be fresh pages for
 * each search, and garbage that the runtime's collector stops the thread for: at a million values 12 MB a facet. So it
 * is kept and used again; searches of a thread do not overlap, and whoever takes a room is done with it before it is
 * taken again.
 */

/** Numbers that the shared room holds; a larger request gets an array of its own. */
const KEPT_MAX = 4 * 1024 * 1024

export class SpareNumbers {
  private kept = new Uint32Array(0)

  /** `size` numbers that hold anything. */
  take(size: number): Uint32Array {
    if (size > KEPT_MAX) return new Uint32Array(size)
    // Half as much again: a field that grows does not ask for a new one at every search.
    if (this.kept.length < size) this.kept = new Uint32Array(Math.min(KEPT_MAX, size + (size >>> 1)))
    return this.kept.subarray(0, size)
  }
  /** `size` zeros. */
  zeros(size: number): Uint32Array {
    return this.take(size).fill(0)
  }
}
