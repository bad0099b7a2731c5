/**
 * Turns the query text into the terms that are looked up: roots of words that some document has. A word that no
 * document has is completed (the last word), split or corrected. Known words are never corrected.
 */
import type { RelevanceQuery } from "../../plan.ts"
import { editDistance } from "../../analysis/edit-distance.ts"
import { adjacent, countPairs, type Lexicon, type Places } from "./lexicon.ts"
import { FIRST_TERM } from "./unit-index.ts"
import { wordAnalyzerOf, type Word, type WordAnalyzer } from "./words.ts"

/** One root, or several roots that one unfinished word may stand for. */
export interface QueryTerm {
  readonly stems: ReadonlyArray<string>
  readonly places: ReadonlyArray<Places>
  /** Factor of the term's score: below 1 for guesses. */ readonly factor: number
  /** The typed part of a word that was completed. */ readonly typed: string | undefined
  /** The typed form of a word that no document has. */ readonly misspelt?: string
  /** Number of occurrences of the term in the query. */ count: number
}
export interface QueryTerms {
  /** Distinct, in the order of the query. */ readonly terms: ReadonlyArray<QueryTerm>
  /** The words in order, as indexes into `terms`; neighbours form pairs. */ readonly order: ReadonlyArray<number>
  /** Neighbouring words that some documents write as one: `head set`, `headset`. */ readonly compounds: ReadonlyArray<{
    readonly a: number
    readonly b: number
    readonly joined: QueryTerm
  }>
  /** Words that no document has and that were not replaced by others. */ readonly unknown: number
}

const GUESS_FACTOR = 0.8
const WORDS_MAX = 64
const SPLIT_LENGTH_MIN = 6
const SPLIT_PART_MIN = 3
const SPELLING_LENGTH_MIN = 4
const SPELLING_TWO_LENGTH_MIN = 8
/**
 * A word in a single document may itself be a misprint, unless the collection is so small that most words are in one
 * document.
 */
const SPELLING_FREQUENCY_MIN = 2
const SMALL_COLLECTION_DOCS = 1_000
const COMPLETED_LENGTH_MIN = 2
const COMPLETIONS_MAX = 64
/** If so few documents have the last word, it may be unfinished although it is a known word. */
const FINISHED_FREQUENCY_MIN = 10
/** If two halves occur together this often without being adjacent, they still count as one word. */
const TOGETHER_MIN = 3
/** Documents examined to see whether two halves belong together. */
const SPLIT_DOCS_MAX = 512
const COMPOUND_FREQUENCY_MIN = 3
const COMPOUNDS_MAX = 8
const LETTERS = /^\p{L}+$/u

interface Piece {
  readonly stems: ReadonlyArray<string>
  readonly factor: number
  readonly typed?: string
  readonly misspelt?: string
}

export class TermResolver {
  private readonly lexicon: Lexicon
  private readonly query: RelevanceQuery
  private readonly analyzer: WordAnalyzer
  constructor(lexicon: Lexicon, query: RelevanceQuery) {
    this.lexicon = lexicon
    this.query = query
    this.analyzer = wordAnalyzerOf(query.units[0].locale)
  }

  /** undefined if the text has no words other than stop words. */
  resolve(text: string): QueryTerms | undefined {
    const words = this.analyzer
      .words(text)
      .filter(({ surface }) => !this.analyzer.isStop(surface))
      .slice(0, WORDS_MAX)
    if (words.length === 0) return undefined
    const completesLast = this.query.completes && /[\p{L}\p{N}]$/u.test(text)
    const terms: QueryTerm[] = [],
      order: number[] = []
    const known = new Map<string, number>()
    let unknown = 0
    for (let i = 0; i < words.length; i++) {
      const joined = this.joined(words[i], words[i + 1])
      if (joined !== undefined) i++
      const pieces = joined ?? this.pieces(words[i], completesLast && i === words.length - 1)
      if (pieces.length === 0) unknown++
      for (const { stems, factor, misspelt, typed } of pieces) {
        const key = stems.join(" ")
        let at = known.get(key)
        if (at === undefined) {
          known.set(key, (at = terms.length))
          const places = stems.map((stem) => this.lexicon.places(stem)!)
          terms.push({ stems, factor, typed, count: 0, places, ...(misspelt === undefined ? {} : { misspelt }) })
        }
        terms[at].count++
        order.push(at)
      }
    }
    return { terms, order, unknown, compounds: this.query.corrects ? this.compounds(words, known) : [] }
  }
  /** Joins two words, at least one of them unknown, that documents write as one. */
  private joined(word: Word, next: Word | undefined): ReadonlyArray<Piece> | undefined {
    if (next === undefined || !this.query.corrects || !LETTERS.test(word.surface + next.surface)) return undefined
    const isKnown = (surface: string): boolean => this.lexicon.places(this.analyzer.stem(surface)) !== undefined
    if ((isKnown(word.surface) && isKnown(next.surface)) || !isKnown(word.surface + next.surface)) return undefined
    return [{ stems: [this.analyzer.stem(word.surface + next.surface)], factor: 1 }]
  }
  private compounds(words: ReadonlyArray<Word>, known: ReadonlyMap<string, number>): QueryTerms["compounds"] {
    return words
      .slice(1)
      .flatMap((word, i) => {
        const before = words[i].surface
        const a = known.get(this.analyzer.stem(before)),
          b = known.get(this.analyzer.stem(word.surface))
        if (a === undefined || b === undefined || a === b || !LETTERS.test(before + word.surface)) return []
        const stem = this.analyzer.stem(before + word.surface)
        const places = this.lexicon.places(stem)
        if (places === undefined || this.lexicon.frequency(places) < COMPOUND_FREQUENCY_MIN) return []
        return [{ a, b, joined: { stems: [stem], places: [places], factor: GUESS_FACTOR, typed: undefined, count: 1 } }]
      })
      .slice(0, COMPOUNDS_MAX)
  }

  private pieces(word: Word, mayBeUnfinished: boolean): ReadonlyArray<Piece> {
    const { analyzer, lexicon, query } = this
    const stem = analyzer.stem(word.surface)
    const places = lexicon.places(stem)
    if (places !== undefined) {
      if (mayBeUnfinished && word.parts === undefined && lexicon.frequency(places) < FINISHED_FREQUENCY_MIN) {
        const more = this.completions(word.surface).filter((other) => other !== stem)
        if (more.length > 0) return [{ stems: [stem, ...more], factor: 1, typed: word.surface }]
      }
      return [{ stems: [stem], factor: 1 }]
    }
    if (word.parts !== undefined) {
      const parts = word.parts.map((part) => analyzer.stem(part)).filter((part) => lexicon.places(part) !== undefined)
      if (parts.length > 0) return parts.map((part) => ({ stems: [part], factor: 1 }))
    }
    if (mayBeUnfinished) {
      const completed = this.completions(word.surface)
      if (completed.length > 0) return [{ stems: completed, factor: GUESS_FACTOR, typed: word.surface }]
    }
    if (!query.corrects) return []
    return (
      this.split(word.surface) ?? this.spelled(word.surface, mayBeUnfinished) ?? this.atBoundary(word.surface) ?? []
    )
  }

  private completions(surface: string): string[] {
    if ([...surface].length < COMPLETED_LENGTH_MIN) return []
    const stems = new Set<string>()
    this.lexicon.expand(surface, 0, true, (_surface, stem) => {
      stems.add(stem)
    })
    return this.mostFrequent(stems)
  }
  private mostFrequent(stems: Iterable<string>): string[] {
    return [...stems]
      .map((stem) => ({ stem, docs: this.lexicon.frequency(this.lexicon.places(stem)!) }))
      .sort((a, b) => b.docs - a.docs || (a.stem < b.stem ? -1 : 1))
      .slice(0, COMPLETIONS_MAX)
      .map(({ stem }) => stem)
  }

  /** Splits a text into two known words: the pair most often adjacent, then most often together, then rarer. */
  private split(surface: string): ReadonlyArray<Piece> | undefined {
    if (surface.length < SPLIT_LENGTH_MIN || !LETTERS.test(surface)) return undefined
    let best: { left: string; right: string; adjacent: number; together: number; rarer: number } | undefined
    for (let i = SPLIT_PART_MIN; i <= surface.length - SPLIT_PART_MIN; i++) {
      const a = surface.slice(0, i),
        b = surface.slice(i)
      if (this.analyzer.isStop(a) || this.analyzer.isStop(b)) continue
      const left = this.analyzer.stem(a),
        right = this.analyzer.stem(b)
      const x = this.lexicon.places(left),
        y = this.lexicon.places(right)
      if (x === undefined || y === undefined) continue
      const counts = this.together(x, y)
      const found = { left, right, ...counts, rarer: Math.min(this.lexicon.frequency(x), this.lexicon.frequency(y)) }
      if (
        best === undefined ||
        (found.adjacent - best.adjacent || found.together - best.together || found.rarer - best.rarer) > 0
      )
        best = found
    }
    if (best === undefined || (best.adjacent === 0 && best.together === 0 && best.rarer < TOGETHER_MIN))
      return undefined
    return [
      { stems: [best.left], factor: 1 },
      { stems: [best.right], factor: 1 }
    ]
  }
  /** Number of documents in which two roots are adjacent in order, and in which they occur in the same unit. */
  private together(a: Places, b: Places): { adjacent: number; together: number } {
    const { segments, units } = this.lexicon
    const width = units.length
    let next = 0,
      both = 0,
      seen = 0
    for (let s = 0; s < segments.length; s++)
      for (let u = 0; u < width; u++) {
        const x = a[s * width + u],
          y = b[s * width + u]
        if (x < 0 || y < 0) continue
        const unit = segments[s][u]
        const [lead, other] = unit.frequency(x) <= unit.frequency(y) ? [x, y] : [y, x]
        for (
          let p = unit.starts[lead], q = unit.starts[other];
          p < unit.starts[lead + 1] && seen < SPLIT_DOCS_MAX;
          p++
        ) {
          const doc = unit.postingDocs[p]
          while (q < unit.starts[other + 1] && unit.postingDocs[q] < doc) q++
          if (q === unit.starts[other + 1]) break
          if (unit.postingDocs[q] !== doc) continue
          both++
          seen++
          countPairs(unit, doc, x, y)
          if (adjacent > 0) next++
        }
      }
    return { adjacent: next, together: both }
  }

  private spelled(surface: string, mayBeUnfinished: boolean): ReadonlyArray<Piece> | undefined {
    const letters = [...surface]
    if (letters.length < SPELLING_LENGTH_MIN || !LETTERS.test(surface)) return undefined
    for (let distance = 1; distance <= (letters.length >= SPELLING_TWO_LENGTH_MIN ? 2 : 1); distance++) {
      const found = this.spellings(surface, distance, false)
      if (found.length > 0) return [{ stems: [found[0]], factor: GUESS_FACTOR, misspelt: surface }]
    }
    if (!mayBeUnfinished) return undefined
    const started = this.spellings(surface, 1, true)
    return started.length === 0
      ? undefined
      : [{ stems: started.slice(0, COMPLETIONS_MAX), factor: GUESS_FACTOR, misspelt: surface }]
  }
  /** Roots of the words at this edit distance, likeliest first: those with the same first letter, then by documents. */
  private spellings(surface: string, distance: number, prefix: boolean): string[] {
    const found = new Map<string, { readonly sharesFirst: boolean; readonly docs: number }>()
    const docsMin = this.lexicon.docs < SMALL_COLLECTION_DOCS ? 1 : SPELLING_FREQUENCY_MIN
    this.lexicon.expand(surface, distance, prefix, (word, stem) => {
      if (word[0] !== surface[0] && word[1] !== surface[1]) return
      const sharesFirst = word[0] === surface[0]
      const known = found.get(stem)
      if (known !== undefined && (known.sharesFirst || !sharesFirst)) return
      const docs = this.lexicon.frequency(this.lexicon.places(stem)!)
      if (docs >= docsMin && LETTERS.test(word) && (prefix || editDistance(surface, word, distance) <= distance))
        found.set(stem, { sharesFirst, docs })
    })
    return [...found]
      .sort(([a, x], [b, y]) => Number(y.sharesFirst) - Number(x.sharesFirst) || y.docs - x.docs || (a < b ? -1 : 1))
      .map(([stem]) => stem)
  }

  /** Splits `mx500` into `mx` and `500` if both are known. */
  private atBoundary(surface: string): ReadonlyArray<Piece> | undefined {
    const match = /^(\p{L}+)(\d+)$|^(\d+)(\p{L}+)$/u.exec(surface)
    if (match === null) return undefined
    const parts = [match[1] ?? match[3], match[2] ?? match[4]].map((part) => this.analyzer.stem(part))
    return parts.every((part) => this.lexicon.places(part) !== undefined)
      ? parts.map((part) => ({ stems: [part], factor: 1 }))
      : undefined
  }
}

/** Numbers of a term in a unit's word streams, for reading documents word by word. */
export const streamNumbers = (term: QueryTerm, segment: number, unit: number, width: number): number[] =>
  term.places.flatMap((places) => {
    const at = places[segment * width + unit]
    return at < 0 ? [] : [at + FIRST_TERM]
  })
