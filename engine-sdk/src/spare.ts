/**
 * Temporary space for a search, as many numbers as a field has values. Allocating it each time would mean fresh pages
 * for each search, and garbage whose collection stops the thread: at a million values, 12 MB per facet. So it is kept
 * and reused; searches of a thread do not overlap, and whoever takes the space is done with it before it is taken
 * again.
 */

/** Maximum numbers in the shared space; a larger request gets its own array. */
const KEPT_MAX = 4 * 1024 * 1024

export class SpareNumbers {
  private kept = new Uint32Array(0)

  /** Returns `size` numbers with arbitrary content. */
  take(size: number): Uint32Array {
    if (size > KEPT_MAX) return new Uint32Array(size)
    // Half as much again, so that a growing field does not reallocate at every search.
    if (this.kept.length < size) this.kept = new Uint32Array(Math.min(KEPT_MAX, size + (size >>> 1)))
    return this.kept.subarray(0, size)
  }
  /** Returns `size` zeros. */
  zeros(size: number): Uint32Array {
    return this.take(size).fill(0)
  }
}
