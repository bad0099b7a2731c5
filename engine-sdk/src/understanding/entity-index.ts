/**
 * Field values by the words that name them, in memory, to find out which values a query names. Values and queries are
 * split into words the same way, so that case, accents and punctuation make no difference. Pure.
 */
import type { Analyzer } from "../analysis/mod.ts"
import type { Awaitable } from "../engine.ts"

export interface Entity {
  /** Words of the query, with single spaces. */ readonly text: string
  readonly field: string
  readonly value: string
}
/** A field and its values, most frequent first. */
export interface FieldValues {
  readonly field: string
  readonly values: ReadonlyArray<string>
}
interface Named {
  readonly field: string
  readonly value: string
}
/** Words from a position of the query on, and the values that they name: one per field, in the order of the fields. */
export interface EntityCandidate {
  readonly start: number
  readonly words: number
  readonly text: string
  readonly values: ReadonlyArray<Named>
}

const VALUE_WORDS_MAX = 8
const VALUE_CHARACTERS_MAX = 100
/** Maximum words of a query that are examined. */
const QUERY_WORDS_MAX = 32
/** Overhead of an entry in addition to its texts: a map entry, an object, a list. */
const ENTRY_BYTES = 160
/** Values processed between two chances to yield. */
const SLICE_VALUES = 64
/**
 * Function words of a few languages. A value that consists of one of them (`de`, `in`, like codes of languages and
 * countries) is hardly ever meant.
 */
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  (
    "a an and as at by for from in is it no not of on or so the to with " +
    "am an auf aus bei das dem den der des die ein eine für im ist mit oder und von zu " +
    "à au aux avec ce dans de des du en et la le les ou par pas pour sans sur un une " +
    "al con del el es las los o para por sin un una y e da do dos em na no os um uma com " +
    "di il lo gli per che non da van het een met voor en и в во на не с со от из по для за у о к та або з і ή και το η ο του"
  ).split(" ")
)

/**
 * Values of facet fields by their words, to find out which of them a query names.
 *
 * @example
 * ```ts
 * import { createAnalyzer } from "@dowser/engine-sdk/analysis"
 * import { EntityIndex } from "@dowser/engine-sdk/understanding"
 *
 * const building = EntityIndex.build([{ field: "brand", values: ["Peak", "Swift"] }], createAnalyzer({}))
 * let built = building.next()
 * while (built.done !== true) built = building.next()
 * built.value.candidates(["peak", "shoe"])
 * ```
 */
export class EntityIndex {
  /** Values by their words, joined by single spaces. */
  readonly #named = new Map<string, Array<Named>>()
  /** Maximum number of words of a value that starts with this word. */
  readonly #longest = new Map<string, number>()
  #bytes = 0

  private constructor() {
    /* Created only by `build`. */
  }

  /** Yields at points where it may be interrupted. Values beyond `bytes_max` are left out. O(values). */
  static *build(
    fields: ReadonlyArray<FieldValues>,
    analyzer: Analyzer,
    bytes_max = Infinity
  ): Generator<void, EntityIndex> {
    const index = new EntityIndex()
    let read = 0
    for (const { field, values } of fields)
      for (const value of values) {
        if (++read % SLICE_VALUES === 0) yield
        if (index.#bytes >= bytes_max) return index
        index.#add(field, value, analyzer)
      }
    return index
  }
  /** Approximate memory. */
  get bytes(): number {
    return this.#bytes
  }
  get size(): number {
    return this.#named.size
  }

  #add(field: string, value: string, analyzer: Analyzer): void {
    if (value.length > VALUE_CHARACTERS_MAX) return
    const words = analyzer.unstemmed.tokenize(value)
    const [first] = words
    if (first === undefined || words.length > VALUE_WORDS_MAX) return
    if (words.length === 1 && FUNCTION_WORDS.has(first)) return
    const text = words.join(" ")
    let named = this.#named.get(text)
    if (named === undefined) {
      this.#named.set(text, (named = []))
      this.#bytes += ENTRY_BYTES + 2 * text.length
    }
    // Of one field's values with the same normal form, the most frequent one is kept.
    if (named.some((each) => each.field === field)) return
    named.push({ field, value })
    this.#bytes += 48 + 2 * value.length
    if ((this.#longest.get(first) ?? 0) < words.length) this.#longest.set(first, words.length)
  }

  /** Values that the query's words may name, longest first, then left to right. O(words · words of a value). */
  candidates(words: ReadonlyArray<string>): ReadonlyArray<EntityCandidate> {
    const found: Array<EntityCandidate> = []
    const end = Math.min(words.length, QUERY_WORDS_MAX)
    for (let start = 0; start < end; start++) {
      const longest = Math.min(this.#longest.get(words[start]!) ?? 0, end - start)
      for (let length = longest; length > 0; length--) {
        const text = length === 1 ? words[start]! : words.slice(start, start + length).join(" ")
        const values = this.#named.get(text)
        if (values !== undefined) found.push({ start, words: length, text, values })
      }
    }
    return found.length < 2 ? found : found.sort((a, b) => b.words - a.words || a.start - b.start)
  }
}

/**
 * The candidates in order, without those that reuse a word. `seen`: the value as a caller may see it, or undefined if
 * it may not be shown; called for one candidate after another.
 *
 * @example
 * ```ts
 * import { chosenEntities } from "@dowser/engine-sdk/understanding"
 *
 * const candidates = [{ start: 0, words: 1, text: "peak", values: [{ field: "brand", value: "Peak" }] }]
 * await chosenEntities(candidates, (_field, value) => value)
 * ```
 */
export const chosenEntities = (
  candidates: ReadonlyArray<EntityCandidate>,
  seen: (field: string, value: string, text: string) => Awaitable<string | undefined>
): Awaitable<ReadonlyArray<Entity>> => {
  if (candidates.length === 0) return []
  const used = new Set<number>()
  const chosen: Array<Entity & { readonly start: number }> = []
  const isFree = ({ start, words }: EntityCandidate): boolean => {
    for (let at = start; at < start + words; at++) if (used.has(at)) return false
    return true
  }
  const take = ({ start, text, words }: EntityCandidate, field: string, value: string): void => {
    for (let at = start; at < start + words; at++) used.add(at)
    chosen.push({ start, text, field, value })
  }
  const next = (c: number, v: number): Awaitable<ReadonlyArray<Entity>> => {
    for (let at = c, from = v; at < candidates.length; at++, from = 0) {
      const candidate = candidates[at]!
      if (!isFree(candidate)) continue
      for (let i = from; i < candidate.values.length; i++) {
        const { field, value } = candidate.values[i]!
        const visible = seen(field, value, candidate.text)
        if (visible instanceof Promise)
          return visible.then((late) => {
            if (late === undefined) return next(at, i + 1)
            take(candidate, field, late)
            return next(at + 1, 0)
          })
        if (visible === undefined) continue
        take(candidate, field, visible)
        break
      }
    }
    return chosen.sort((a, b) => a.start - b.start).map(({ field, text, value }) => ({ text, field, value }))
  }
  return next(0, 0)
}
