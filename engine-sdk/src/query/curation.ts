/**
 * Which curation items apply to a search and what they change (`docs/contract/curation.md`). Two passes, as in the
 * reference engine: first items that act on the query as written; then filters, including those with placeholders, on
 * the remaining words. A rule that cannot be applied is ignored and never causes an error.
 */
import { createAnalyzer, hasStemmer, type Analyzer } from "../analysis/mod.ts"
import { stemmerOf } from "../analysis/stemmer.ts"
import type { Filter } from "../filter.ts"
import { joinFilterTexts } from "./filter-parser.ts"
import type { CurationItem, CurationSet, SearchResources, SynonymSet } from "./query-context.ts"
import { expandSynonyms } from "./synonym-expansion.ts"

interface CurationInput {
  readonly q: string
  readonly filterBy: string
  readonly sortBy: string
  readonly sets: ReadonlyArray<CurationSet>
  readonly tags: ReadonlyArray<string>
  readonly now_s: number
  readonly symbolsToIndex: ReadonlyArray<string>
  readonly tokenSeparators: ReadonlyArray<string>
  readonly synonymSets: ReadonlyArray<SynonymSet>
  readonly dictionaries: SearchResources["stemmingDictionary"]
  /** Parses a filter text; undefined if it is invalid. */ readonly parse: (text: string) => Filter | undefined
  readonly isSortable: (text: string) => boolean
  readonly matchesAny: (filter: Filter) => boolean
}
/**
 * Maximum total cost, in steps, of a search's items: an item that costs more than is left is ignored, like one that
 * cannot be applied. About ten milliseconds; ten thousand items with plain words need a fraction of it.
 */
const STEPS_MAX = 30_000,
  CAPTURE_STEPS = 100
const spent = new WeakMap<
  CurationInput,
  { steps: number; variants: Map<ReadonlyArray<string>, ReadonlyArray<ReadonlyArray<string>>> }
>()
const accountOf = (input: CurationInput): NonNullable<ReturnType<typeof spent.get>> => {
  let account = spent.get(input)
  if (account === undefined) spent.set(input, (account = { steps: 0, variants: new Map() }))
  return account
}
const isWorth = (input: CurationInput, steps: number): boolean => (accountOf(input).steps += steps) <= STEPS_MAX
/** The synonyms, shared by all items as long as none changes the words. */
const synonymsOf = (words: ReadonlyArray<string>, input: CurationInput): ReadonlyArray<ReadonlyArray<string>> => {
  const { variants } = accountOf(input)
  let known = variants.get(words)
  if (known === undefined)
    variants.set(
      words,
      (known = isWorth(input, EXPANSION_STEPS)
        ? expandSynonyms(words, input.synonymSets, { locale: "", prefix: false, numTypos: 0 })
        : [])
    )
  return known
}
const EXPANSION_STEPS = 20_000
export interface CurationOutcome {
  /** The query to run. */ readonly q: string
  /** The words that filters left; undefined if no filter removed any. Empty = every document. */ readonly words:
    | ReadonlyArray<string>
    | undefined
  readonly filterBy: string
  readonly sortBy: string
  readonly includes: ReadonlyArray<{ readonly id: string; readonly position: number }>
  readonly excludes: ReadonlyArray<string>
  readonly filterCuratedHits: boolean
  readonly metadata: Record<string, unknown> | undefined
  readonly diversity: CurationItem["diversity"] | undefined
  readonly replaced: boolean
}
interface Draft {
  q: string
  words: ReadonlyArray<string>
  wordsTaken: boolean
  filterBy: string
  sortBy: string
  includes: Array<{ id: string; position: number }>
  excludes: string[]
  filterCuratedHits: boolean
  metadata: Record<string, unknown> | undefined
  diversity: CurationItem["diversity"] | undefined
  replaced: boolean
}

/** O(items × words) plus one engine query per candidate run of words for a placeholder. */
export const applyCurations = (input: CurationInput): CurationOutcome => {
  const normalizer = createAnalyzer({
    symbolsToIndex: [...input.symbolsToIndex, "*"],
    tokenSeparators: input.tokenSeparators
  })
  const draft: Draft = {
    q: input.q,
    words: normalizer.tokenize(input.q),
    wordsTaken: false,
    filterBy: input.filterBy,
    sortBy: input.sortBy,
    includes: [],
    excludes: [],
    filterCuratedHits: false,
    metadata: undefined,
    diversity: undefined,
    replaced: false
  }
  const items = input.sets.flatMap((set) => set.items).filter((item) => isCurrent(item, input.now_s))
  for (const candidates of byTags(items, input.tags)) if (applyAll(candidates, draft, input, normalizer)) break
  return {
    q: draft.q,
    words: draft.wordsTaken ? draft.words : undefined,
    filterBy: draft.filterBy,
    sortBy: draft.sortBy,
    includes: draft.includes,
    excludes: draft.excludes,
    filterCuratedHits: draft.filterCuratedHits,
    metadata: draft.metadata,
    diversity: draft.diversity,
    replaced: draft.replaced
  }
}
const isCurrent = (item: CurationItem, now_s: number): boolean =>
  (item.effective_from_ts === undefined || now_s >= item.effective_from_ts) &&
  (item.effective_to_ts === undefined || now_s <= item.effective_to_ts)
/** Groups of items; in each group, items are tried in turn until one applies. */
const byTags = (
  items: ReadonlyArray<CurationItem>,
  tags: ReadonlyArray<string>
): ReadonlyArray<ReadonlyArray<CurationItem>> => {
  const tagsOf = (item: CurationItem): ReadonlyArray<string> => item.rule?.tags ?? []
  if (tags.length === 0) return [items.filter((item) => tagsOf(item).length === 0 || tagsOf(item).includes("*"))]
  const given = new Set(tags)
  const sharing = items.filter((item) => tagsOf(item).some((tag) => given.has(tag)))
  if (tags.length === 1) return [sharing]
  return [
    sharing.filter((item) => new Set(tagsOf(item)).size === given.size && tagsOf(item).every((tag) => given.has(tag))),
    sharing
  ]
}

const applyAll = (
  items: ReadonlyArray<CurationItem>,
  draft: Draft,
  input: CurationInput,
  normalizer: Analyzer
): boolean => {
  let fired = false
  let last = items.length
  for (const [at, item] of items.entries()) {
    if (!firesAsWritten(item, draft, input, normalizer)) continue
    fired = true
    applyStatic(item, draft, normalizer)
    if (item.stop_processing) {
      last = at + 1
      break
    }
  }
  for (const item of items.slice(0, last)) {
    if (item.filter_by === undefined && !isDynamic(item)) continue
    if (!applyFilter(item, draft, input, normalizer)) continue
    fired = true
    if (item.stop_processing) break
  }
  return fired
}
const PLACEHOLDER = /\{([^{}]+)\}/
const isDynamic = (item: CurationItem): boolean =>
  PLACEHOLDER.test(item.rule?.query ?? "") || PLACEHOLDER.test(item.rule?.filter_by ?? "")

const firesAsWritten = (item: CurationItem, draft: Draft, input: CurationInput, normalizer: Analyzer): boolean => {
  const rule = item.rule
  if (rule === undefined || isDynamic(item)) return false
  if (rule.filter_by !== undefined && rule.filter_by !== draft.filterBy) return false
  if (rule.query === undefined) return rule.filter_by !== undefined || (rule.tags ?? []).length > 0
  return wordsMatch(item, draft.words, input, normalizer)
}
/** Words of rules, cached as long as their item exists, because a search may have to check thousands of items. */
const ruleWords = new WeakMap<CurationItem, { readonly normalizer: string; readonly words: ReadonlyArray<string> }>()
const wordsOfRule = (
  item: CurationItem,
  query: string,
  input: CurationInput,
  normalizer: Analyzer
): ReadonlyArray<string> => {
  const name = `${input.symbolsToIndex.join("")} ${input.tokenSeparators.join("")}`,
    known = ruleWords.get(item)
  if (known?.normalizer === name) return known.words
  const words = normalizer.tokenize(query)
  ruleWords.set(item, { normalizer: name, words })
  return words
}
const wordsMatch = (
  item: CurationItem,
  words: ReadonlyArray<string>,
  input: CurationInput,
  normalizer: Analyzer
): boolean => {
  const rule = item.rule
  if (rule?.query === undefined) return false
  const wanted = wordsOfRule(item, rule.query, input, normalizer)
  if (wanted.length === 0 || !isWorth(input, words.length + wanted.length)) return false
  const spellings: Array<ReadonlyArray<string>> = [words]
  if (rule.synonyms === true) spellings.push(...synonymsOf(words, input))
  if (!isWorth(input, spellings.length * (words.length + wanted.length))) return false
  const root = rootOf(rule, input)
  return spellings.some((spelling) => runOf(spelling.map(root), wanted.map(root), rule.match === "exact") >= 0)
}
const rootOf = (rule: NonNullable<CurationItem["rule"]>, input: CurationInput): ((word: string) => string) => {
  const dictionary = rule.stemming_dictionary === undefined ? undefined : input.dictionaries(rule.stemming_dictionary)
  if (dictionary !== undefined) return (word) => dictionary.get(word) ?? word
  return rule.stem === true && hasStemmer("en") ? stemmerOf("en") : (word) => word
}
/** Index of `wanted` in `words` as a run of complete words, or -1. An exact match must cover all words. */
const runOf = (words: ReadonlyArray<string>, wanted: ReadonlyArray<string>, exact: boolean): number => {
  if (exact) return words.length === wanted.length && wanted.every((word, i) => words[i] === word) ? 0 : -1
  for (let at = 0; at + wanted.length <= words.length; at++)
    if (wanted.every((word, i) => words[at + i] === word)) return at
  return -1
}

const applyStatic = (item: CurationItem, draft: Draft, normalizer: Analyzer): void => {
  draft.includes.push(...item.includes)
  draft.excludes.push(...item.excludes.map((exclude) => exclude.id))
  draft.metadata ??= item.metadata
  draft.diversity ??= item.diversity
  draft.filterCuratedHits = draft.filterCuratedHits || item.filter_curated_hits
  if (item.sort_by !== undefined && item.sort_by !== "") draft.sortBy = item.sort_by
  if (item.replace_query !== undefined && item.replace_query !== "") setQuery(draft, item.replace_query, normalizer)
  else if (item.remove_matched_tokens && item.filter_by === undefined && item.rule?.query !== undefined) {
    const left = without(draft.words, normalizer.tokenize(item.rule.query))
    setQuery(draft, left.length === 0 ? "*" : left.join(" "), normalizer)
  }
}
const setQuery = (draft: Draft, q: string, normalizer: Analyzer): void => {
  draft.q = q
  draft.words = normalizer.tokenize(q)
  draft.replaced = true
}
const without = (words: ReadonlyArray<string>, run: ReadonlyArray<string>): ReadonlyArray<string> => {
  const at = run.length === 0 ? -1 : runOf(words, run, false)
  return at < 0 ? words : [...words.slice(0, at), ...words.slice(at + run.length)]
}

/** Applies an item's filter with its placeholders filled in; removes the words it matched if the item says so. */
const applyFilter = (item: CurationItem, draft: Draft, input: CurationInput, normalizer: Analyzer): boolean => {
  const captured = isDynamic(item)
    ? capture(item, draft, input, normalizer)
    : staticCapture(item, draft, input, normalizer)
  if (captured === undefined) return false
  const fill = (text: string): string =>
    text.replace(/\{([^{}]+)\}/g, (whole, name: string) => captured.values.get(name.trim()) ?? whole)
  if (item.filter_by !== undefined) {
    const filter = fill(item.filter_by)
    if (input.parse(filter) === undefined) return false
    const joined = joinFilterTexts(draft.filterBy, filter)
    if (!joined.ok || joined.value === undefined) return false
    draft.filterBy = joined.value
  }
  if (isDynamic(item) && item.sort_by !== undefined) {
    const sort = fill(item.sort_by)
    if (input.isSortable(sort)) draft.sortBy = sort
  }
  if (item.remove_matched_tokens && captured.length > 0 && draft.words[0] !== "*") {
    draft.words = [...draft.words.slice(0, captured.at), ...draft.words.slice(captured.at + captured.length)]
    draft.wordsTaken = true
  }
  return true
}
interface Captured {
  readonly at: number
  readonly length: number
  readonly values: ReadonlyMap<string, string>
}
const NOTHING: Captured = { at: 0, length: 0, values: new Map() }
const staticCapture = (
  item: CurationItem,
  draft: Draft,
  input: CurationInput,
  normalizer: Analyzer
): Captured | undefined => {
  const rule = item.rule
  if (rule === undefined) return undefined
  if (rule.filter_by !== undefined && rule.filter_by !== input.filterBy) return undefined
  // As in the reference engine, a rule with only a filter does not change the filter; one with only tags applies.
  if (rule.query === undefined) return rule.filter_by === undefined ? NOTHING : undefined
  if (!wordsMatch(item, draft.words, input, normalizer)) return undefined
  const wanted = normalizer.tokenize(rule.query)
  return { at: Math.max(0, runOf(draft.words, wanted, false)), length: wanted.length, values: new Map() }
}
type Part = { readonly word: string } | { readonly field: string }
const partsOf = (query: string, normalizer: Analyzer): Part[] =>
  query
    .split(/(\{[^{}]+\})/)
    .flatMap((piece): Part[] =>
      piece.startsWith("{") && piece.endsWith("}")
        ? [{ field: piece.slice(1, -1).trim() }]
        : normalizer.tokenize(piece).map((word) => ({ word }))
    )

const capture = (
  item: CurationItem,
  draft: Draft,
  input: CurationInput,
  normalizer: Analyzer
): Captured | undefined => {
  const rule = item.rule
  if (rule === undefined) return undefined
  const values = new Map<string, string>()
  if (rule.filter_by !== undefined && !captureFilter(rule.filter_by, input.filterBy, values)) return undefined
  if (rule.query === undefined) return { at: 0, length: 0, values }
  const parts = partsOf(rule.query, normalizer)
  // Each placeholder multiplies the number of runs to try.
  if (parts.filter((part) => "field" in part).length > PLACEHOLDERS_MAX) return undefined
  const exact = rule.match === "exact"
  for (let at = 0; at < (exact ? 1 : draft.words.length); at++) {
    const found = new Map(values)
    const end = captureParts(parts, 0, draft.words, at, exact, found, input)
    if (end >= 0) return { at, length: end - at, values: found }
  }
  return undefined
}
const RUN_LENGTH_MAX = 8
const PLACEHOLDERS_MAX = 4
/** End of the run of words that the parts match from `at`, trying long captures first; -1 if they do not match. */
const captureParts = (
  parts: ReadonlyArray<Part>,
  part: number,
  words: ReadonlyArray<string>,
  at: number,
  exact: boolean,
  values: Map<string, string>,
  input: CurationInput
): number => {
  if (part === parts.length) return exact && at !== words.length ? -1 : at
  const current = parts[part]
  if ("word" in current)
    return words[at] === current.word ? captureParts(parts, part + 1, words, at + 1, exact, values, input) : -1
  for (let length = Math.min(RUN_LENGTH_MAX, words.length - at); length > 0; length--) {
    if (!isWorth(input, CAPTURE_STEPS)) return -1
    const value = words.slice(at, at + length).join(" ")
    const filter = input.parse(`${current.field}:=\`${value}\``)
    if (filter === undefined || !input.matchesAny(filter)) continue
    values.set(current.field, value)
    const end = captureParts(parts, part + 1, words, at + length, exact, values, input)
    if (end >= 0) return end
  }
  return -1
}
/** Matches `store:={store}` against the search's filter, part by part. */
const captureFilter = (pattern: string, filter: string, values: Map<string, string>): boolean => {
  const wanted = pattern.split("&&").map((part) => part.trim())
  const given = filter.split("&&").map((part) => part.trim())
  if (wanted.length !== given.length) return false
  for (const [i, part] of wanted.entries()) {
    const placeholder = PLACEHOLDER.exec(part)
    if (placeholder === null) {
      if (part !== given[i]) return false
      continue
    }
    const before = part.slice(0, placeholder.index)
    const after = part.slice(placeholder.index + placeholder[0].length)
    if (!given[i].startsWith(before) || !given[i].endsWith(after) || given[i].length <= before.length + after.length)
      return false
    values.set(placeholder[1].trim(), given[i].slice(before.length, given[i].length - after.length).replaceAll("`", ""))
  }
  return true
}
