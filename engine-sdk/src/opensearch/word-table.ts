/** The words of one field of a collection, in the form that word choice reads: sorted, with their frequencies. */
import { compareUtf8, encodeUtf8 } from "../index/bytes.ts"
import { StringTable } from "../index/string-table.ts"
import type { WordColumn } from "../search/text/candidate-words.ts"

export interface WordUse {
  /** Number of documents. */ readonly frequency: number
  /** The best value of the default sorting field among these documents. */ readonly best: number
}
const SHARED_MAX = 255

export class WordTable implements WordColumn {
  readonly terms: StringTable
  readonly shared: Uint8Array
  readonly best: Float64Array | undefined
  readonly #frequencies: Uint32Array

  /** `words` in byte order. */
  private constructor(words: ReadonlyArray<string>, useOf: (at: number) => WordUse, hasBest: boolean) {
    const encoded = words.map(encodeUtf8)
    const offsets = new Uint32Array(words.length + 1)
    for (const [i, { length }] of encoded.entries()) offsets[i + 1] = offsets[i] + length
    const bytes = new Uint8Array(offsets[words.length])
    this.shared = new Uint8Array(words.length)
    this.#frequencies = new Uint32Array(words.length)
    this.best = hasBest ? new Float64Array(words.length) : undefined
    for (const [i, word] of encoded.entries()) {
      bytes.set(word, offsets[i])
      if (i > 0) this.shared[i] = sharedBytes(encoded[i - 1], word)
      const { best, frequency } = useOf(i)
      this.#frequencies[i] = frequency
      if (this.best !== undefined) this.best[i] = best
    }
    this.terms = new StringTable(bytes, offsets)
  }
  /** O(n log n). */
  static of(uses: ReadonlyMap<string, WordUse>, hasBest: boolean): WordTable {
    const words = [...uses.keys()].sort(compareUtf8)
    return new WordTable(words, (at) => uses.get(words[at])!, hasBest)
  }
  frequency(term: number): number {
    return this.#frequencies[term]
  }
  get bytes(): number {
    const { best, shared, terms } = this
    return terms.bytes.length + terms.offsets.byteLength + shared.length * 5 + (best?.byteLength ?? 0)
  }
  /** Adds the words of more documents. */
  with(more: ReadonlyMap<string, WordUse>): WordTable {
    const uses = new Map<string, WordUse>()
    for (let term = 0; term < this.terms.size; term++)
      uses.set(this.terms.text(term), { frequency: this.#frequencies[term], best: this.best?.[term] ?? -Infinity })
    for (const [word, use] of more) {
      const known = uses.get(word)
      uses.set(
        word,
        known === undefined ? use : { frequency: known.frequency + use.frequency, best: Math.max(known.best, use.best) }
      )
    }
    return WordTable.of(uses, this.best !== undefined)
  }
}
const sharedBytes = (a: Uint8Array, b: Uint8Array): number => {
  const most = Math.min(a.length, b.length, SHARED_MAX)
  let n = 0
  while (n < most && a[n] === b[n]) n++
  return n
}
