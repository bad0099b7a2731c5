/**
 * The order in which the reference engine visits equally good completions of a prefix. Its words are a radix tree,
 * visited best first through a binary heap whose comparison is not strict: among equals a new node rises, and when the
 * top is removed the left child follows. The words are then sorted by their worth, unstably (`introsort.ts`).
 *
 * The tree depends only on the set of words, not on how it was built, so it need not be stored: here, nodes are ranges
 * of the sorted words.
 */
import { introsort } from "./introsort.ts"

/** The reference visits this many times the wanted words before it chooses, and does not see any further ones. */
export const WALKED = 4
/**
 * The score of an inner node: nothing if words are ordered by frequency, that of its best word if they are ordered by a
 * field.
 */
type InnerWorth = "nothing" | "best"
interface Node {
  readonly from: number
  readonly to: number
  readonly depth: number
  readonly worth: number
}

/**
 * Indexes into `words` (bytes in byte order, distinct), best first; words that are not `kept` are visited, but not
 * ordered among the others. O(bytes + n log n).
 */
export const walkOrder = (
  words: ReadonlyArray<Uint8Array>,
  worths: ReadonlyArray<number>,
  inner: InnerWorth,
  isKept: (index: number) => boolean
): number[] => {
  const nodeOf = (from: number, to: number, depth: number): Node => {
    let worth = to - from === 1 ? worths[from] : 0
    if (to - from > 1 && inner === "best") {
      worth = worths[from]
      for (let i = from + 1; i < to; i++) if (worths[i] > worth) worth = worths[i]
    }
    return { from, to, depth, worth }
  }
  const heap: Node[] = []
  const met: number[] = []
  if (words.length > 0) rise(heap, 0, nodeOf(0, words.length, 0))
  while (heap.length > 0) {
    const node = take(heap)
    if (node.to - node.from === 1) {
      if (isKept(node.from)) met.push(node.from)
      continue
    }
    const first = words[node.from],
      last = words[node.to - 1]
    let depth = node.depth
    while (depth < first.length && first[depth] === last[depth]) depth++
    for (let from = node.from; from < node.to;) {
      // A word that ends here is treated as if it continued with a zero byte.
      const byte = words[from][depth] ?? 0
      let to = from + 1
      while (to < node.to && (words[to][depth] ?? 0) === byte) to++
      rise(heap, heap.length, nodeOf(from, to, depth + 1))
      from = to
    }
  }
  return introsort(met, (a, b) => worths[a] > worths[b])
}
/** Moves a node up from the hole while its parent is not better. */
const rise = (heap: Node[], hole: number, node: Node): void => {
  while (hole > 0) {
    const above = (hole - 1) >> 1
    if (heap[above].worth > node.worth) break
    heap[hole] = heap[above]
    hole = above
  }
  heap[hole] = node
}
/** Removes the top: the hole sinks to a leaf, and the last node fills it and rises. */
const take = (heap: Node[]): Node => {
  const top = heap[0],
    last = heap.pop()!
  if (heap.length === 0) return top
  let hole = 0
  for (;;) {
    const left = hole * 2 + 1,
      right = left + 1
    if (left >= heap.length) break
    const child = right < heap.length && heap[right].worth > heap[left].worth ? right : left
    heap[hole] = heap[child]
    hole = child
  }
  rise(heap, hole, last)
  return top
}
