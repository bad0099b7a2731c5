/**
 * Search in sorted sequences of any layout: the caller's predicate reads the entry at an index. It must be true of the
 * first entries and false of all others.
 */

/** The first index from `low` on at which `isBefore` is false, else `high`. O(log (high - low)) calls. */
export const firstNotBefore = (low: number, high: number, isBefore: (index: number) => boolean): number => {
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * The same for an index that is expected near `low`: doubling strides, then a binary search. O(log of the distance)
 * calls.
 */
export const gallop = (low: number, high: number, isBefore: (index: number) => boolean): number => {
  let stride = 1
  while (low + stride <= high && isBefore(low + stride - 1)) {
    low += stride
    stride *= 2
  }
  return firstNotBefore(low, Math.min(high, low + stride - 1), isBefore)
}
