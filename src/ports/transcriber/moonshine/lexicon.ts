/**
 * Words to listen for, as a decoder asks for them letter by letter: sorted, so that those with one beginning stand
 * together, and a beginning is a range of them. Pure.
 */

/** The words from `from` to before `to`, which begin with the same `depth` letters. */
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
  /** With one letter more; undefined where no word goes on so. O(log words). */
  step(beginning: Beginning, code: number): Beginning | undefined {
    const from = this.#first(code, beginning)
    const to = this.#first(code + 1, beginning)
    return from < to ? { from, to, depth: beginning.depth + 1 } : undefined
  }
  /** A word itself, and not only how one begins. */
  isWord({ depth, from }: Beginning): boolean {
    return depth > 0 && this.#words[from]!.length === depth
  }
  /** What the words of the range go on with. */
  rests({ depth, from, to }: Beginning): ReadonlyArray<string> {
    return this.#words.slice(from, to).map((word) => word.slice(depth))
  }
  /** Of the range, the first whose letter there is at least `code`; one that has ended there stands before all. */
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
