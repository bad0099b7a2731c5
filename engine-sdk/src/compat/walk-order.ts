/**
 * The order in which the reference engine meets equally good continuations of a prefix. Its words are a radix tree,
 * walked best first through a binary heap whose comparison is not strict: of equals the newcomer rises, and when the
 * top is taken the left child follows. The words met are then sorted by their worth, unstably (`introsort.ts`).
 *
 * The tree of a set of words is one and the same however it came about, so nothing of it has to be kept: nodes are
 * ranges of the sorted words here.
 */
import { introsort } from "./introsort.ts"

/** The reference visits this many times the wanted words before it chooses; beyond that it does not see them all. */
export const WALKED = 4
/**
 * The score of an inner node: nothing where words are ordered by frequency, its best word's where they are ordered by a
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
 * Indices into `words` (bytes in byte order, distinct), best first; words that are not `kept` are met, but not ordered
 * among the others. O(bytes + n log n).
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
      // A word that ends here comes as if it went on with a zero byte.
      const byte = words[from][depth] ?? 0
      let to = from + 1
      while (to < node.to && (words[to][depth] ?? 0) === byte) to++
      rise(heap, heap.length, nodeOf(from, to, depth + 1))
      from = to
    }
  }
  return introsort(met, (a, b) => worths[a] > worths[b])
}
/** Sifts a node up from the hole while its parent is not better. */
const rise = (heap: Node[], hole: number, node: Node): void => {
  while (hole > 0) {
    const above = (hole - 1) >> 1
    if (heap[above].worth > node.worth) break
    heap[hole] = heap[above]
    hole = above
  }
  heap[hole] = node
}
/** Takes the top: the hole sinks to a leaf, the last node fills it and rises. */
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
