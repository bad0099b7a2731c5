/**
 * Sorted texts, each with a changeable score: finds the best of those with a given prefix without visiting the others.
 * A sorted list under a tree of maxima. Pure; memory of 16 bytes an entry in addition to the texts.
 */

/** The listed text: the part of the entry's text from `from` on. */
export interface Place {
  readonly entry: number
  readonly from: number
}

const YIELD_MASK = 4_095

export class SortedTexts {
  readonly #texts: ReadonlyArray<string>
  readonly #entries: Uint32Array
  readonly #froms: Uint16Array
  /** Layout of a binary heap: leaf i is `#width + i`, a node holds the greater of its two children. */
  readonly #best: Float64Array
  readonly #width: number

  private constructor(texts: ReadonlyArray<string>, places: number) {
    this.#texts = texts
    this.#entries = new Uint32Array(places)
    this.#froms = new Uint16Array(places)
    this.#width = 1
    while (this.#width < places) this.#width *= 2
    this.#best = new Float64Array(2 * this.#width).fill(Number.NEGATIVE_INFINITY)
  }

  /**
   * `sorted` by the listed text, in UTF-16 order. `texts` by entry. O(places), with a yield after every few thousand.
   */
  static *build(
    texts: ReadonlyArray<string>,
    sorted: ReadonlyArray<Place>,
    scoreOf: (entry: number) => number
  ): Generator<void, SortedTexts> {
    const made = new SortedTexts(texts, sorted.length)
    for (let i = 0; i < sorted.length; i++) {
      const { entry, from } = sorted[i]!
      made.#entries[i] = entry
      made.#froms[i] = from
      made.#best[made.#width + i] = scoreOf(entry)
      if ((i & YIELD_MASK) === YIELD_MASK) yield
    }
    for (let node = made.#width - 1; node > 0; node--) {
      made.#best[node] = Math.max(made.#best[2 * node]!, made.#best[2 * node + 1]!)
      if ((node & YIELD_MASK) === 0) yield
    }
    return made
  }

  #text(place: number): string {
    return this.#texts[this.#entries[place]!]!.slice(this.#froms[place])
  }

  /** Places whose text begins with `prefix`. O(log places). */
  range(prefix: string): readonly [first: number, behind: number] {
    const first = this.#firstWhere((text) => text >= prefix)
    return [first, this.#firstWhere((text) => text > prefix && !text.startsWith(prefix), first)]
  }
  #firstWhere(holds: (text: string) => boolean, from = 0): number {
    let low = from,
      high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (holds(this.#text(middle))) high = middle
      else low = middle + 1
    }
    return low
  }

  /**
   * Entries of a range, best first, ties in text order; never those with score -Infinity. `take` returns false when it
   * has enough. O(log entries) each.
   */
  best(first: number, behind: number, take: (entry: number, score: number) => boolean): void {
    // Nodes that together cover the rest of the range, best first; few, so a sorted list is a good enough heap.
    const open: Array<number> = []
    const push = (node: number) => {
      const score = this.#best[node]!
      if (score === Number.NEGATIVE_INFINITY) return
      let low = 0,
        high = open.length
      while (low < high) {
        const middle = (low + high) >>> 1
        const other = open[middle]!
        const otherScore = this.#best[other]!
        if (otherScore < score || (otherScore === score && this.#firstLeaf(other) > this.#firstLeaf(node)))
          low = middle + 1
        else high = middle
      }
      open.splice(low, 0, node)
    }
    for (let left = first + this.#width, right = behind + this.#width; left < right; left >>= 1, right >>= 1) {
      if ((left & 1) === 1) push(left++)
      if ((right & 1) === 1) push(--right)
    }
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (node >= this.#width) {
        if (!take(this.#entries[node - this.#width]!, this.#best[node]!)) return
        continue
      }
      push(2 * node)
      push(2 * node + 1)
    }
  }
  #firstLeaf(node: number): number {
    while (node < this.#width) node *= 2
    return node
  }

  /** Changes the score of one place. O(log places). */
  rescore(text: string, from: number, entry: number, score: number): void {
    const [first, behind] = this.range(text.slice(from))
    for (let place = first; place < behind; place++) {
      if (this.#entries[place] !== entry || this.#froms[place] !== from) continue
      let node = place + this.#width
      this.#best[node] = score
      for (node >>= 1; node > 0; node >>= 1)
        this.#best[node] = Math.max(this.#best[2 * node]!, this.#best[2 * node + 1]!)
      return
    }
  }

  get bytes(): number {
    return this.#entries.byteLength + this.#froms.byteLength + this.#best.byteLength
  }
}
