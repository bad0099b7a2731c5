/**
 * How many documents have two words next to each other: a statistic of the collection like the frequency of a word,
 * except that documents must be read to find it. Pairs that were requested are cached until the next publication.
 */
import { keepTable } from "./kept-tables.ts"
import type { Lexicon } from "./lexicon.ts"
import type { UnitIndex } from "./unit-index.ts"

export interface PairFrequency {
  readonly adjacentDocs: number
  readonly nearDocs: number
}

const PAIRS_MAX = 4_096
/** Bytes of a pair's key: two words as text and two numbers. An unfinished word stands for many words. */
const PAIR_BYTES = 96

export class PairFrequencies {
  private readonly known = new Map<string, PairFrequency>()
  private readonly indexes: ReadonlyArray<UnitIndex>
  private characters = 0
  constructor(indexes: ReadonlyArray<UnitIndex>) {
    this.indexes = indexes
  }
  get bytes(): number {
    return this.known.size * PAIR_BYTES + this.characters * 2
  }
  isOf(indexes: ReadonlyArray<UnitIndex>): boolean {
    return indexes.length === this.indexes.length && indexes.every((index, i) => index === this.indexes[i])
  }
  get(pair: string): PairFrequency | undefined {
    return this.known.get(pair)
  }
  set(pair: string, frequency: PairFrequency): void {
    this.known.set(pair, frequency)
    this.characters += pair.length
    if (this.known.size <= PAIRS_MAX) return
    for (const oldest of this.known.keys()) {
      this.known.delete(oldest)
      this.characters -= oldest.length
      return
    }
  }
}

const PREFIX = "relevance pairs "
/** The pair frequencies for these units, in the collection's current state. */
export const pairFrequenciesOf = (lexicon: Lexicon): PairFrequencies => {
  const { derived, name, segments } = lexicon
  const key = PREFIX + name
  const indexes = segments.flat()
  const known = derived.get(key)
  const frequencies = known instanceof PairFrequencies && known.isOf(indexes) ? known : new PairFrequencies(indexes)
  keepTable(derived, key, frequencies)
  return frequencies
}
