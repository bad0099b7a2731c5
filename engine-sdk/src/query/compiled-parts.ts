/** Parts of a compiled search that are independent of the others. */
import { type Analyzer, createAnalyzer } from "../analysis/mod.ts"
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { SearchPlan, SortKey, TextQuery } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import { type CurationOutcome } from "./curation.ts"
import { fieldNamed, type StopwordSet } from "./query-context.ts"
import { listOf } from "./text-scanner.ts"

/** Cached variants, shared by several searches; dropped when dictionaries or synonyms change. */
const stemmed = new WeakMap<ReadonlyArray<ReadonlyArray<string>>, WeakMap<Analyzer, TextQuery["synonyms"]>>()
export const stemmedOf = (
  variants: ReadonlyArray<ReadonlyArray<string>>,
  analyzer: Analyzer
): TextQuery["synonyms"] => {
  if (variants.length === 0) return []
  let own = stemmed.get(variants)
  if (own === undefined) stemmed.set(variants, (own = new WeakMap()))
  let made = own.get(analyzer)
  if (made === undefined)
    own.set(analyzer, (made = variants.map((tokens) => ({ tokens: tokens.map((token) => analyzer.stem(token)) }))))
  return made
}

/** The plan without the part that depends on the caller. */
export const withoutCaller = ({ pinnedFilter: _own, ...plan }: SearchPlan): SearchPlan => plan
const stopwordCache = new WeakMap<StopwordSet, ReadonlyArray<string>>()
/** The words of a set, tokenized by its locale. */
export const stopwordTokens = (set: StopwordSet): ReadonlyArray<string> => {
  const known = stopwordCache.get(set)
  if (known !== undefined) return known
  const analyzer = createAnalyzer({ locale: set.locale ?? "" })
  const words = [...new Set(set.stopwords.flatMap((entry) => analyzer.tokenize(entry)))]
  stopwordCache.set(set, words)
  return words
}
export const expandNames = (names: ReadonlyArray<string>, schema: CollectionSchema): ReadonlyArray<string> => [
  ...new Set(
    names.flatMap((name) =>
      name.endsWith("*")
        ? schema.fields
            .filter(
              (field) =>
                field.name.startsWith(name.slice(0, -1)) && (field.type === "string" || field.type === "string[]")
            )
            .map((field) => field.name)
        : [name]
    )
  )
]

/**
 * `*` or an empty text. A text without words is different: it is a text search that matches everything with score 100.
 */
export const isEverything = (q: string): boolean => q === "" || q.trim() === "*"
export const splitJoinOf = (text: string | undefined): TextQuery["splitJoinTokens"] =>
  text === "off" || text === "false" ? "off" : text === "always" ? "always" : "fallback"
export const dropModeOf = (text: string | undefined): Result<TextQuery["dropTokensMode"]> => {
  if (text === undefined || text === "right_to_left") return ok({ kind: "right_to_left" })
  if (text === "left_to_right") return ok({ kind: "left_to_right" })
  if (text === "both_sides") return ok({ kind: "both_sides", tokens_max: 1_000 })
  const both = /^both_sides:(\d{1,9})$/.exec(text)
  return both === null
    ? fail(invalid("Invalid format for drop tokens mode.", "drop_tokens_mode"))
    : ok({ kind: "both_sides", tokens_max: Number(both[1]) })
}
/** Parses `id:position` lists; the position follows the last colon. */
export const pinnedHits = (text: string): Result<ReadonlyArray<{ readonly id: string; readonly position: number }>> => {
  const pins: Array<{ id: string; position: number }> = []
  for (const item of listOf(text)) {
    const colon = item.lastIndexOf(":")
    const position = item.slice(colon + 1).trim()
    const id = item.slice(0, Math.max(0, colon)).trim().replaceAll("`", "")
    if (colon <= 0 || !/^\d+$/.test(position) || id === "")
      return fail(invalid("Pinned hits are not in expected format.", "pinned_hits"))
    if (Number(position) === 0) return fail(invalid("Pinned hits must start from position 1.", "pinned_hits"))
    pins.push({ id, position: Number(position) })
  }
  return ok(pins)
}
/** Documents that rules include precede a request's pins and keep contested positions; hidden ones are never pinned. */
export const placePins = (
  outcome: CurationOutcome,
  pins: ReadonlyArray<{ readonly id: string; readonly position: number }>,
  excluded: ReadonlySet<string>
): ReadonlyArray<{ readonly id: string; readonly position: number }> => {
  const placed: Array<{ id: string; position: number }> = []
  const seen = new Set<string>()
  for (const { id, position } of [...outcome.includes, ...pins]) {
    if (excluded.has(id) || seen.has(id)) continue
    seen.add(id)
    placed.push({ id, position: Math.max(1, position) })
  }
  return placed.sort((a, b) => a.position - b.position)
}

/** Sort keys for the default sorting field, highest first; empty (newest first) without one. */
export const defaultSort = (schema: CollectionSchema): ReadonlyArray<SortKey> => {
  const field = schema.default_sorting_field === "" ? undefined : fieldNamed(schema, schema.default_sorting_field)
  return field === undefined
    ? []
    : [
        {
          kind: "field",
          field: field.name,
          type: field.type.replace("[]", "") as "int32",
          missing: "normal",
          order: "desc"
        }
      ]
}
/** The effective keys (`docs/contract/sorting.md#effective-keys`). */
export const effectiveSort = (
  given: ReadonlyArray<SortKey>,
  isText: boolean,
  isVector: boolean,
  schema: CollectionSchema
): ReadonlyArray<SortKey> => {
  const relevance: SortKey[] = isText ? [{ kind: "text_match", order: "desc" }] : []
  if (isVector) relevance.push({ kind: "vector_distance", order: "asc" })
  if (given.length === 0) return [...relevance, ...defaultSort(schema)].slice(0, 3)
  const keys = [...given]
  for (const key of relevance) if (keys.length < 3 && !keys.some((known) => known.kind === key.kind)) keys.push(key)
  return keys
}
