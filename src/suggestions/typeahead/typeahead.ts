/**
 * Completions of what is being typed, best first, from a bounded list of texts with scores that change. Pure, in
 * memory.
 *
 *   1  texts that begin with what was typed
 *   2  texts with a word where it begins ("case" → "iphone case")
 *   3  texts that contain its words in another order, the last one as a prefix
 *   4  the same as 1 and 2 for words with typing errors: one from four letters, two from eight (as searches allow)
 *
 * Each kind is used only if the previous ones leave room. Words are compared as the engine's tokens: lower case,
 * accents folded, punctuation removed. A text added after the index was built is in a small list that is scanned, until
 * there are enough of them for a rebuild.
 */
import { createAnalyzer } from "@dowser/engine-sdk/analysis"
import { compareBytes, encodeUtf8, expandTerm, sharedPrefixes, StringTable } from "@dowser/engine-sdk/tables"
import { type Place, SortedTexts } from "./sorted-texts.ts"
import { atOnce, sortSliced } from "./sliced.ts"

export interface Completable {
  /** The displayed text. */ readonly label: string
  /** Greater is better; only ratios are meaningful. Shown only if above 0. */ readonly score: number
  readonly count: number
}
export interface Completion<A extends Completable> {
  readonly item: A
  /** Number of corrected letters. */ readonly typos: 0 | 1 | 2
}

const analyzer = createAnalyzer({})
/** The form in which texts are compared. */
export const foldText = (text: string): string => analyzer.tokenize(text).join(" ")

/** New texts that are scanned one by one; 1,024 of them take some 50 µs. */
const FRESH_MAX = 1_024
const WORDS_MAX = 8
/** How many of the best candidates are checked for words in another order. */
const REORDERED_LOOKED_MAX = 256
const CORRECTIONS_PER_WORD_MAX = 8
const CORRECTED_TEXTS_MAX = 24
const TYPO_LETTERS = [Number.POSITIVE_INFINITY, 4, 8] as const
const NEVER = Number.NEGATIVE_INFINITY
/** Approximate memory of the objects of one entry. */
const ENTRY_BYTES = 160

const scoreOf = ({ score }: Completable): number => (score > 0 ? score : NEVER)

interface Vocabulary {
  readonly terms: StringTable
  readonly shared: Uint8Array
}
interface Word {
  readonly text: string
  readonly typos: number
  readonly score: number
}

export class Typeahead<A extends Completable> {
  readonly #items: Array<A>
  readonly #texts: ReadonlyArray<string>
  readonly #byLabel: Map<string, number>
  readonly #starts: SortedTexts
  readonly #inner: SortedTexts
  readonly #words: Vocabulary
  /** Best score of a text with the word at build time; only orders corrections. */
  readonly #wordScores: Float64Array
  readonly #fresh = new Map<string, { item: A; readonly text: string }>()
  readonly #textBytes: number

  private constructor(
    items: Array<A>,
    texts: ReadonlyArray<string>,
    byLabel: Map<string, number>,
    starts: SortedTexts,
    inner: SortedTexts,
    words: Vocabulary,
    wordScores: Float64Array,
    textBytes: number
  ) {
    this.#items = items
    this.#texts = texts
    this.#byLabel = byLabel
    this.#starts = starts
    this.#inner = inner
    this.#words = words
    this.#wordScores = wordScores
    this.#textBytes = textBytes
  }

  /** Labels must be unique. Takes some 0.5 s for 100,000 of three words, in steps of at most a millisecond or two. */
  static *build<A extends Completable>(given: ReadonlyArray<A>): Generator<void, Typeahead<A>> {
    const items: Array<A> = []
    const texts: Array<string> = []
    const byLabel = new Map<string, number>()
    const wordScores = new Map<string, number>()
    const starts: Array<Place> = []
    const inner: Array<Place> = []
    let textBytes = 0
    for (const item of given) {
      const text = foldText(item.label)
      if (text === "" || byLabel.has(item.label)) continue
      const entry = items.push(item) - 1
      texts.push(text)
      byLabel.set(item.label, entry)
      starts.push({ entry, from: 0 })
      textBytes += 2 * (item.label.length + text.length) + ENTRY_BYTES
      const words = text.split(" ")
      let from = 0
      for (const [i, word] of words.entries()) {
        if (i > 0 && i < WORDS_MAX && from <= 0xffff) inner.push({ entry, from })
        from += word.length + 1
        if (scoreOf(item) > (wordScores.get(word) ?? NEVER)) wordScores.set(word, scoreOf(item))
      }
      if ((entry & 63) === 63) yield
    }
    const byText = (a: Place, b: Place) => {
      const [x, y] = [texts[a.entry]!.slice(a.from), texts[b.entry]!.slice(b.from)]
      return x < y ? -1 : x > y ? 1 : a.entry - b.entry
    }
    const score = (entry: number) => scoreOf(items[entry]!)
    const sortedStarts = yield* SortedTexts.build(texts, yield* sortSliced(starts, byText), score)
    const sortedInner = yield* SortedTexts.build(texts, yield* sortSliced(inner, byText), score)
    const words: Array<{ readonly bytes: Uint8Array; readonly best: number }> = []
    for (const [word, best] of wordScores) {
      words.push({ bytes: encodeUtf8(word), best })
      if ((words.length & 511) === 0) yield
    }
    const sorted = yield* sortSliced(words, (a, b) =>
      compareBytes(a.bytes, 0, a.bytes.length, b.bytes, 0, b.bytes.length)
    )
    const offsets = new Uint32Array(sorted.length + 1)
    for (let i = 0; i < sorted.length; i++) offsets[i + 1] = offsets[i]! + sorted[i]!.bytes.length
    const bytes = new Uint8Array(offsets[sorted.length]!)
    const best = new Float64Array(sorted.length)
    for (let i = 0; i < sorted.length; i++) {
      bytes.set(sorted[i]!.bytes, offsets[i])
      best[i] = sorted[i]!.best
      if ((i & 4_095) === 4_095) yield
    }
    yield
    return new Typeahead(
      items,
      texts,
      byLabel,
      sortedStarts,
      sortedInner,
      { terms: new StringTable(bytes, offsets), shared: sharedPrefixes(bytes, offsets) },
      best,
      textBytes
    )
  }
  static of<A extends Completable>(given: ReadonlyArray<A>): Typeahead<A> {
    return atOnce(Typeahead.build(given))
  }

  get size(): number {
    return this.#items.length + this.#fresh.size
  }
  /** Approximate memory. */
  get bytes(): number {
    return (
      this.#textBytes + this.#starts.bytes + this.#inner.bytes + this.#words.terms.bytes.length + 256 * this.#fresh.size
    )
  }
  /** Number of texts added after the build: they are found, but their words are not used as corrections yet. */
  get fresh(): number {
    return this.#fresh.size
  }
  /** Whether there are enough new texts to rebuild the index: each text is then indexed only a few times in all. */
  get wantsBuild(): boolean {
    return this.#fresh.size >= Math.min(FRESH_MAX, Math.max(1, this.#items.length / 8))
  }
  /** All items, for a rebuild. */
  items(): ReadonlyArray<A> {
    return [...this.#items, ...[...this.#fresh.values()].map(({ item }) => item)]
  }

  /**
   * Replaces the item with the same label, or adds one; an item whose score is not above 0 is no longer shown. O(log
   * texts).
   */
  put(item: A): void {
    const entry = this.#byLabel.get(item.label)
    if (entry !== undefined) {
      const text = this.#texts[entry]!
      this.#items[entry] = item
      this.#starts.rescore(text, 0, entry, scoreOf(item))
      let from = 0
      for (const [i, word] of text.split(" ").entries()) {
        if (i > 0 && i < WORDS_MAX && from <= 0xffff) this.#inner.rescore(text, from, entry, scoreOf(item))
        from += word.length + 1
      }
      return
    }
    const known = this.#fresh.get(item.label)
    if (known !== undefined) known.item = item
    else if (item.score > 0) {
      const text = foldText(item.label)
      if (text !== "") this.#fresh.set(item.label, { item, text })
    }
  }

  /** The best of all texts. */
  top(limit: number): ReadonlyArray<Completion<A>> {
    return this.#collect(limit, (found) => this.#from(this.#starts, "", 0, found))
  }

  /** Texts that continue after `typed` with another word, best first. O(log texts) each. */
  extensions(typed: string, limit: number): ReadonlyArray<A> {
    const text = foldText(typed)
    return text === ""
      ? []
      : this.#collect(limit, (found) => this.#from(this.#starts, `${text} `, 0, found)).map(({ item }) => item)
  }

  /**
   * At most `limit` completions, best first. Takes some tens of microseconds; with typos some hundreds, because the
   * vocabulary is walked.
   */
  complete(typed: string, limit: number): ReadonlyArray<Completion<A>> {
    const words = analyzer.tokenize(typed).slice(0, WORDS_MAX)
    if (words.length === 0) return this.top(limit)
    const text = words.join(" ")
    return this.#collect(limit, (found) => {
      this.#from(this.#starts, text, 0, found)
      if (!found.isFull()) this.#from(this.#inner, text, 0, found)
      if (!found.isFull() && words.length > 1) this.#reordered(words, found)
      if (!found.isFull()) this.#corrected(words, found)
    })
  }

  #collect(limit: number, run: (found: Found<A>) => void): ReadonlyArray<Completion<A>> {
    const found = new Found<A>(limit)
    run(found)
    return found.completions
  }

  /** New texts match by their start or inside like the others, and are merged in by score. */
  #from(list: SortedTexts, prefix: string, typos: 0 | 1 | 2, found: Found<A>): void {
    const isStart = list === this.#starts
    const fresh =
      this.#fresh.size === 0
        ? []
        : [...this.#fresh.values()]
            .filter(
              ({ item, text }) => scoreOf(item) > 0 && (isStart ? text.startsWith(prefix) : text.includes(` ${prefix}`))
            )
            .map(({ item }) => item)
            .sort((a, b) => b.score - a.score)
    let next = 0
    const [first, behind] = list.range(prefix)
    list.best(first, behind, (entry, score) => {
      while (next < fresh.length && fresh[next]!.score > score && !found.isFull()) found.add(fresh[next++]!, typos)
      if (found.isFull()) return false
      found.add(this.#items[entry]!, typos)
      return !found.isFull()
    })
    while (next < fresh.length && !found.isFull()) found.add(fresh[next++]!, typos)
  }

  /** Texts with the last word as a prefix and the others anywhere. */
  #reordered(words: ReadonlyArray<string>, found: Found<A>): void {
    const last = words[words.length - 1]!
    const others = words.slice(0, -1).map((word) => ` ${word} `)
    for (const list of [this.#starts, this.#inner]) {
      let looked = 0
      const [first, behind] = list.range(last)
      list.best(first, behind, (entry) => {
        const text = ` ${this.#texts[entry]!} `
        if (others.every((word) => text.includes(word))) found.add(this.#items[entry]!, 0)
        return ++looked < REORDERED_LOOKED_MAX && !found.isFull()
      })
    }
  }

  /** Words of the vocabulary that may have been meant: the word itself first, then the best within its typos. */
  #meant(word: string, isLast: boolean): ReadonlyArray<Word> {
    const bytes = encodeUtf8(word)
    const { terms } = this.#words
    const at = terms.lowerBound(bytes)
    const isKnown = isLast ? terms.prefixEnd(bytes, at) > at : terms.find(bytes) >= 0
    const meant: Array<Word> = isKnown ? [{ text: word, typos: 0, score: Number.POSITIVE_INFINITY }] : []
    for (const typos of [1, 2] as const) {
      if (word.length < TYPO_LETTERS[typos] || (typos === 2 && meant.length > 0)) break
      const near: Array<Word> = []
      expandTerm(this.#words, bytes, typos, isLast, (term) => {
        const score = this.#wordScores[term]!
        if (near.length === CORRECTIONS_PER_WORD_MAX && score <= near[near.length - 1]!.score) return
        if (near.length === CORRECTIONS_PER_WORD_MAX) near.pop()
        let place = near.length
        while (place > 0 && near[place - 1]!.score < score) place--
        near.splice(place, 0, { text: terms.text(term), typos, score })
      })
      meant.push(...near)
    }
    return meant
  }

  #corrected(words: ReadonlyArray<string>, found: Found<A>): void {
    let texts: ReadonlyArray<Word> = [{ text: "", typos: 0, score: Number.POSITIVE_INFINITY }]
    for (const [i, word] of words.entries()) {
      const meant = this.#meant(word, i === words.length - 1)
      texts = texts
        .flatMap((before) =>
          meant.map(({ score, text, typos }): Word => ({
            text: before.text === "" ? text : `${before.text} ${text}`,
            typos: before.typos + typos,
            score: Math.min(before.score, score)
          }))
        )
        .filter(({ typos }) => typos <= 2)
        .sort((a, b) => a.typos - b.typos || b.score - a.score)
        .slice(0, CORRECTED_TEXTS_MAX)
    }
    for (const typos of [1, 2] as const) {
      const ofTypos = texts.filter((text) => text.typos === typos)
      for (const list of [this.#starts, this.#inner]) {
        // The best of all corrections together, rather than all of the first one's.
        const merged = new Found<A>(found.room * Math.max(1, ofTypos.length))
        for (const { text } of ofTypos) {
          const own = new Found<A>(found.room)
          this.#from(list, text, typos, own)
          for (const { item } of own.completions) merged.add(item, typos)
        }
        for (const { item } of [...merged.completions].sort((a, b) => b.item.score - a.item.score)) {
          if (found.isFull()) return
          found.add(item, typos)
        }
      }
    }
  }
}

/** What was found so far, each label once. */
class Found<A extends Completable> {
  readonly completions: Array<Completion<A>> = []
  readonly #labels = new Set<string>()
  readonly #limit: number
  constructor(limit: number) {
    this.#limit = limit
  }
  get room(): number {
    return this.#limit - this.completions.length
  }
  isFull(): boolean {
    return this.completions.length >= this.#limit
  }
  add(item: A, typos: 0 | 1 | 2): void {
    if (this.isFull() || this.#labels.has(item.label)) return
    this.#labels.add(item.label)
    this.completions.push({ item, typos })
  }
}
