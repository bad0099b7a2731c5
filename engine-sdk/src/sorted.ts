/**
 * Search in sorted sequences of any layout: the caller's predicate reads the entry at an index. It must be true of the
 * first entries and false of all others. And selection by rank, where sorting would be too much.
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

/**
 * The largest of the first `size` values (`rank` 1), the second largest (2), and so on; they are reordered. Expected
 * O(size) (quickselect, Hoare 1961, with the median of three as the pivot).
 */
export const nthLargest = (values: Float64Array, size: number, rank: number): number => {
  const at = rank - 1
  let low = 0,
    high = size - 1
  while (low < high) {
    const pivot = medianOf(values[low], values[(low + high) >>> 1], values[high])
    let i = low,
      j = high
    while (i <= j) {
      while (values[i] > pivot) i++
      while (values[j] < pivot) j--
      if (i > j) break
      const value = values[i]
      values[i++] = values[j]
      values[j--] = value
    }
    if (at <= j) high = j
    else if (at >= i) low = i
    else break
  }
  return values[at]
}
const medianOf = (a: number, b: number, c: number): number => Math.max(Math.min(a, b), Math.min(Math.max(a, b), c))
