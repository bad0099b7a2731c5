/** Shingles of texts as hashes, cached between searches, because the same titles are compared again and again. */
import { TextCache } from "../analysis/text-cache.ts"
import { queryWords } from "../rules/condition-index.ts"
import { slotOf } from "../slots.ts"

const CACHED_BYTES = 16_000_000

/**
 * Each shingle once, ascending. A text of n words has at most n + 1 shingles, one without words has none. Different
 * shingles share a hash in one of 2³² pairs.
 */
const shinglesOf = (text: string): Int32Array => {
  const words = queryWords(text)
  const found = new Set<number>()
  if (words.length > 0)
    for (let i = 0, left = 0; i <= words.length; i++) {
      const right = i < words.length ? hashOf(words[i]) : 0
      found.add(Math.imul(left, 0x9e3779b1) ^ right)
      left = right
    }
  return Int32Array.from(found).sort()
}
const cached = new TextCache(shinglesOf, { bytes_max: CACHED_BYTES, bytesOf: (shingles) => shingles.byteLength })
export const hashedShingles = (text: string): Int32Array => cached.get(text)

/** FNV-1a over the UTF-16 units, mixed once more; never 0, which marks the ends of a text. */
const hashOf = (word: string): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193)
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) | 1
}

/**
 * Numbers from 0 for hashes, in the order in which they are first looked up; an open-addressing table that is never
 * more than half full.
 */
export class HashNumbers {
  readonly #hashes: Int32Array
  readonly #numbers: Int32Array
  #size = 0
  /** `most`: maximum number of different hashes that will be looked up. */
  constructor(most: number) {
    let size = 16
    while (size < most * 2) size *= 2
    this.#hashes = new Int32Array(size)
    this.#numbers = new Int32Array(size)
  }
  of(hash: number): number {
    const slot = slotOf(this.#numbers, hash ^ (hash >>> 16), (_number, at) => this.#hashes[at] === hash)
    if (this.#numbers[slot] === 0) {
      this.#hashes[slot] = hash
      this.#numbers[slot] = ++this.#size
    }
    return this.#numbers[slot] - 1
  }
}
