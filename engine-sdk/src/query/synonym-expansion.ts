/**
 * Synonym variants of a query (`docs/contract/synonyms.md#expansion`): every run of query words that is a member of an
 * entry may be replaced by each other member, in combinations of runs that do not overlap; never chained, at most 200.
 */
import { createAnalyzer } from "../analysis/mod.ts"
import { damerauWithin } from "../analysis/edit-distance.ts"
import type { SynonymItem, SynonymSet } from "./query-context.ts"

const VARIANTS_MAX = 200
const STEPS_MAX = 20_000
/** Bounds over all variants, because each word is stemmed and looked up in every field. */
const WORDS_MAX = 4_000
/** Maximum words of a variant, and comparisons to find similar words. */
const VARIANT_WORDS_MAX = 200,
  LOOSE_STEPS_MAX = 4_000
/** `to` is every member except the one at `except`; a separate list for each would take quadratic space. */
interface Entry {
  readonly from: ReadonlyArray<string>
  readonly to: ReadonlyArray<ReadonlyArray<string>>
  readonly except: number
}
interface Matcher {
  readonly byFirst: ReadonlyMap<string, ReadonlyArray<Entry>>
  readonly entries: ReadonlyArray<Entry>
}

const defaultTokens = createAnalyzer({})
const entryTokens = (text: string, item: SynonymItem): string[] => {
  const symbols = item.symbols_to_index ?? []
  const plain = symbols.length === 0 && (item.locale ?? "") === ""
  return (plain ? defaultTokens : createAnalyzer({ locale: item.locale ?? "", symbolsToIndex: symbols })).tokenize(text)
}
const entriesOf = (item: SynonymItem): Entry[] => {
  const members = item.synonyms.map((text) => entryTokens(text, item)).filter((tokens) => tokens.length > 0)
  if (item.root !== "") {
    const root = entryTokens(item.root, item)
    return root.length === 0 || members.length === 0 ? [] : [{ from: root, to: members, except: -1 }]
  }
  return members.length < 2 ? [] : members.map((from, at) => ({ from, to: members, except: at }))
}
const matchers = new WeakMap<SynonymSet, Map<string, Matcher>>()
/** The entries of a set that apply to a locale, indexed once per set object. */
const matcherOf = (set: SynonymSet, locale: string): Matcher => {
  let byLocale = matchers.get(set)
  if (byLocale === undefined) matchers.set(set, (byLocale = new Map()))
  const known = byLocale.get(locale)
  if (known !== undefined) return known
  const entries = set.items
    .filter((item) => (item.locale ?? "") === locale || (item.locale ?? "") === "")
    .flatMap(entriesOf)
  const byFirst = new Map<string, Entry[]>()
  for (const entry of entries) {
    const list = byFirst.get(entry.from[0])
    if (list === undefined) byFirst.set(entry.from[0], [entry])
    else list.push(entry)
  }
  const matcher = { byFirst, entries }
  byLocale.set(locale, matcher)
  return matcher
}

interface SynonymOptions {
  readonly locale: string
  readonly prefix: boolean
  readonly numTypos: number
}
/**
 * Recent expansions, up to a few megabytes, because searches of one request, and rules of one search, often repeat a
 * lookup. Sets are replaced, never changed, so a cached expansion is valid for every caller with the same set.
 */
const EXPANDED_MAX = 16,
  EXPANDED_WORDS_MIN = 3,
  EXPANDED_WORDS_MAX = 6_000
const expanded: Array<{
  readonly key: string
  readonly sets: ReadonlyArray<SynonymSet>
  readonly variants: ReadonlyArray<ReadonlyArray<string>>
}> = []
export const expandSynonyms = (
  tokens: ReadonlyArray<string>,
  sets: ReadonlyArray<SynonymSet>,
  options: SynonymOptions
): ReadonlyArray<ReadonlyArray<string>> => {
  if (tokens.length === 0 || sets.length === 0) return []
  if (tokens.length < EXPANDED_WORDS_MIN && options.numTypos === 0 && !options.prefix)
    return expansionOf(tokens, sets, options)
  const key = `${options.locale} ${options.prefix} ${options.numTypos} ${tokens.join(" ")}`
  const known = expanded.find(
    (one) => one.key === key && one.sets.length === sets.length && one.sets.every((set, i) => set === sets[i])
  )
  if (known !== undefined) return known.variants
  const variants = expansionOf(tokens, sets, options)
  if (key.length + variants.reduce((sum, { length }) => sum + length, 0) <= EXPANDED_WORDS_MAX) {
    if (expanded.length >= EXPANDED_MAX) expanded.shift()
    expanded.push({ key, sets, variants })
  }
  return variants
}
/** Variants without the original, in a stable order. O(words × entries with that first word × variants). */
const expansionOf = (
  tokens: ReadonlyArray<string>,
  sets: ReadonlyArray<SynonymSet>,
  options: SynonymOptions
): ReadonlyArray<ReadonlyArray<string>> => {
  const compiled = sets.map((set) => matcherOf(set, options.locale))
  const left = { steps: LOOSE_STEPS_MAX }
  const runsAt = tokens.map((_, at) => runsFrom(tokens, at, compiled, options, left))
  if (runsAt.every((runs) => runs.length === 0)) return []
  const original = tokens.join(" ")
  const variants = new Map<string, ReadonlyArray<string>>()
  let steps = 0,
    words = 0
  const isFull = (): boolean => variants.size >= VARIANTS_MAX || words >= WORDS_MAX || steps >= STEPS_MAX
  /** Words of the variant being built. */
  const prefix: string[] = []
  const walk = (at: number): void => {
    if (isFull() || prefix.length > VARIANT_WORDS_MAX) return
    steps++
    if (at === tokens.length) {
      const key = prefix.join(" ")
      if (key !== original && !variants.has(key)) {
        variants.set(key, [...prefix])
        words += prefix.length
      }
      return
    }
    for (const run of runsAt[at])
      for (let member = 0; member < run.to.length; member++) {
        if (isFull()) return
        if (member !== run.except && run.to[member].length <= VARIANT_WORDS_MAX) follow(run.to[member], at + run.length)
      }
    follow([tokens[at]], at + 1)
  }
  const follow = (words: ReadonlyArray<string>, next: number): void => {
    const before = prefix.length
    for (const word of words) prefix.push(word)
    walk(next)
    prefix.length = before
  }
  walk(0)
  return [...variants.values()]
}
interface Run {
  readonly length: number
  readonly to: ReadonlyArray<ReadonlyArray<string>>
  readonly except: number
}
const runsFrom = (
  tokens: ReadonlyArray<string>,
  at: number,
  matchers: ReadonlyArray<Matcher>,
  options: SynonymOptions,
  left: { steps: number }
): Run[] => {
  const runs: Run[] = []
  for (const matcher of matchers) {
    for (const entry of matcher.byFirst.get(tokens[at]) ?? [])
      if (matches(tokens, at, entry, (a, b) => a === b))
        runs.push({ length: entry.from.length, to: entry.to, except: entry.except })
  }
  if (runs.length > 0 || (!options.prefix && options.numTypos === 0)) return runs
  const loose = (typed: string, word: string): boolean =>
    (options.prefix && word.startsWith(typed)) || (options.numTypos > 0 && damerauWithin(typed, word, options.numTypos))
  for (const matcher of matchers)
    for (const entry of matcher.entries) {
      if (--left.steps < 0) return runs
      if (matches(tokens, at, entry, loose))
        runs.push({ length: entry.from.length, to: entry.to, except: entry.except })
    }
  return runs
}
const matches = (
  tokens: ReadonlyArray<string>,
  at: number,
  entry: Entry,
  same: (typed: string, word: string) => boolean
): boolean => {
  if (at + entry.from.length > tokens.length) return false
  for (let i = 0; i < entry.from.length; i++) if (!same(tokens[at + i], entry.from[i])) return false
  return true
}
