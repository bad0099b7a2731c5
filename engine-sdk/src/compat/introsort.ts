/**
 * An unstable sort whose order of equals is defined: introspective sort as the C++ standard library of GNU does it
 * (median of three to the front, unguarded partition, insertion below seventeen). Only for a few items, where the
 * reference engine's order of equals follows it; its bound against degenerate input (heap sort) is left out.
 */
const SMALL = 16

/** Sorts in place, `isBefore` items first. O(n log n) expected, O(n²) at worst. */
export const introsort = <A>(items: A[], isBefore: (a: A, b: A) => boolean): A[] => {
  const swap = (a: number, b: number): void => {
    const kept = items[a]
    items[a] = items[b]
    items[b] = kept
  }
  const medianToFront = (first: number, a: number, b: number, c: number): void => {
    const before = (x: number, y: number): boolean => isBefore(items[x], items[y])
    const median = before(a, b) ? (before(b, c) ? b : before(a, c) ? c : a) : before(a, c) ? a : before(b, c) ? c : b
    swap(first, median)
  }
  const partition = (first: number, end: number): number => {
    let low = first + 1,
      high = end
    for (;;) {
      while (isBefore(items[low], items[first])) low++
      high--
      while (isBefore(items[first], items[high])) high--
      if (low >= high) return low
      swap(low++, high)
    }
  }
  const divide = (first: number, end: number): void => {
    while (end - first > SMALL) {
      medianToFront(first, first + 1, first + ((end - first) >> 1), end - 1)
      const cut = partition(first, end)
      divide(cut, end)
      end = cut
    }
  }
  divide(0, items.length)
  for (let i = 1; i < items.length; i++) {
    const item = items[i]
    let at = i
    while (at > 0 && isBefore(item, items[at - 1])) {
      items[at] = items[at - 1]
      at--
    }
    items[at] = item
  }
  return items
}
