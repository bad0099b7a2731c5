/** Bodies of requests for one plan: what must match, what is counted, and how many hits are fetched. Pure. */
import type { SearchPlan } from "../plan.ts"
import type { Filter } from "../filter.ts"
import { select } from "../documents/mod.ts"
import { allOf, anyOf, compileFilter, EVERYTHING, NOTHING, type QueryScope } from "./compile-filter.ts"
import { compileFacets } from "./compile-facets.ts"
import { compileSort, partsOf } from "./compile-sort.ts"
import { isAboutWords, phraseQuery, phrasesQuery } from "./compile-text.ts"
import type { CollectionRecord } from "./record.ts"
import { compileGroups } from "./groups.ts"
import { ownFilter, storedId, storedWord, type Placement } from "./placement.ts"
import { KEPT, KEPT_SMALL } from "./mapping.ts"
import { vectorNames, wordListOf } from "./slots.ts"

/** Minimum number of hits to score again, because the cluster's scores are only approximate. */
const WINDOW_MIN = 250
/** Deepest position for which all hits are fetched and scored again; deeper pages use the cluster's order. */
const SCORED_MAX = 1_000
/** Number of documents among which groups are formed. */
const GROUPED = 1_000
/** Higher than any score of words. */
const MATCHED_WORTH = 1_048_576

export interface Fetching {
  readonly from: number
  readonly size: number
  /** Whether only the page is fetched, in the cluster's order. */ readonly isPage: boolean
}

/** Results of a plan's vector queries. */
export interface VectorFacts {
  /** Ids of the nearest documents, nearest first; undefined if they were not requested. */
  readonly nearest?: ReadonlyArray<string> | undefined
  /** A score for every document that increases with nearness, if hits are sorted by it. */
  readonly nearness?: object | undefined
}
export class SearchRequests {
  readonly scope: QueryScope
  readonly fetching: Fetching
  readonly #plan: SearchPlan
  readonly #parts: ReadonlyArray<object>
  readonly #sort: object[]
  /** Conditions that every match must meet. */ readonly #required: ReadonlyArray<object>
  /** What a vector query found: the only matches, or matches in addition to those of the words. */
  readonly #nearest: ReadonlyArray<string> | undefined
  readonly #isHybrid: boolean

  readonly #nearness: object | undefined
  /** Parts of documents that are fetched. */ readonly #kept: ReadonlyArray<string>

  constructor({ placement, slots }: CollectionRecord, plan: SearchPlan, { nearest, nearness }: VectorFacts = {}) {
    this.scope = { placement, slots }
    this.#plan = plan
    this.#nearest = nearest
    this.#nearness = nearness
    this.#isHybrid = nearest !== undefined && hasWords(plan)
    const isNear = nearest !== undefined && !this.#isHybrid
    this.#kept = isNear || looksAtVectors(plan, vectorNames(slots)) ? KEPT : KEPT_SMALL
    this.#parts = partsOf(this.scope, plan.sort)
    this.#sort = compileSort(this.scope, plan.sort, nearness !== undefined)
    this.#required = plan.matchesNothing
      ? [NOTHING]
      : [
          ...requiredOf(this.scope, plan),
          ...(nearest === undefined || this.#isHybrid ? [] : [idsQuery(placement, nearest)])
        ]
    this.fetching = fetchingOf(plan, this.#parts.length > 0, this.#isHybrid ? undefined : nearest?.length)
  }

  /** The request that counts matches; it also fetches hits if a single sort order can find them. */
  counting(words: object, hasHits: boolean, timeout_ms: number): object {
    const plan = this.#plan
    const { found, matching, placed, query } = hasHits ? this.#counted(words) : this.#worded(words)
    const aggs: Record<string, object> = {
      ...(hasHits ? { ...compileFacets(this.scope, plan), ...compileGroups(this.scope, plan) } : {}),
      ...(placed === undefined ? {} : { organic: { filter: found } }),
      ...(found === matching ? {} : { worded: { filter: matching } })
    }
    const { from, size } = this.fetching
    return {
      query: this.#ordered(query),
      from,
      size: hasHits && this.#parts.length === 0 && !this.#isByDistance ? size : 0,
      sort: this.#sort,
      _source: this.#kept,
      track_total_hits: true,
      timeout: `${Math.ceil(timeout_ms)}ms`,
      ...(Object.keys(aggs).length === 0 ? {} : { aggs })
    }
  }
  /** Scores by another vector if hits are sorted by that. */
  #ordered(query: object): object {
    return this.#nearness === undefined ? query : { script_score: { query, script: this.#nearness } }
  }
  /** Matches, including near documents, and documents that the plan places. */
  #counted(words: object): Counted {
    const { placement } = this.scope
    if (!this.#isHybrid) return this.#worded(words)
    const matching = this.#matching(words)
    const near = allOf([ownFilter(placement), idsQuery(placement, this.#nearest ?? [])])
    return this.#withPlaced(matching, this.#beside(matching, near))
  }
  /** Like `#counted`, without documents that are only near. */
  #worded(words: object): Counted {
    const matching = this.#matching(words)
    return this.#withPlaced(matching, matching)
  }
  #withPlaced(matching: object, found: object): Counted {
    const placed = this.#placedQuery()
    return { matching, found, placed, query: placed === undefined ? found : this.#beside(found, placed) }
  }
  /** Matches either query; the score is that of the first. */
  #beside(worthy: object, other: object): object {
    return {
      bool: {
        filter: [ownFilter(this.scope.placement)],
        should: [worthy, { constant_score: { filter: other, boost: 0 } }],
        minimum_should_match: 1
      }
    }
  }
  /** The request that counts the documents of facets again, with other aggregations. */
  facets(words: object, aggs: object, timeout_ms: number): object {
    return { query: this.#counted(words).query, size: 0, aggs, timeout: `${Math.ceil(timeout_ms)}ms` }
  }
  /** Documents that may be neighbours, without `excluded`. */
  near(excluded: ReadonlyArray<string>, timeout_ms: number): { readonly query: object; readonly timeout: string } {
    const query = {
      bool: {
        filter: [this.#allowed([])],
        must_not: excluded.length === 0 ? [] : [idsQuery(this.scope.placement, excluded)]
      }
    }
    return { query, timeout: `${Math.ceil(timeout_ms)}ms` }
  }
  /** Only the cluster's graph knows this order, so the documents that are shown are requested by id. */
  get #isByDistance(): boolean {
    return !this.#isHybrid && isByDistance(this.#plan, this.#nearest?.length)
  }
  /** Requests for near documents, if the request that counts would return none of them, or only by chance. */
  nearby(timeout_ms: number): object[] {
    const { from, size } = this.fetching
    const nearest = this.#nearest ?? []
    const ids = this.#isHybrid
      ? nearest.slice(0, SCORED_MAX)
      : this.#isByDistance
        ? nearest.slice(from, from + size)
        : []
    if (ids.length === 0) return []
    const { placement } = this.scope
    return [
      {
        query: allOf([ownFilter(placement), idsQuery(placement, ids)]),
        size: ids.length,
        track_total_hits: false,
        timeout: `${Math.ceil(timeout_ms)}ms`
      }
    ]
  }
  /** Requests for the best of each part, if the cluster cannot order all matches. */
  parts(words: object, timeout_ms: number): object[] {
    const { from, size } = this.fetching
    return this.#parts.map((part) => ({
      query: this.#ordered({ bool: { must: [this.#matching(words)], filter: [part] } }),
      from: 0,
      size: from + size,
      sort: this.#sort,
      _source: this.#kept,
      track_total_hits: false,
      timeout: `${Math.ceil(timeout_ms)}ms`
    }))
  }
  /** Requests for documents that the plan places whether or not they match. */
  placing(words: object, timeout_ms: number): object[] {
    const { placement } = this.scope
    const plan = this.#plan
    const timeout = `${Math.ceil(timeout_ms)}ms`
    const named = this.#placedQuery()
    const ids =
      named === undefined
        ? []
        : [
            {
              query: allOf([ownFilter(placement), named]),
              size: SCORED_MAX,
              _source: this.#kept,
              track_total_hits: false,
              timeout
            }
          ]
    const best = (plan.injected ?? []).flatMap(({ target, mustPassFilter }) =>
      "filter" in target
        ? [
            {
              query: {
                bool: {
                  filter: [
                    ownFilter(placement),
                    compileFilter(this.scope, target.filter),
                    this.#passing(mustPassFilter)
                  ],
                  must_not: this.#hidden(),
                  should: [{ constant_score: { filter: this.#matching(words), boost: MATCHED_WORTH } }]
                }
              },
              size: (plan.injected ?? []).length,
              sort: [{ _score: "desc" }, ...this.#sort],
              _source: this.#kept,
              track_total_hits: false,
              timeout
            }
          ]
        : []
    )
    return [...ids, ...best]
  }

  /** Whether some documents may not match. */
  get isRestricted(): boolean {
    return this.#required.length + this.#hidden().length + this.#excluded().length > 0
  }
  /** Counts documents that may match and that pass `also`. */
  counted(also: object, timeout_ms: number): object {
    return {
      query: this.#allowed([also]),
      size: 0,
      track_total_hits: true,
      timeout: `${Math.ceil(timeout_ms)}ms`
    }
  }
  /** Counts documents of the collection that pass a filter. */
  found(filter: object, timeout_ms: number): object {
    return {
      query: allOf([ownFilter(this.scope.placement), filter]),
      size: 0,
      track_total_hits: true,
      timeout: `${Math.ceil(timeout_ms)}ms`
    }
  }
  /** Which of the words occur in the field at `slot` of documents that may match and pass `also`. */
  usable(slot: string, words: ReadonlyArray<string>, also: ReadonlyArray<object>, timeout_ms: number): object {
    const include = words.map((word) => storedWord(this.scope.placement, word))
    return {
      query: this.#allowed(also),
      size: 0,
      track_total_hits: false,
      timeout: `${Math.ceil(timeout_ms)}ms`,
      aggs: {
        words: {
          terms: { field: wordListOf(slot), include, size: include.length, execution_hint: "map" }
        }
      }
    }
  }

  #allowed(also: ReadonlyArray<object>): object {
    return {
      bool: {
        filter: [ownFilter(this.scope.placement), ...this.#required, ...also],
        must_not: [...this.#hidden(), ...this.#excluded()]
      }
    }
  }
  #matching(words: object): object {
    const isScored = isAboutWords(this.#plan.text)
    const { placement } = this.scope
    return {
      bool: {
        filter: [ownFilter(placement), ...this.#required],
        must_not: [...this.#hidden(), ...this.#excluded()],
        ...(isScored ? { must: [words] } : {})
      }
    }
  }
  #hidden(): object[] {
    const { hidden } = this.#plan
    return hidden.length === 0 ? [] : [{ ids: { values: hidden.map((id) => storedId(this.scope.placement, id)) } }]
  }
  #excluded(): object[] {
    const { text } = this.#plan
    return text === undefined
      ? []
      : text.excluded.filter((words) => words.length > 0).map((words) => phraseQuery(this.scope, text, words))
  }
  #passing(mustPassFilter: boolean): object {
    const { filter, injectedFilter, pinnedFilter } = this.#plan
    return compiled(this.scope, mustPassFilter ? (injectedFilter ?? filter) : pinnedFilter)
  }
  /** Documents that the plan names, as far as they may be shown. */
  #placedQuery(): object | undefined {
    const { filter, filterCuratedHits, injected = [], pinned, pinnedFilter } = this.#plan
    const idsOf = (ids: ReadonlyArray<string>): object => ({
      ids: { values: ids.map((id) => storedId(this.scope.placement, id)) }
    })
    const queries: object[] = []
    if (pinned.length > 0)
      queries.push({
        bool: {
          filter: [idsOf(pinned.map(({ id }) => id)), compiled(this.scope, filterCuratedHits ? filter : pinnedFilter)],
          must_not: this.#hidden()
        }
      })
    for (const mustPass of [true, false]) {
      const ids = injected.flatMap(({ target, mustPassFilter }) =>
        "id" in target && mustPassFilter === mustPass ? [target.id] : []
      )
      if (ids.length > 0) queries.push(allOf([idsOf(ids), this.#passing(mustPass)]))
    }
    return queries.length === 0 ? undefined : anyOf(queries)
  }
}
/** Whether vectors of hits are shown, or read to order them. */
const looksAtVectors = (plan: SearchPlan, names: ReadonlyArray<string>): boolean => {
  const { diversity, selection, sort, vector, window } = plan
  if (names.length === 0) return false
  const shown = select(Object.fromEntries(names.map((name) => [name, 0])), selection)
  return (
    Object.keys(shown).length > 0 ||
    vector?.rerankHybridMatches === true ||
    sort.some(({ kind }) => kind === "vector_query") ||
    [...(diversity?.metrics.map(({ field }) => field) ?? []), ...(window?.fields ?? [])].some((name) =>
      names.includes(name)
    )
  )
}
interface Counted {
  /** The query of the words. */ readonly matching: object
  /** The same query with near documents. */ readonly found: object
  readonly placed: object | undefined
  /** The same query with placed documents. */ readonly query: object
}
const hasWords = ({ text }: SearchPlan): boolean =>
  text !== undefined && (text.tokens.length > 0 || text.phrases.length > 0)
const idsQuery = (placement: Placement, ids: ReadonlyArray<string>): object => ({
  ids: { values: ids.map((id) => storedId(placement, id)) }
})
const compiled = (scope: QueryScope, filter: Filter | undefined): object =>
  filter === undefined ? EVERYTHING : compileFilter(scope, filter)
const requiredOf = (scope: QueryScope, { filter, text }: SearchPlan): object[] => [
  ...(filter === undefined ? [] : [compileFilter(scope, filter)]),
  ...(text === undefined || text.phrases.length === 0 ? [] : [phrasesQuery(scope, text)])
]

/** Whether, of this many neighbours, only those that are shown are fetched, because their order is known. */
const isByDistance = ({ diversity, group, sort }: SearchPlan, near = 0): boolean =>
  near > (diversity === undefined ? WINDOW_MIN : SCORED_MAX) &&
  group === undefined &&
  sort[0]?.kind === "vector_distance" &&
  sort[0].order === "asc"
/** `near`: number of documents that a vector found, if these are the only matches. */
const fetchingOf = (plan: SearchPlan, hasParts: boolean, near: number | undefined): Fetching => {
  const end = Math.min(plan.offset + plan.limit, plan.hits_max)
  const placed = plan.pinned.length + (plan.injected?.length ?? 0)
  const reach = Math.max(end, plan.window?.size ?? 0) + placed
  if (plan.group !== undefined) return { from: 0, size: GROUPED, isPage: false }
  if (near !== undefined && near <= SCORED_MAX && !isByDistance(plan, near))
    return { from: 0, size: near + placed, isPage: false }
  const isScored =
    isAboutWords(plan.text) && (plan.sort.length === 0 || plan.sort.some(({ kind }) => kind === "text_match"))
  const isReordered =
    plan.diversity !== undefined || plan.sort.some(({ kind }) => kind === "geo" || kind === "vector_query")
  const isWhole = plan.window !== undefined || placed > 0 || hasParts
  if ((isScored || isReordered) && reach <= SCORED_MAX)
    return { from: 0, size: Math.max(WINDOW_MIN, reach), isPage: false }
  if (isWhole) return { from: 0, size: reach, isPage: false }
  return { from: plan.offset, size: Math.max(0, end - plan.offset), isPage: true }
}
