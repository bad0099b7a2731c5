/**
 * Compiles search parameters into a validated plan. Validation follows `docs/contract/search.md#order-of-validation`,
 * and the first failure is reported. Nothing is executed here, except that curation placeholders may ask the engine
 * whether a value exists.
 */
import { type Analyzer, analyzerOf } from "../analysis/mod.ts"
import { isSelected } from "../documents/select.ts"
import { fail, invalid, notFound, ok, type Result } from "../errors.ts"
import type {
  FacetRequest,
  GroupRequest,
  HighlightRequest,
  SearchPlan,
  Selection,
  SortKey,
  TextQuery,
  VectorQuery,
  QueryEmbedding
} from "../plan.ts"
import type { Filter } from "../filter.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import { applyCurations, type CurationOutcome } from "./curation.ts"
import { covers, limitSelection, namesAllowed, notAllowed, visibleCollection } from "./field-list.ts"
import { parseFacetQuery, parseFacets, parseFacetStrategies } from "./facet-parser.ts"
import { allOf, parseFilter } from "./filter-parser.ts"
import {
  applyPreset,
  booleanOf,
  checkLists,
  decimalOf,
  listParameter,
  readIntegers,
  textParameters,
  type Integers,
  type Parameters
} from "./parameters.ts"
import {
  DEFAULT_LIMITS,
  fieldContextOf,
  fieldNamed,
  type FieldContext,
  type QueryLimits,
  type SearchContext,
  type SynonymSet
} from "./query-context.ts"
import { askedText, rankingOf, relevanceQuery } from "./relevance-query.ts"
import { readFieldSettings, resolveQueryFields, type QueryFields } from "./query-fields.ts"
import { parseQueryWords, type QueryWords } from "./query-words.ts"
import { parseSelection } from "./selection-parser.ts"
import { parseSortClauses, resolveSort, type SortClause, type SortContext } from "./sort-parser.ts"
import { expandSynonyms } from "./synonym-expansion.ts"
import { TemplateCache, templateKey } from "./plan-templates.ts"
import { listOf } from "./text-scanner.ts"
import { DEFAULT_ALPHA, DEFAULT_EF, parseVectorQuery, type VectorRequest } from "./vector-parser.ts"
import {
  dropModeOf,
  effectiveSort,
  expandNames,
  isEverything,
  pinnedHits,
  placePins,
  splitJoinOf,
  stemmedOf,
  stopwordTokens,
  withoutCaller
} from "./compiled-parts.ts"

const HYBRID_NEIGHBOURS_MIN = 100
/** Decision: a facet shows at most this many values, whatever the request says; a megabyte of values is useless. */
const FACET_VALUES_MAX = 10_000

/**
 * `raw` is what the caller sent (numbers and booleans may be native). Fails with Invalid (400) or NotFound (404).
 * O(parameters + synonyms and curation items that apply).
 */
export const compileSearch = (
  raw: { readonly [name: string]: unknown },
  context: SearchContext
): Result<SearchPlan> => {
  const text = textParameters(raw)
  return text.ok ? compileParameters(text.value, context) : text
}
/** Like `compileSearch`, for parameters that are already texts. */
export const compileParameters = (parameters: Parameters, context: SearchContext): Result<SearchPlan> => {
  const preset = applyPreset(parameters, context.resources.preset)
  if (!preset.ok) return preset
  const key = templateKey(
    visibleCollection(context.collection, context.fields).schema,
    preset.value,
    context.limits ?? DEFAULT_LIMITS
  )
  const compilation = new Compilation(preset.value, context)
  const template = key === undefined ? undefined : templates.get(key)
  const known = template === undefined ? undefined : compilation.again(template)
  if (known !== undefined) return ok(known)
  const plan = compilation.run()
  if (!plan.ok) return plan
  if (key !== undefined && compilation.template !== undefined) templates.put(key, compilation.template)
  return context.budget === undefined ? plan : ok({ ...plan.value, budget: context.budget })
}
/** The results that compiling the same parameters with other words would produce again. */
interface Template {
  readonly integers: Integers
  readonly parts: Parts
  readonly plan: SearchPlan
}
const templates = new TemplateCache<Template>()

interface Paging {
  readonly offset: number
  readonly limit: number
  readonly page: number | undefined
  readonly echoOffset: number | undefined
}
type Checked<A> = Result<A>
/** From this many characters on, parsing a filter costs more than looking it up in the cache of parsed filters. */
const LONG_FILTER = 200

class Compilation {
  readonly #parameters: Parameters
  readonly #context: SearchContext
  readonly #schema: CollectionSchema
  /** The schema with only the fields that the caller may name. */ readonly #visible: CollectionSchema
  readonly #limits: QueryLimits
  readonly #validateNames: boolean
  #integers!: Integers
  #fields!: FieldContext
  /** The context for the tenant's own configuration, which may name any field. */ #owned!: FieldContext
  constructor(parameters: Parameters, context: SearchContext) {
    this.#parameters = parameters
    this.#context = context
    this.#schema = context.collection.schema
    this.#visible = visibleCollection(context.collection, context.fields).schema
    this.#limits = { ...DEFAULT_LIMITS, ...context.limits }
    this.#validateNames = context.fields !== undefined || booleanOf(parameters, "validate_field_names", true)
  }

  /** Set if the plan depends only on words and fields, so that it can be reused with other words. */
  template: Template | undefined
  /** Like `run`, from the template of the same parameters; undefined if these words need a full compilation. */
  again({ integers, parts, plan }: Template): SearchPlan | undefined {
    const q = this.#parameters.q
    if (q === undefined || isEverything(q)) return undefined
    this.#integers = integers
    const { nothing, query } = this.#text(parts, q, plan.text)
    if (query === undefined) return undefined
    const { budget, forcedFilter } = this.#context
    return {
      ...plan,
      text: query,
      matchesNothing: nothing || parts.found.group.nothing,
      filter: allOf(parts.filter, forcedFilter),
      ...(forcedFilter === undefined ? {} : { pinnedFilter: forcedFilter }),
      ...(budget === undefined ? {} : { budget }),
      echo: { ...plan.echo, q }
    }
  }

  run(): Checked<SearchPlan> {
    const p = this.#parameters
    if (p.voice_query !== undefined && p.voice_query !== "" && this.#schema.voice_query_model === undefined) {
      return fail(
        invalid("Voice query is not enabled. Please set `voice_query_model` for this collection.", "voice_query")
      )
    }
    if (p.q === undefined) return fail(invalid("Parameter `q` is required.", "q"))
    const lists = checkLists(p, this.#limits.list_items_max)
    if (!lists.ok) return lists
    const stopwords = this.#stopwords()
    if (!stopwords.ok) return stopwords
    const integers = readIntegers(p)
    if (!integers.ok) return integers
    this.#integers = integers.value
    this.#fields = fieldContextOf(
      this.#context.collection,
      this.#context,
      this.#validateNames,
      integers.value.max_filter_by_candidates
    )
    this.#owned =
      this.#context.fields === undefined
        ? this.#fields
        : fieldContextOf(
            this.#context.collection,
            { ...this.#context, fields: undefined },
            this.#validateNames,
            integers.value.max_filter_by_candidates
          )
    const clauses = parseSortClauses(p.sort_by ?? "")
    if (!clauses.ok) return clauses
    return this.#afterSort(isEverything(p.q), stopwords.value, clauses.value)
  }

  #afterSort(
    matchAll: boolean,
    stopwords: ReadonlySet<string>,
    clauses: ReadonlyArray<SortClause>
  ): Checked<SearchPlan> {
    const p = this.#parameters
    const names = listParameter(p, "query_by")
    if (!matchAll && names.length === 0 && (p.vector_query ?? "") === "")
      return fail(invalid("No search fields specified for the query.", "query_by"))
    if (names.length > this.#limits.query_fields_max)
      return fail(
        invalid(`Only upto ${this.#limits.query_fields_max} fields can be specified in \`query_by\`.`, "query_by")
      )
    const settings = readFieldSettings(p, names.length)
    if (!settings.ok && names.length > 0) return settings
    const numbers = this.#numberLimits()
    if (!numbers.ok) return numbers
    const vector = parseVectorQuery(p.vector_query ?? "", this.#visible, (p.q ?? "").trim() === "*")
    if (!vector.ok) return vector
    const ids = this.#idsNamed(vector.value?.likeId !== undefined)
    if (!ids.ok) return ids
    const queryFields = settings.ok
      ? this.#named("query_by", resolveQueryFields(names, settings.value, this.#visible, this.#validateNames))
      : ok<QueryFields>({ fields: [], embedding: undefined, highlighted: [], allUnknown: false })
    if (!queryFields.ok) return queryFields
    const group = this.#named("group_by", this.#group())
    if (!group.ok) return group
    return this.#afterGroup({
      matchAll,
      stopwords,
      clauses,
      vector: vector.value,
      queryFields: queryFields.value,
      group: group.value
    })
  }

  #afterGroup(found: Found): Checked<SearchPlan> {
    const p = this.#parameters
    const sortContext: SortContext = {
      ...this.#fields,
      now_s: this.#context.now_s,
      hasVectorQuery: found.vector !== undefined || found.queryFields.embedding !== undefined,
      isGrouped: found.group.request !== undefined,
      namesErrors: this.#context.fields !== undefined
    }
    const ownedSort: SortContext = { ...sortContext, ...this.#owned }
    // Joins in the filter determine what is included, but errors in the include list take precedence.
    const early = parseSelection(p.include_fields ?? "", p.exclude_fields ?? "", undefined, sortContext)
    if (!early.ok) return early
    const filter = this.#filter(p.filter_by ?? "")
    if (!filter.ok) return filter
    const facets = this.#named("facet_by", this.#facets())
    if (!facets.ok) return facets
    const facetQuery = parseFacetQuery(
      p.facet_query ?? "",
      facets.value,
      this.#fields,
      Math.min(2, this.#integers.facet_query_num_typos) as 0 | 1 | 2
    )
    if (!facetQuery.ok) return facetQuery
    const paging = this.#paging()
    if (!paging.ok) return paging
    const dropMode = dropModeOf(p.drop_tokens_mode)
    if (!dropMode.ok) return dropMode
    const pins = pinnedHits(p.pinned_hits ?? "")
    if (!pins.ok) return pins
    const shown = this.#shownNames()
    if (!shown.ok) return shown
    const curated = this.#curate(found, ownedSort)
    if (!curated.ok) return curated
    const outcome = curated.value
    const effective = outcome.filterBy === (p.filter_by ?? "") ? filter : parseFilter(outcome.filterBy, this.#owned)
    if (!effective.ok) return effective
    const curatedClauses = outcome.sortBy === (p.sort_by ?? "") ? undefined : parseSortClauses(outcome.sortBy)
    const sort =
      curatedClauses?.ok === true
        ? resolveSort(curatedClauses.value, ownedSort)
        : this.#named("sort_by", resolveSort(found.clauses, sortContext))
    if (!sort.ok) return sort
    const synonyms = this.#synonymSets(outcome.q.trim() === "*")
    if (!synonyms.ok) return synonyms
    const parsed = parseSelection(p.include_fields ?? "", p.exclude_fields ?? "", effective.value, sortContext)
    if (!parsed.ok) return parsed
    const { fields } = this.#context
    const selection =
      fields === undefined
        ? parsed.value
        : { ...parsed.value, selection: limitSelection(parsed.value.selection, fields) }
    return this.#assemble({
      found,
      outcome,
      filter: effective.value,
      facets: facets.value,
      facetQuery: facetQuery.value,
      paging: paging.value,
      dropMode: dropMode.value,
      pins: pins.value,
      sort: sort.value,
      synonymSets: synonyms.value,
      selection
    })
  }

  #filter(text: string): ReturnType<typeof parseFilter> {
    const { filters } = this.#context
    if (filters === undefined || text.length < LONG_FILTER) return parseFilter(text, this.#fields)
    const key = `${this.#validateNames} ${this.#integers.max_filter_by_candidates} ${text}`
    let own = filters.get(this.#schema)
    if (own === undefined) filters.set(this.#schema, (own = new Map()))
    let filter = own.get(key)
    if (filter === undefined) own.set(key, (filter = parseFilter(text, this.#fields)))
    return filter
  }
  #assemble(parts: Parts): Checked<SearchPlan> {
    const p = this.#parameters
    const { found, outcome, paging } = parts
    const text = this.#text(parts, outcome.q)
    const isMatchAll = text.query === undefined
    const vector = this.#vector(found, paging, isMatchAll)
    const diversity = this.#diversity(outcome, found.group.request)
    if (!diversity.ok) return diversity
    const excludes = new Set([...outcome.excludes, ...listOf(p.hidden_hits ?? "").map((id) => id.replaceAll("`", ""))])
    const { selection, excludeOutOf, excludeSearchTime } = parts.selection
    const plan: SearchPlan = {
      collection: this.#schema.name,
      text: text.query,
      matchesNothing: text.nothing || found.group.nothing,
      vector,
      filter: allOf(parts.filter, this.#context.forcedFilter),
      sort: effectiveSort(parts.sort, !isMatchAll, vector !== undefined, this.#schema),
      ...(parts.sort.length === 0 ? {} : { givenSortKeys: parts.sort.length }),
      facets: parts.facets,
      facetQuery: parts.facetQuery,
      facetValuesMax: Math.min(FACET_VALUES_MAX, this.#integers.max_facet_values),
      facetSample: { percent: this.#integers.facet_sample_percent, threshold: this.#integers.facet_sample_threshold },
      group: found.group.request,
      pinned: placePins(outcome, parts.pins, excludes),
      hidden: [...excludes],
      filterCuratedHits: booleanOf(p, "filter_curated_hits", false) || outcome.filterCuratedHits,
      ...(this.#context.forcedFilter === undefined ? {} : { pinnedFilter: this.#context.forcedFilter }),
      diversity: diversity.value,
      offset: paging.offset,
      limit: paging.limit,
      hits_max: this.#integers.limit_hits,
      selection,
      highlight: this.#highlight(found.queryFields, selection),
      cutoff_ms: this.#cutoff_ms(),
      ...(outcome.metadata === undefined || Object.keys(outcome.metadata).length === 0
        ? {}
        : { metadata: outcome.metadata }),
      echo: {
        q: p.q ?? "",
        per_page: paging.limit,
        ...(paging.page === undefined ? {} : { page: paging.page }),
        ...(paging.echoOffset === undefined ? {} : { offset: paging.echoOffset }),
        excludeOutOf,
        excludeSearchTime
      }
    }
    if (text.query !== undefined && vector === undefined && !found.matchAll && outcome.words === undefined)
      this.template = { integers: this.#integers, parts, plan: withoutCaller(plan) }
    return ok(plan)
  }

  #cutoff_ms(): number {
    const { search_cutoff_ms } = this.#integers,
      { cutoff_ms_default, cutoff_ms_max } = this.#limits
    return Math.min(cutoff_ms_max, search_cutoff_ms < 0 ? cutoff_ms_default : search_cutoff_ms)
  }
  /**
   * If the caller has a field list, turns NotFound for a name into a refusal of the parameter, so that the caller does
   * not learn whether a hidden field exists.
   */
  #named<A>(parameter: string, result: Checked<A>): Checked<A> {
    return result.ok || this.#context.fields === undefined || result.error.kind !== "NotFound"
      ? result
      : fail(invalid(`Parameter \`${parameter}\`: ${result.error.message}`, parameter))
  }
  #idsNamed(isNamed: boolean, parameter = "vector_query"): Checked<undefined> {
    return isNamed && this.#fields.hidesIds === true ? fail(notAllowed("id", parameter)) : ok(undefined)
  }
  /** Checks names that no grammar resolves against the schema. */
  #shownNames(): Checked<undefined> {
    const { fields } = this.#context
    if (fields === undefined) return ok(undefined)
    for (const parameter of ["highlight_fields", "highlight_full_fields"]) {
      const allowed = namesAllowed(listParameter(this.#parameters, parameter), parameter, fields)
      if (!allowed.ok) return allowed
    }
    for (const parameter of ["pinned_hits", "hidden_hits"]) {
      const allowed = this.#idsNamed((this.#parameters[parameter] ?? "").trim() !== "", parameter)
      if (!allowed.ok) return allowed
    }
    return ok(undefined)
  }
  #stopwords(): Checked<ReadonlySet<string>> {
    const words = new Set<string>()
    for (const name of listParameter(this.#parameters, "stopwords")) {
      const set = this.#context.resources.stopwords(name)
      if (set === undefined) return fail(notFound(`Could not find the stopword set named \`${name}\`.`))
      for (const word of stopwordTokens(set)) words.add(word)
    }
    return ok(words)
  }
  #numberLimits(): Checked<undefined> {
    const { group_limit, facet_sample_percent, synonym_num_typos } = this.#integers
    if (
      listParameter(this.#parameters, "group_by").length > 0 &&
      (group_limit < 1 || group_limit > this.#limits.group_limit_max)
    ) {
      return fail(
        invalid(`Value of \`group_limit\` must be between 1 and ${this.#limits.group_limit_max}.`, "group_limit")
      )
    }
    if (facet_sample_percent > 100)
      return fail(invalid("Value of `facet_sample_percent` must be less than 100.", "facet_sample_percent"))
    if (this.#integers.remote_embedding_num_tries === 0)
      return fail(invalid("`remote_embedding_num_tries` must be greater than 0.", "remote_embedding_num_tries"))
    if (synonym_num_typos > 2)
      return fail(invalid("Value of `synonym_num_typos` must not be greater than 2.", "synonym_num_typos"))
    return ok(undefined)
  }
  #group(): Checked<{ readonly request: GroupRequest | undefined; readonly nothing: boolean }> {
    const names = listParameter(this.#parameters, "group_by")
    if (names.length === 0) return ok({ request: undefined, nothing: false })
    const fields: string[] = []
    for (const name of names) {
      if (name === "id") return fail(invalid("Cannot use `id` as a group by field.", "group_by"))
      if (name.includes("*")) return fail(invalid(`Pattern \`${name}\` is not allowed.`, "group_by"))
      const field = fieldNamed(this.#visible, name)
      if (field === undefined) {
        if (this.#validateNames) return fail(notFound(`Could not find a field named \`${name}\` in the schema.`))
        continue
      }
      if (!field.facet) return fail(invalid(`Group by field \`${name}\` should be a facet field.`, "group_by"))
      fields.push(name)
    }
    if (fields.length === 0) return ok({ request: undefined, nothing: true })
    return ok({
      request: {
        fields,
        limit: this.#integers.group_limit,
        missingValues: booleanOf(this.#parameters, "group_missing_values", true)
      },
      nothing: false
    })
  }
  #facets(): Checked<ReadonlyArray<FacetRequest>> {
    const parsed = parseFacets(this.#parameters.facet_by ?? "", this.#fields)
    if (!parsed.ok) return parsed
    const strategies = parseFacetStrategies(this.#parameters.facet_strategy ?? "", parsed.value.length)
    if (!strategies.ok) return strategies
    const parents = listParameter(this.#parameters, "facet_return_parent")
    const { fields } = this.#context
    // A facet shows the entire parent of its value: the surrounding object of a nested field, else the document.
    const mayShowParent = (name: string): boolean =>
      fields === undefined || covers(fields, name.slice(0, Math.max(0, name.lastIndexOf("."))))
    const hidden = parents.find((name) => !name.endsWith("*") && !mayShowParent(name))
    if (hidden !== undefined) return fail(notAllowed(hidden, "facet_return_parent"))
    const returnsParent = (name: string): boolean =>
      mayShowParent(name) &&
      parents.some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name))
    return ok(
      parsed.value.map((facet, i) => ({
        ...facet,
        strategy: strategies.value[strategies.value.length === 1 ? 0 : i] ?? "automatic",
        returnParent: returnsParent(facet.field)
      }))
    )
  }
  #paging(): Checked<Paging> {
    const given = this.#integers
    const size =
      given.per_page >= 0
        ? given.per_page
        : given.limit >= 0
          ? given.limit
          : (this.#parameters.facet_query ?? "") !== ""
            ? 0
            : 10
    if (size > this.#limits.per_page_max)
      return fail(invalid(`Only upto ${this.#limits.per_page_max} hits can be fetched per page.`, "per_page"))
    if (given.page > 0)
      return ok({ offset: (given.page - 1) * size, limit: size, page: given.page, echoOffset: undefined })
    if (given.offset > 0) return ok({ offset: given.offset, limit: size, page: undefined, echoOffset: given.offset })
    return ok({ offset: 0, limit: size, page: 1, echoOffset: undefined })
  }

  #curate(found: Found, sortContext: SortContext): Checked<CurationOutcome> {
    const p = this.#parameters
    const q = p.q ?? ""
    const inert: CurationOutcome = {
      q,
      words: undefined,
      filterBy: p.filter_by ?? "",
      sortBy: p.sort_by ?? "",
      includes: [],
      excludes: [],
      filterCuratedHits: false,
      metadata: undefined,
      diversity: undefined,
      replaced: false
    }
    if (!booleanOf(p, "enable_curations", false) || this.#schema.curation_sets.length === 0) return ok(inert)
    const sets = this.#schema.curation_sets.flatMap((name) => this.#context.resources.curationSet(name) ?? [])
    const outcome = applyCurations({
      q,
      filterBy: inert.filterBy,
      sortBy: inert.sortBy,
      sets,
      tags: listParameter(p, "curation_tags"),
      now_s: this.#context.now_s,
      symbolsToIndex: this.#schema.symbols_to_index,
      tokenSeparators: this.#schema.token_separators,
      synonymSets: this.#schema.synonym_sets.flatMap((name) => this.#context.resources.synonymSet(name) ?? []),
      dictionaries: this.#context.resources.stemmingDictionary,
      parse: (text) => {
        const parsed = parseFilter(text, { ...this.#owned, validateFieldNames: true })
        return parsed.ok ? parsed.value : undefined
      },
      isSortable: (text) => {
        const clauses = parseSortClauses(text)
        return clauses.ok && resolveSort(clauses.value, sortContext).ok
      },
      matchesAny: this.#context.matchesAny
    })
    if (outcome.replaced && found.matchAll && outcome.q.trim() !== "*" && found.queryFields.fields.length === 0)
      return fail(invalid("Missing `query_by` parameter.", "query_by"))
    const sortable =
      outcome.sortBy === inert.sortBy ||
      (() => {
        const clauses = parseSortClauses(outcome.sortBy)
        return clauses.ok && resolveSort(clauses.value, sortContext).ok
      })()
    return ok(sortable ? outcome : { ...outcome, sortBy: inert.sortBy })
  }
  #synonymSets(matchAll: boolean): Checked<ReadonlyArray<SynonymSet>> {
    const enabled = booleanOf(this.#parameters, "enable_synonyms", true)
    const names = [
      ...new Set([
        ...(enabled && !matchAll ? this.#schema.synonym_sets : []),
        ...listParameter(this.#parameters, "synonym_sets")
      ])
    ]
    const sets: SynonymSet[] = []
    for (const name of names) {
      const set = this.#context.resources.synonymSet(name)
      if (set === undefined) return fail(notFound("Synonym index not found"))
      sets.push(set)
    }
    return ok(enabled ? sets : [])
  }

  /** `known`: parts compiled from the same parameters with other words. */
  #text(
    parts: Parts,
    q: string,
    known?: TextQuery
  ): { readonly query: TextQuery | undefined; readonly nothing: boolean } {
    const p = this.#parameters
    const { found, outcome } = parts
    const nothing = { query: undefined, nothing: true }
    if (outcome.words === undefined && isEverything(q)) return { query: undefined, nothing: false }
    if (found.queryFields.allUnknown) return nothing
    if (found.queryFields.fields.length === 0) return { query: undefined, nothing: false }
    const top = fieldNamed(this.#schema, found.queryFields.fields[0].field) as Field
    const analyzer = analyzerOf(this.#schema, top, this.#context.resources.stemmingDictionary)
    const parsed: QueryWords =
      outcome.words !== undefined
        ? { words: outcome.words, phrases: [], excluded: [], onlyStopwords: false }
        : parseQueryWords(q, {
            analyzer,
            locale: top.locale,
            stopwords: found.stopwords,
            preSegmented: booleanOf(p, "pre_segmented_query", false),
            symbolsToIndex: top.symbols_to_index.length > 0 ? top.symbols_to_index : this.#schema.symbols_to_index,
            tokenSeparators: top.token_separators.length > 0 ? top.token_separators : this.#schema.token_separators,
            words_max: this.#limits.query_words_max
          })
    if (parsed.onlyStopwords || parsed.phrases.some((phrase) => phrase.length === 0)) return nothing
    const prefix = booleanOf(p, "synonym_prefix", false)
    const variants =
      parsed.phrases.length > 0 && parsed.words.length === 0
        ? []
        : expandSynonyms(parsed.words, parts.synonymSets, {
            locale: top.locale,
            prefix,
            numTypos: this.#integers.synonym_num_typos
          })
    const query = this.#textQuery(found.queryFields, parsed, variants, parts, analyzer, prefix, known)
    if (rankingOf(p) === undefined) return { nothing: false, query }
    const asked =
      outcome.words === undefined
        ? askedText(q, found.stopwords, this.#limits.query_words_max)
        : outcome.words.join(" ")
    const relevance = relevanceQuery(
      p,
      this.#schema,
      asked,
      variants,
      this.#integers.drop_tokens_threshold,
      this.#visible
    )
    return { nothing: false, query: relevance === undefined ? query : { ...query, relevance } }
  }
  #textQuery(
    queryFields: QueryFields,
    parsed: QueryWords,
    variants: ReadonlyArray<ReadonlyArray<string>>,
    parts: Parts,
    analyzer: Analyzer,
    synonymPrefix: boolean,
    known: TextQuery | undefined
  ): TextQuery {
    const p = this.#parameters
    const numbers = this.#integers
    const matchType = p.text_match_type
    const stem = (token: string): string => analyzer.stem(token)
    const words = {
      tokens: parsed.words.map(stem),
      surface: parsed.words,
      phrases: parsed.phrases,
      excluded: parsed.excluded.map((each) => (each.length === 1 ? each.map(stem) : each)),
      synonyms: stemmedOf(variants, analyzer)
    }
    if (known !== undefined) return { ...known, ...words }
    return {
      ...words,
      fields: queryFields.fields,
      synonymPrefix,
      demoteSynonymMatch: booleanOf(p, "demote_synonym_match", false),
      textMatchType: matchType === "max_weight" || matchType === "sum_score" ? matchType : "max_score",
      prioritizeExactMatch: booleanOf(p, "prioritize_exact_match", true),
      prioritizeTokenPosition: booleanOf(p, "prioritize_token_position", false),
      prioritizeNumMatchingFields: booleanOf(p, "prioritize_num_matching_fields", true),
      minLen1Typo: numbers.min_len_1typo,
      minLen2Typo: numbers.min_len_2typo,
      typoTokensThreshold: numbers.typo_tokens_threshold,
      dropTokensThreshold: numbers.drop_tokens_threshold,
      dropTokensMode: parts.dropMode,
      splitJoinTokens: splitJoinOf(p.split_join_tokens),
      typosForNumericalTokens: booleanOf(p, "enable_typos_for_numerical_tokens", true),
      typosForAlphaNumericalTokens: booleanOf(p, "enable_typos_for_alpha_numerical_tokens", true),
      maxCandidates: numbers.max_candidates >= 0 ? numbers.max_candidates : undefined,
      exhaustive: booleanOf(p, "exhaustive_search", false),
      maxExtraPrefix: numbers.max_extra_prefix,
      maxExtraSuffix: numbers.max_extra_suffix
    }
  }
  #vector(found: Found, paging: Paging, isMatchAll: boolean): VectorQuery | undefined {
    const window = Math.max(1, paging.offset + paging.limit)
    const k = isMatchAll ? window : Math.max(window, HYBRID_NEIGHBOURS_MIN)
    const rerankHybridMatches = booleanOf(this.#parameters, "rerank_hybrid_matches", false)
    const embedding = found.queryFields.embedding
    if (found.vector !== undefined) {
      const { queries, queryWeights, k: asked, ...query } = found.vector
      const field = fieldNamed(this.#schema, query.field)
      const texts =
        queries.length > 0
          ? queries
          : query.vector === undefined && query.likeId === undefined && field?.embed !== undefined
            ? [this.#parameters.q ?? ""]
            : []
      if (query.vector === undefined && query.likeId === undefined && texts.length === 0) return undefined
      return {
        ...query,
        k: asked ?? k,
        rerankHybridMatches,
        ...(texts.length === 0 ? {} : { embed: this.#embed(texts, queryWeights) })
      }
    }
    if (embedding === undefined || found.matchAll) return undefined
    return {
      field: embedding.name,
      vector: undefined,
      k,
      alpha: DEFAULT_ALPHA,
      distanceThreshold: undefined,
      flatSearchCutoff: 0,
      ef: DEFAULT_EF,
      rerankHybridMatches,
      embed: this.#embed([this.#parameters.q ?? ""], [])
    }
  }
  #embed(texts: ReadonlyArray<string>, weights: ReadonlyArray<number>): QueryEmbedding {
    return {
      texts,
      weights,
      timeout_ms: this.#integers.remote_embedding_timeout_ms,
      tries: this.#integers.remote_embedding_num_tries
    }
  }
  #diversity(outcome: CurationOutcome, group: GroupRequest | undefined): Checked<SearchPlan["diversity"]> {
    if (outcome.diversity === undefined) return ok(undefined)
    if (group !== undefined) return fail(invalid("Diversity is not supported along with group_by.", "group_by"))
    const metrics: Array<NonNullable<SearchPlan["diversity"]>["metrics"][number]> = []
    for (const metric of outcome.diversity.similarity_metric) {
      const field = fieldNamed(this.#schema, metric.field)
      if (field === undefined) return fail(invalid(`\`${metric.field}\` field not found in the schema.`))
      if (metric.method !== "vector_distance" && field.type.endsWith("[]") && !field.facet)
        return fail(invalid(`Enable faceting on \`${metric.field}\` array field to use in diversity.`))
      if (metric.method !== "vector_distance" && !field.facet && !field.sort)
        return fail(invalid(`Enable sorting/faceting on \`${metric.field}\` field to use in diversity.`))
      metrics.push({
        field: metric.field,
        method: metric.method as "equality" | "jaccard" | "vector_distance",
        weight: metric.weight ?? 1
      })
    }
    return ok({ lambda: decimalOf(this.#parameters, "diversity_lambda", 0, 1, 0.5), metrics })
  }
  #highlight(queryFields: QueryFields, selection: Selection): HighlightRequest {
    const p = this.#parameters
    const explicit = (p.highlight_fields ?? "").trim() !== ""
    const fields = explicit
      ? expandNames(listParameter(p, "highlight_fields"), this.#visible)
      : queryFields.highlighted.filter((name) => isSelected(selection, name))
    return {
      fields,
      explicit,
      fullFields: expandNames(listParameter(p, "highlight_full_fields"), this.#visible),
      affixTokens: this.#integers.highlight_affix_num_tokens,
      snippetThreshold: this.#integers.snippet_threshold,
      startTag: p.highlight_start_tag ?? "<mark>",
      endTag: p.highlight_end_tag ?? "</mark>",
      v1: booleanOf(p, "enable_highlight_v1", true),
      bytes_max: this.#limits.answer_bytes_max
    }
  }
}
interface Found {
  /** Whether q is `*` or empty. */ readonly matchAll: boolean
  readonly stopwords: ReadonlySet<string>
  readonly clauses: ReadonlyArray<SortClause>
  readonly vector: VectorRequest | undefined
  readonly queryFields: QueryFields
  readonly group: { readonly request: GroupRequest | undefined; readonly nothing: boolean }
}
interface Parts {
  readonly found: Found
  readonly outcome: CurationOutcome
  readonly filter: Filter | undefined
  readonly facets: ReadonlyArray<FacetRequest>
  readonly facetQuery: SearchPlan["facetQuery"]
  readonly paging: Paging
  readonly dropMode: TextQuery["dropTokensMode"]
  readonly pins: ReadonlyArray<{ readonly id: string; readonly position: number }>
  readonly sort: ReadonlyArray<SortKey>
  readonly synonymSets: ReadonlyArray<SynonymSet>
  readonly selection: {
    readonly selection: Selection
    readonly excludeOutOf: boolean
    readonly excludeSearchTime: boolean
  }
}
