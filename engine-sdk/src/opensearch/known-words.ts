/**
 * A vocabulary in the form that word choice reads, plus the questions that only documents can answer: which words lead
 * to a document that may be found. An answer that is not known yet is recorded as open and assumed to be yes.
 */
import { encodeUtf8 } from "../index/bytes.ts"
import type { TextQuery } from "../plan.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import { CandidateWords, type QueryToken, type WordLookup } from "../search/text/candidate-words.ts"
import type { WordTable } from "./word-table.ts"

/** Maximum words of one question; those with a lower worth are assumed to lead nowhere. */
const WORDS_MAX = 1_000

/** Which of `words` occur in a field of documents that may be found (and that have `previous` in the same field). */
export interface WordQuestion {
  readonly field: number
  readonly previous: string | undefined
  readonly words: ReadonlyArray<string>
}
const keyOf = (field: number, previous: string | undefined): string => `${field}\n${previous ?? ""}`

/** Answers to questions about words, kept for the duration of a search. */
export class WordAnswers {
  readonly #answers = new Map<string, Map<string, boolean>>()
  of(field: number, previous: string | undefined): ReadonlyMap<string, boolean> | undefined {
    return this.#answers.get(keyOf(field, previous))
  }
  put(field: number, previous: string | undefined, words: Iterable<string>, isUsable: (word: string) => boolean): void {
    const key = keyOf(field, previous)
    const known = this.#answers.get(key) ?? new Map<string, boolean>()
    this.#answers.set(key, known)
    for (const word of words) known.set(word, isUsable(word))
  }
}

export class KnownWords implements WordLookup {
  readonly fields: ReadonlyArray<Field>
  readonly columns: ReadonlyArray<ReadonlyArray<WordTable | undefined>>
  readonly byBestValue: boolean
  readonly isRestricted: boolean
  readonly #answers: WordAnswers
  readonly #open = new Map<string, { field: number; previous: string | undefined; worths: Map<string, number> }>()
  /** Unknown words count as leading nowhere, so that every possible question is recorded. */ #isAsking = false

  /** `tables` by field of the query; undefined: the field has no words. */
  constructor(
    schema: CollectionSchema,
    query: TextQuery,
    tables: ReadonlyArray<WordTable | undefined>,
    isRestricted: boolean,
    answers: WordAnswers
  ) {
    this.fields = query.fields.map(({ field }) => schema.fields.find(({ name }) => name === field)!)
    this.columns = [tables]
    this.byBestValue = tables.some((table) => table?.best !== undefined)
    this.isRestricted = isRestricted
    this.#answers = answers
  }
  termsOf(word: string): number[] {
    const bytes = encodeUtf8(word)
    return this.columns[0].map((table) => table?.terms.find(bytes) ?? -1)
  }
  exists(field: number, word: string): boolean {
    return (this.columns[0][field]?.terms.findText(word) ?? -1) >= 0
  }
  fieldsHolding(word: string): number[] {
    const frequencies = [...this.termsOf(word)].map((term, f) => (term < 0 ? 0 : this.columns[0][f]!.frequency(term)))
    return frequencies
      .map((_frequency, f) => f)
      .filter((f) => frequencies[f] > 0)
      .sort((a, b) => frequencies[b] - frequencies[a] || a - b)
  }
  worthOf(field: number, word: Uint8Array): number {
    const table = this.columns[0][field]
    const term = table?.terms.find(word) ?? -1
    return term < 0 ? 0 : worthIn(table!, term)
  }
  isUsable(_segment: number, field: number, term: number, previous: string | undefined): boolean {
    if (!this.isRestricted && previous === undefined) return true
    const table = this.columns[0][field]!
    const word = table.terms.text(term)
    const known = this.#answers.of(field, previous)?.get(word)
    if (known !== undefined) return known
    const key = keyOf(field, previous)
    const open = this.#open.get(key) ?? { field, previous, worths: new Map<string, number>() }
    this.#open.set(key, open)
    open.worths.set(word, worthIn(table, term))
    return !this.#isAsking
  }
  /** Runs `choose` so that every question it might need is recorded. */
  asking<A>(choose: () => A): A {
    this.#isAsking = true
    try {
      return choose()
    } finally {
      this.#isAsking = false
    }
  }
  get hasQuestions(): boolean {
    return this.#open.size > 0
  }
  /** The open questions, each with its best words; the other words are assumed to lead nowhere from now on. */
  questions(): WordQuestion[] {
    return [...this.#open.values()].map(({ field, previous, worths }) => {
      const best = [...worths].sort((a, b) => b[1] - a[1]).map(([word]) => word)
      this.#answers.put(field, previous, best.slice(WORDS_MAX), () => false)
      return { field, previous, words: best.slice(0, WORDS_MAX) }
    })
  }
}
const worthIn = (table: WordTable, term: number): number => table.best?.[term] ?? table.frequency(term)

/** Chooses by what is known, and records all words that might be chosen where answers are missing. */
export class AskingWords extends CandidateWords {
  readonly #words: KnownWords
  constructor(query: TextQuery, words: KnownWords, most: number) {
    super(query, words, most)
    this.#words = words
  }
  override wordsOf(
    token: QueryToken,
    cost: number,
    previous: string | undefined,
    seen: Set<string>
  ): ReadonlyArray<string> {
    if (previous !== undefined || this.#words.isRestricted)
      this.#words.asking(() => super.wordsOf(token, cost, previous, new Set(seen)))
    return super.wordsOf(token, cost, previous, seen)
  }
}
