/**
 * Prints a checked plan as the parameters of a search; pure. Parsing them gives the same plan. A plan that no
 * parameters can express is refused by name. What an answer repeats (`echo`), and restrictions on pinned documents, are
 * left to the caller.
 */
import { analyzerOf } from "../analysis/mod.ts"
import { fail, ok, type Result } from "../errors.ts"
import type { HighlightRequest, QueryField, SearchPlan, TextQuery, VectorQuery } from "../plan.ts"
import { allOf, fieldNamed } from "../query/mod.ts"
import { readFieldSettings, resolveQueryFields } from "../query/query-fields.ts"
import { filterText, isListable, prefixCandidatesOf, type SchemaContext } from "./print-filters.ts"
import { shownText } from "./print-selection.ts"
import { facetText, sortText } from "./print-sort.ts"
import { vectorText } from "./print-vector.ts"
import { printWords } from "./print-words.ts"
import { planRefusal, Unprintable } from "./refusals.ts"

export type PrintedParameters = { readonly [name: string]: string | number | boolean }
type Draft = Record<string, string | number | boolean>

/** Fails with CapabilityMissing. O(plan); words that an analyzer might change are analysed again. */
export const printPlan = (plan: SearchPlan, context: SchemaContext): Result<PrintedParameters> => {
  const refused = planRefusal(plan)
  if (refused !== undefined) return fail(refused)
  try {
    const out: Draft = { q: "*" }
    if (plan.text !== undefined) putText(out, plan.text, plan, context)
    else putNames(out, implicitNames(plan.highlight))
    if (plan.vector !== undefined) putVector(out, plan.vector)
    putFilter(out, plan, context)
    putOrder(out, plan, context)
    putFacets(out, plan)
    putPlaces(out, plan)
    Object.assign(out, shownText(plan.selection, plan.filter, context))
    putHighlight(out, plan, context)
    out.search_cutoff_ms = Math.max(0, Math.floor(plan.cutoff_ms))
    return ok(out)
  } catch (error) {
    if (error instanceof Unprintable) return fail(error.error)
    throw error
  }
}

/** A parameter with its default value is left out. */
const put = <A extends string | number | boolean>(out: Draft, name: string, value: A, usual: A): void => {
  if (value !== usual) out[name] = value
}
const putNames = (out: Draft, names: ReadonlyArray<string>): void => {
  if (names.length > 0) out.query_by = names.join(",")
}

const putText = (out: Draft, text: TextQuery, plan: SearchPlan, context: SchemaContext): void => {
  const { dictionaries, schema } = context
  const top = fieldNamed(schema, text.fields[0]!.field)
  if (top === undefined) throw new Unprintable("text_score_values", "query_by", `field \`${text.fields[0]!.field}\``)
  const asked = printWords(text, {
    analyzer: analyzerOf(schema, top, dictionaries),
    locale: top.locale,
    symbolsToIndex: top.symbols_to_index.length > 0 ? top.symbols_to_index : schema.symbols_to_index,
    tokenSeparators: top.token_separators.length > 0 ? top.token_separators : schema.token_separators,
    asked: plan.echo.q
  })
  Object.assign(out, asked)
  putFields(out, text.fields, plan.highlight, context)
  put(out, "text_match_type", text.textMatchType, "max_score")
  put(out, "prioritize_exact_match", text.prioritizeExactMatch, true)
  put(out, "prioritize_token_position", text.prioritizeTokenPosition, false)
  put(out, "prioritize_num_matching_fields", text.prioritizeNumMatchingFields, true)
  put(out, "min_len_1typo", text.minLen1Typo, 4)
  put(out, "min_len_2typo", text.minLen2Typo, 7)
  put(out, "typo_tokens_threshold", text.typoTokensThreshold, 1)
  put(out, "drop_tokens_threshold", text.dropTokensThreshold, 1)
  const { dropTokensMode } = text
  put(
    out,
    "drop_tokens_mode",
    dropTokensMode.kind === "both_sides" ? `both_sides:${dropTokensMode.tokens_max}` : dropTokensMode.kind,
    "right_to_left"
  )
  put(out, "split_join_tokens", text.splitJoinTokens, "fallback")
  put(out, "enable_typos_for_numerical_tokens", text.typosForNumericalTokens, true)
  put(out, "enable_typos_for_alpha_numerical_tokens", text.typosForAlphaNumericalTokens, true)
  if (text.maxCandidates !== undefined) out.max_candidates = text.maxCandidates
  put(out, "exhaustive_search", text.exhaustive, false)
  put(out, "max_extra_prefix", text.maxExtraPrefix, 32_767)
  put(out, "max_extra_suffix", text.maxExtraSuffix, 32_767)
  put(out, "synonym_prefix", text.synonymPrefix, false)
  put(out, "demote_synonym_match", text.demoteSynonymMatch, false)
}

const implicitNames = ({ explicit, fields }: HighlightRequest): ReadonlyArray<string> => (explicit ? [] : fields)
/** Field names as they are highlighted: fields of an object are represented by the object's name, in its position. */
const namesOf = (fields: ReadonlyArray<QueryField>, highlight: HighlightRequest): ReadonlyArray<string> => {
  const names: string[] = []
  for (const { field } of fields) {
    const object = implicitNames(highlight).find((name) => field.startsWith(`${name}.`))
    const name = object ?? field
    if (!names.includes(name)) names.push(name)
  }
  // In the order in which they were named, which is also that of highlights; the heaviest field need not be the first.
  const inOrder = implicitNames(highlight).filter((name) => names.includes(name))
  const shown = new Set(inOrder)
  return names.map((name) => (shown.has(name) ? inOrder.shift()! : name))
}
const settingsOf = (fields: ReadonlyArray<QueryField>, names: ReadonlyArray<string>): Draft => {
  const first = names.map((name) => fields.find(({ field }) => field === name || field.startsWith(`${name}.`))!)
  return {
    query_by: names.join(","),
    query_by_weights: first.map(({ weight }) => weight).join(","),
    num_typos: first.map(({ numTypos }) => numTypos).join(","),
    prefix: first.map(({ prefix }) => prefix).join(","),
    ...(first.every(({ infix }) => infix === "off") ? {} : { infix: first.map(({ infix }) => infix).join(",") })
  }
}
const putFields = (
  out: Draft,
  fields: ReadonlyArray<QueryField>,
  highlight: HighlightRequest,
  { schema }: SchemaContext
): void => {
  const plain = fields.map(({ field }) => field)
  const named = namesOf(fields, highlight)
  const isSame = (names: ReadonlyArray<string>): boolean => {
    const settings = settingsOf(fields, names) as Record<string, string>
    const read = readFieldSettings(settings, names.length)
    const resolved = read.ok ? resolveQueryFields(names, read.value, schema, true) : read
    return resolved.ok && JSON.stringify(resolved.value.fields) === JSON.stringify(fields)
  }
  // In nearly all cases they are the fields as given.
  const names = named.every((name, i) => name === plain[i]) || !isSame(named) ? plain : named
  Object.assign(out, settingsOf(fields, names))
}

const putVector = (out: Draft, query: VectorQuery): void => {
  out.vector_query = vectorText(query, "vector_query")
  put(out, "rerank_hybrid_matches", query.rerankHybridMatches, false)
}

const putFilter = (out: Draft, plan: SearchPlan, context: SchemaContext): void => {
  const filter = plan.matchesNothing ? allOf(plan.filter, { kind: "none" }) : plan.filter
  if (filter !== undefined) out.filter_by = filterText(filter, context)
  const all = [filter, ...plan.sort.flatMap((key) => (key.kind === "eval" ? key.cases.map((one) => one.filter) : []))]
  const [candidates = 4] = all.flatMap((one) => prefixCandidatesOf(one) ?? [])
  put(out, "max_filter_by_candidates", candidates, 4)
}
const putOrder = (out: Draft, plan: SearchPlan, context: SchemaContext): void => {
  if (plan.sort.length > 0) out.sort_by = sortText(plan.sort, context)
  if (plan.group !== undefined) {
    out.group_by = plan.group.fields.join(",")
    put(out, "group_limit", plan.group.limit, 3)
    put(out, "group_missing_values", plan.group.missingValues, true)
  }
  out.offset = plan.offset
  out.limit = plan.limit
  put(out, "limit_hits", plan.hits_max, 1_000_000)
}
const putFacets = (out: Draft, { facetQuery, facetSample, facets, facetValuesMax }: SearchPlan): void => {
  if (facets.length === 0) return
  out.facet_by = facetText(facets)
  put(out, "max_facet_values", facetValuesMax, 10)
  const strategies = facets.map(({ strategy }) => strategy)
  put(out, "facet_strategy", strategies.join(","), strategies.map(() => "automatic").join(","))
  const parents = facets.filter(({ returnParent }) => returnParent).map(({ field }) => field)
  put(out, "facet_return_parent", parents.join(","), "")
  put(out, "facet_sample_percent", facetSample.percent, 100)
  put(out, "facet_sample_threshold", facetSample.threshold, 0)
  if (facetQuery === undefined) return
  out.facet_query = `${facetQuery.field}:${facetQuery.text}`
  put(out, "facet_query_num_typos", facetQuery.numTypos, 2)
}

/** Lists of ids cannot be quoted. */
const listedId = (id: string, parameter: string): string => {
  if (!isListable(id) || id.includes(","))
    throw new Unprintable("exact_ties", parameter, "way to list an id with commas")
  return id
}
const putPlaces = (out: Draft, { filterCuratedHits, hidden, pinned }: SearchPlan): void => {
  if (pinned.length > 0)
    out.pinned_hits = pinned.map(({ id, position }) => `${listedId(id, "pinned_hits")}:${position}`).join(",")
  if (hidden.length > 0) out.hidden_hits = hidden.map((id) => listedId(id, "hidden_hits")).join(",")
  put(out, "filter_curated_hits", filterCuratedHits, false)
}

const noField = (schema: SchemaContext["schema"], name = "none_"): string =>
  schema.fields.some((field) => field.name.startsWith(name)) ? noField(schema, `${name}_`) : name
const putHighlight = (out: Draft, { highlight }: SearchPlan, { schema }: SchemaContext): void => {
  // A pattern that matches no field, so that nothing is highlighted.
  if (highlight.explicit)
    out.highlight_fields = highlight.fields.length === 0 ? `${noField(schema)}*` : highlight.fields.join(",")
  put(out, "highlight_full_fields", highlight.fullFields.join(","), "")
  put(out, "highlight_affix_num_tokens", highlight.affixTokens, 4)
  put(out, "snippet_threshold", highlight.snippetThreshold, 30)
  put(out, "highlight_start_tag", highlight.startTag, "<mark>")
  put(out, "highlight_end_tag", highlight.endTag, "</mark>")
  put(out, "enable_highlight_v1", highlight.v1, true)
}
