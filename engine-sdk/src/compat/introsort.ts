/**
 * An unstable sort with a defined order of equal items: introspective sort as implemented by the GNU C++ standard
 * library (median of three to the front, unguarded partition, heap sort of ranges that are divided too often, insertion
 * sort below seventeen items). Used only where the reference engine's order of equal items follows from it.
 */
const SMALL = 16
type IsBefore<A> = (a: A, b: A) => boolean

/** Sorts in place, `isBefore` items first. O(n log n). */
export const introsort = <A>(items: A[], isBefore: IsBefore<A>): A[] => {
  const divide = (first: number, end: number, divisions: number): void => {
    let left = divisions
    while (end - first > SMALL) {
      if (left === 0) return heapSort(items, first, end, isBefore)
      left--
      medianToFront(items, first, end, isBefore)
      const cut = partition(items, first, end, isBefore)
      divide(cut, end, left)
      end = cut
    }
  }
  divide(0, items.length, 2 * (31 - Math.clz32(items.length)))
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
const swap = <A>(items: A[], a: number, b: number): void => {
  const kept = items[a]
  items[a] = items[b]
  items[b] = kept
}
/** Median of the second, the middle and the last item. */
const medianToFront = <A>(items: A[], first: number, end: number, isBefore: IsBefore<A>): void => {
  const a = first + 1,
    b = first + ((end - first) >> 1),
    c = end - 1
  const before = (x: number, y: number): boolean => isBefore(items[x], items[y])
  const median = before(a, b) ? (before(b, c) ? b : before(a, c) ? c : a) : before(a, c) ? a : before(b, c) ? c : b
  swap(items, first, median)
}
const partition = <A>(items: A[], first: number, end: number, isBefore: IsBefore<A>): number => {
  let low = first + 1,
    high = end
  for (;;) {
    while (isBefore(items[low], items[first])) low++
    high--
    while (isBefore(items[first], items[high])) high--
    if (low >= high) return low
    swap(items, low++, high)
  }
}

const heapSort = <A>(items: A[], first: number, end: number, isBefore: IsBefore<A>): void => {
  const length = end - first
  for (let parent = (length - 2) >> 1; parent >= 0; parent--)
    settle(items, first, length, parent, items[first + parent], isBefore)
  for (let last = end - 1; last > first; last--) {
    const item = items[last]
    items[last] = items[first]
    settle(items, first, last - first, 0, item, isBefore)
  }
}
/** Fills the hole of a heap of `length` items from its children down to a leaf, then lets the item rise from there. */
const settle = <A>(items: A[], first: number, length: number, top: number, item: A, isBefore: IsBefore<A>): void => {
  let hole = top
  for (;;) {
    let child = 2 * hole + 2
    if (child > length) break
    if (child === length || isBefore(items[first + child], items[first + child - 1])) child--
    items[first + hole] = items[first + child]
    hole = child
  }
  while (hole > top) {
    const parent = (hole - 1) >> 1
    if (!isBefore(items[first + parent], item)) break
    items[first + hole] = items[first + parent]
    hole = parent
  }
  items[first + hole] = item
}
