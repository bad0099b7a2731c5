/**
 * Typed reading of search parameters (`docs/contract/search.md#parameters`): text forms, the messages for bad numbers,
 * and the order in which a request, its entry, a scoped key and a preset are merged. The table at the end says which
 * parameter is read where. `facet_sample_percent`, `facet_sample_threshold`, `facet_sample_slope` and
 * `group_max_candidates` are validated and have no effect: they trade exactness for time, whereas here every count of
 * facets and groups is exact (`sampled` is always false). The default and the maximum of `search_cutoff_ms` are limits
 * of the host.
 */
import { fail, invalid, ok, type Result } from "../errors.ts"
import { joinFilterTexts } from "./filter-parser.ts"
import type { Preset } from "./query-context.ts"
import { isDecimal, isUnsigned, listOf } from "./text-scanner.ts"

export type Parameters = { readonly [name: string]: string }
const MALFORMED = "One or more search parameters are malformed."

/**
 * Maximum characters of a parameter. Expressions and lists may name thousands of values; a tag that surrounds every
 * marked word is short.
 */
const CHARACTERS_MAX = 4_000
const LIST_CHARACTERS_MAX = 100_000
const charactersMax: ReadonlyMap<string, number> = new Map([
  ["highlight_start_tag", 100],
  ["highlight_end_tag", 100],
  ["q", 10_000],
  ["filter_by", 1_000_000],
  ["vector_query", 1_000_000],
  // A recording in base64; the bound on the request body applies first.
  ["voice_query", 40_000_000],
  ...[
    "query_by",
    "query_by_weights",
    "sort_by",
    "facet_by",
    "facet_strategy",
    "facet_return_parent",
    "group_by",
    "include_fields",
    "exclude_fields",
    "highlight_fields",
    "highlight_full_fields",
    "pinned_hits",
    "hidden_hits",
    "stopwords",
    "synonym_sets",
    "curation_tags"
  ].map((name) => [name, LIST_CHARACTERS_MAX] as const)
])
/** No parameter has a smaller bound, so shorter texts are always accepted. */
const ALWAYS_TAKEN = 100
const isTooLong = (name: string, value: string): boolean =>
  value.length > ALWAYS_TAKEN && value.length > (charactersMax.get(name) ?? CHARACTERS_MAX)

/**
 * Converts scalars to text; undefined values are dropped. Refuses objects, arrays and null, and texts longer than their
 * parameter allows.
 */
export const textParameters = (raw: { readonly [name: string]: unknown }): Result<Parameters> => {
  const out: Record<string, string> = {}
  for (const name of Object.keys(raw)) {
    const value = raw[name]
    if (value === undefined) continue
    if (typeof value === "string") {
      if (isTooLong(name, value))
        return fail(
          invalid(
            `Parameter \`${name.slice(0, 80)}\` may have at most ${charactersMax.get(name) ?? CHARACTERS_MAX} characters.`,
            name
          )
        )
      out[name] = value
    } else if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint")
      out[name] = String(value)
    else return fail(invalid(MALFORMED, name))
  }
  return ok(out)
}
/** Merges parameters; `base` wins, but `filter_by` is joined. Invalid if a filter text cannot be joined. */
export const fillGaps = (base: Parameters, more: Parameters): Result<Parameters> =>
  withFilter({ ...more, ...base }, base.filter_by, more.filter_by)
const withFilter = (
  merged: Record<string, string>,
  first: string | undefined,
  second: string | undefined
): Result<Parameters> => {
  const filter = joinFilterTexts(first, second)
  if (!filter.ok) return filter
  if (filter.value !== undefined) merged.filter_by = filter.value
  return ok(merged)
}
/**
 * Fills in missing parameters from the named preset. `preset` remains in the result only if the name is unknown, in
 * which case it is ignored; so applying a preset twice changes nothing.
 */
export const applyPreset = (
  parameters: Parameters,
  presetOf: (name: string) => Preset | undefined
): Result<Parameters> => {
  if (parameters.preset === undefined) return ok(parameters)
  const { preset: name, ...rest } = parameters
  const preset = name === undefined || name === "" ? undefined : presetOf(name)
  if (preset === undefined) return ok(parameters)
  if (typeof preset.value !== "object" || preset.value === null || "searches" in preset.value) return ok(rest)
  const values = textParameters(preset.value as Record<string, unknown>)
  return values.ok ? fillGaps(rest, values.value) : values
}

export const booleanOf = (parameters: Parameters, name: string, fallback: boolean): boolean => {
  const text = parameters[name]
  return text === undefined ? fallback : text === "true"
}
/** Parameters that are lists, whose entries a search iterates over. */
const LISTS = [
  "include_fields",
  "exclude_fields",
  "highlight_fields",
  "highlight_full_fields",
  "facet_by",
  "facet_strategy",
  "facet_return_parent",
  "group_by",
  "sort_by",
  "synonym_sets",
  "stopwords",
  "curation_tags",
  "pinned_hits",
  "hidden_hits",
  "query_by_weights",
  "num_typos",
  "prefix",
  "infix"
] as const
/** Maximum entries with a `*`, each of which stands for many fields. */
const PATTERNS_MAX = 100
/** Commas bound the number of entries, including nested ones, and counting them costs next to nothing. */
const countOf = (text: string, character: string, most: number): number => {
  let count = 0
  for (let at = text.indexOf(character); at >= 0 && count <= most; at = text.indexOf(character, at + 1)) count++
  return count
}
/** Invalid for the first list with more than `items_max` entries, or more patterns than a search may expand. */
export const checkLists = (parameters: Parameters, items_max: number): Result<undefined> => {
  for (const name of LISTS) {
    const text = parameters[name]
    if (text === undefined || text.length < PATTERNS_MAX) continue
    // A facet range itself contains two commas; the facet's grammar bounds the number of ranges.
    const most = name === "facet_by" ? items_max * 3 : items_max
    if (text.length >= most && countOf(text, ",", most) >= most)
      return fail(invalid(`Parameter \`${name}\` has too many entries: at most ${items_max} are allowed.`, name))
    if (countOf(text, "*", PATTERNS_MAX) > PATTERNS_MAX)
      return fail(invalid(`Parameter \`${name}\` has too many patterns: at most ${PATTERNS_MAX} are allowed.`, name))
  }
  return ok(undefined)
}
export const listParameter = (parameters: Parameters, name: string): ReadonlyArray<string> =>
  listOf(parameters[name] ?? "")

const INTEGERS = {
  min_len_1typo: 4,
  min_len_2typo: 7,
  typo_tokens_threshold: 1,
  drop_tokens_threshold: 1,
  max_candidates: -1,
  max_extra_prefix: 32_767,
  max_extra_suffix: 32_767,
  max_facet_values: 10,
  facet_query_num_typos: 2,
  facet_sample_percent: 100,
  facet_sample_threshold: 0,
  facet_sample_slope: 0,
  page: -1,
  per_page: -1,
  limit: -1,
  offset: -1,
  limit_hits: 1_000_000,
  group_limit: 3,
  group_max_candidates: -1,
  highlight_affix_num_tokens: 4,
  snippet_threshold: 30,
  synonym_num_typos: 0,
  search_cutoff_ms: -1,
  max_filter_by_candidates: 4,
  remote_embedding_timeout_ms: 30_000,
  remote_embedding_num_tries: 2,
  cache_ttl: 60,
  nl_query_prompt_cache_ttl: 86_400,
  rerank_top_k: -1
} as const
type IntegerParameter = keyof typeof INTEGERS
export const INTEGER_PARAMETERS: ReadonlyArray<string> = Object.keys(INTEGERS)
export type Integers = { readonly [name in IntegerParameter]: number }
/** Reads every integer parameter with its default (-1 = not given), or returns the message for the first bad one. */
export const readIntegers = (parameters: Parameters): Result<Integers> => {
  const out: Record<string, number> = { ...INTEGERS }
  for (const name of Object.keys(parameters)) {
    if (!Object.hasOwn(INTEGERS, name)) continue
    const text = parameters[name]
    if (!isUnsigned(text)) return fail(invalid(`Parameter \`${name}\` must be an unsigned integer.`, name))
    out[name] = Number(text)
  }
  if (out.rerank_top_k === 0) return fail(invalid("Parameter `rerank_top_k` must be at least 1.", "rerank_top_k"))
  return ok(out as Integers)
}
/** Reads a decimal within bounds; any other text gives `fallback`. */
export const decimalOf = (parameters: Parameters, name: string, min: number, max: number, fallback: number): number => {
  const text = parameters[name]
  if (text === undefined || !isDecimal(text)) return fallback
  const value = Number(text)
  return value >= min && value <= max ? value : fallback
}

/**
 * Every search parameter by which part handles it: the compiler of this folder, the host around the engine (caching,
 * embedding, analytics), or the control plane, which removes those it has used.
 */
export const PARAMETER_OWNERS: Readonly<Record<string, "compiler" | "host" | "control plane">> = {
  ...owned(
    "compiler",
    `q query_by query_by_weights ranking text_match_type prefix infix filter_by sort_by facet_by facet_query num_typos group_by include_fields exclude_fields
    highlight_full_fields highlight_start_tag highlight_end_tag highlight_fields synonym_sets drop_tokens_mode pinned_hits hidden_hits curation_tags split_join_tokens preset
    vector_query facet_strategy stopwords facet_return_parent max_extra_prefix max_extra_suffix max_filter_by_candidates max_facet_values facet_query_num_typos page per_page
    limit offset limit_hits group_limit highlight_affix_num_tokens snippet_threshold drop_tokens_threshold typo_tokens_threshold synonym_num_typos max_candidates search_cutoff_ms
    min_len_1typo min_len_2typo validate_field_names group_missing_values group_max_candidates enable_highlight_v1 enable_typos_for_alpha_numerical_tokens
    enable_typos_for_numerical_tokens filter_curated_hits enable_synonyms synonym_prefix demote_synonym_match pre_segmented_query enable_curations prioritize_exact_match
    prioritize_token_position prioritize_num_matching_fields exhaustive_search rerank_hybrid_matches diversity_lambda facet_sample_percent facet_sample_threshold facet_sample_slope`
  ),
  ...owned(
    "host",
    "voice_query remote_embedding_timeout_ms remote_embedding_num_tries use_cache cache_ttl enable_analytics analytics_tag enable_lazy_filter collection union"
  ),
  ...owned(
    "control plane",
    `query_rewrite refinements search_policy x_user_id x_anonymous_id x_surface x_device x_language x_country x_experiment_variant rerank rerank_model rerank_top_k
    x_personalization_strength nl_query nl_model_id nl_query_debug nl_query_prompt_cache_ttl conversation conversation_model_id conversation_id conversation_stream profile sort debug`
  )
}
function owned<Owner extends string>(owner: Owner, names: string): Record<string, Owner> {
  return Object.fromEntries(
    names
      .split(/\s+/)
      .filter((name) => name !== "")
      .map((name) => [name, owner])
  )
}
