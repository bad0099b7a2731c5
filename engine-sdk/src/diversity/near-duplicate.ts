/**
 * Finds near-duplicate hits by the Jaccard similarity of their pairs of neighbouring words (shingles, Broder 1997),
 * with marked ends so that a single word has shingles too. The later of two similar hits moves behind all that differ.
 */
import { hashedShingles, HashNumbers } from "./shingles.ts"

export interface NearDuplicates {
  /** Every hit once: the distinct ones first, then the similar ones, both in their original order. */
  readonly order: ReadonlyArray<number>
  /** By similar hit: the earlier one it is most like, and how similar. */ readonly like: ReadonlyMap<number, Likeness>
}
export interface Likeness {
  readonly earlier: number
  readonly similarity: number
}
/** Hits between two checks of the time. */
const LOOKS = 4
const NO_SHINGLES = new Int32Array(0)

/**
 * A hit is compared with the earlier ones that were found distinct; hits without text are distinct from all. O(words +
 * pairs of hits that share a shingle of their prefixes). Once `isLate`, the rest counts as distinct.
 *
 * @example
 * ```ts
 * import { separateDuplicates } from "@dowser/engine-sdk/diversity"
 *
 * const { order } = separateDuplicates(["red mug", "red mug", "oak board"], 0.8)
 * order // the second mug is last
 * ```
 */
export const separateDuplicates = (
  texts: ReadonlyArray<string>,
  threshold: number,
  isLate: () => boolean = () => false
): NearDuplicates => {
  const different: number[] = [],
    similar: number[] = []
  const like = new Map<number, Likeness>()
  let isOver = false
  const held = new Prefixes(
    texts.map((text, i) => {
      isOver ||= i % LOOKS === 0 && isLate()
      return isOver ? NO_SHINGLES : hashedShingles(text)
    }),
    threshold
  )
  for (let i = 0; i < texts.length; i++) {
    isOver ||= i % LOOKS === 0 && isLate()
    const nearest = isOver ? undefined : held.nearest(i)
    if (nearest !== undefined && nearest.similarity >= threshold) {
      similar.push(i)
      like.set(i, nearest)
    } else {
      different.push(i)
      held.add(i)
    }
  }
  return { order: [...different, ...similar], like }
}

/**
 * Finds what may be similar by prefixes (Chaudhuri, Ganti and Kaushik 2006): if two sets in one global order have at
 * least similarity `threshold`, the first n − ⌈threshold · n⌉ + 1 members of both have one in common. Entries are
 * linked lists in two arrays, because a window has hundreds of them.
 */
class Prefixes {
  readonly #shingles: ReadonlyArray<Int32Array>
  readonly #threshold: number
  readonly #numbers: HashNumbers
  /** By shingle: its newest entry, plus one. */ readonly #newest: Int32Array
  /** By entry: the hit, and the previous entry, plus one. */ readonly #hits: Int32Array
  readonly #before: Int32Array
  /** By hit: the hit it was compared with last, plus one. */ readonly #compared: Int32Array
  #entries = 0
  #first = -1
  constructor(shingles: ReadonlyArray<Int32Array>, threshold: number) {
    this.#shingles = shingles
    this.#threshold = threshold
    const total = shingles.reduce((sum, own) => sum + this.#prefixOf(own), 0)
    this.#numbers = new HashNumbers(total)
    this.#newest = new Int32Array(total)
    this.#hits = new Int32Array(total)
    this.#before = new Int32Array(total)
    this.#compared = new Int32Array(shingles.length)
  }
  #prefixOf({ length }: Int32Array): number {
    return Math.min(length, length - Math.ceil(this.#threshold * length) + 1)
  }

  add(hit: number): void {
    const own = this.#shingles[hit]
    if (this.#first < 0 && own.length > 0) this.#first = hit
    for (let k = 0, prefix = this.#prefixOf(own); k < prefix; k++) {
      const shingle = this.#numbers.of(own[k])
      this.#hits[this.#entries] = hit
      this.#before[this.#entries] = this.#newest[shingle]
      this.#newest[shingle] = ++this.#entries
    }
  }
  /**
   * The earliest of the most similar hits that may reach the threshold; if none shares a shingle, the first one with
   * similarity 0.
   */
  nearest(hit: number): Likeness | undefined {
    const own = this.#shingles[hit]
    if (own.length === 0 || this.#first < 0) return undefined
    let earlier = this.#first,
      similarity = 0
    for (let k = 0, prefix = this.#prefixOf(own); k < prefix; k++) {
      for (let entry = this.#newest[this.#numbers.of(own[k])]; entry > 0; entry = this.#before[entry - 1]) {
        const other = this.#hits[entry - 1]
        if (this.#compared[other] === hit + 1) continue
        this.#compared[other] = hit + 1
        const value = jaccard(own, this.#shingles[other], this.#threshold)
        if (value > similarity || (value === similarity && other < earlier)) {
          earlier = other
          similarity = value
        }
      }
    }
    return { earlier, similarity }
  }
}
/** Similarity of two sorted sets; 0 as soon as `least` cannot be reached, usually after two or three members. */
const jaccard = (a: Int32Array, b: Int32Array, least: number): number => {
  const total = a.length + b.length
  const needed = Math.ceil((total * least) / (1 + least) - 1e-9)
  let common = 0,
    spareA = a.length - needed,
    spareB = b.length - needed
  for (let x = 0, y = 0; x < a.length && y < b.length;) {
    if (a[x] === b[y]) {
      common++
      x++
      y++
    } else if (a[x] < b[y]) {
      x++
      if (--spareA < 0) return 0
    } else {
      y++
      if (--spareB < 0) return 0
    }
  }
  return common / (total - common)
}
