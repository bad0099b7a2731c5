/**
 * Words to listen for, looked up by a decoder letter by letter. They are sorted, so that words with a common beginning
 * are adjacent, and a beginning is a range of words. Pure.
 */

/** The words from `from` to before `to`, which share the same `depth` first letters. */
export interface Beginning {
  readonly from: number
  readonly to: number
  readonly depth: number
}

export class Lexicon {
  readonly #words: ReadonlyArray<string>
  readonly all: Beginning

  constructor(words: Iterable<string>) {
    // By code units, as they are compared below.
    this.#words = [...new Set(words)].toSorted((a, b) => (a < b ? -1 : 1))
    this.all = { from: 0, to: this.#words.length, depth: 0 }
  }
  /** The range for one more letter; undefined if no word continues so. O(log words). */
  step(beginning: Beginning, code: number): Beginning | undefined {
    const from = this.#first(code, beginning)
    const to = this.#first(code + 1, beginning)
    return from < to ? { from, to, depth: beginning.depth + 1 } : undefined
  }
  /** Whether it is a complete word, not only a beginning. */
  isWord({ depth, from }: Beginning): boolean {
    return depth > 0 && this.#words[from]!.length === depth
  }
  /** The rest of each word of the range. */
  rests({ depth, from, to }: Beginning): ReadonlyArray<string> {
    return this.#words.slice(from, to).map((word) => word.slice(depth))
  }
  /** The first word of the range whose letter at `depth` is at least `code`; a word that ends there sorts first. */
  #first(code: number, { depth, from, to }: Beginning): number {
    let low = from,
      high = to
    while (low < high) {
      const middle = (low + high) >> 1
      const word = this.#words[middle]!
      if (word.length > depth && word.charCodeAt(depth) >= code) high = middle
      else low = middle + 1
    }
    return low
  }
}
