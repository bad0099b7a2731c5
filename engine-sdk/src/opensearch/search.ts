/**
 * One search: words as typed first, then with typos, other spellings and fewer words, each only if too little was found
 * (`docs/contract/matching.md#fallbacks`), in at most four requests. The cluster finds and counts; what is shown is
 * computed here from the documents found (`window.ts`).
 */
import type { Dictionaries } from "../analysis/tokens.ts"
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { CollectionReader } from "../index/reader.ts"
import type { FacetCount, Hit, SearchAnswer, SearchPlan } from "../plan.ts"
import { executeSearch } from "../search/answer/answer.ts"
import { idOfHit } from "../search/answer/answer-json.ts"
import type { SearchScope } from "../search/scope.ts"
import type { ClusterClient } from "./client.ts"
import { FacetTrips } from "./facet-trips.ts"
import { EVERYTHING } from "./compile-filter.ts"
import { isAboutWords } from "./compile-text.ts"
import type { Entry } from "./directory.ts"
import type { CollectionRecord } from "./record.ts"
import { readGroups } from "./groups.ts"
import { WINDOW_MAX } from "./mapping.ts"
import { planWithFilterWords, type WordParts } from "./filter-words.ts"
import { readFacets } from "./read-facets.ts"
import { findVectors } from "./nearest.ts"
import { planRefusal } from "./refusals.ts"
import { SearchRequests } from "./search-requests.ts"
import { stagesOf } from "./stages.ts"
import { documentOf } from "./stored-form.ts"
import { countTried, fetchFound, type Found, type Trip } from "./trips.ts"
import { windowReader } from "./window.ts"
import { findByWords } from "./word-search.ts"

/** Time for building an answer from what was found in time. */
const SHOWING_MS = 1_000

export interface SearchParts extends WordParts {
  /** Whether the cluster has the vector plugin. */ readonly hasVectors: () => boolean
}
export const searchPlan = async (
  parts: SearchParts,
  entry: Entry,
  asked: SearchPlan,
  dictionaries: Dictionaries,
  left_ms: number
): Promise<Result<SearchAnswer>> => {
  const started = performance.now()
  const left = (): number => left_ms - (performance.now() - started)
  const chosen = await planWithFilterWords(parts, entry, asked, left_ms)
  if (!chosen.ok) return chosen
  const plan = chosen.value
  const found = await findPlan(parts, entry, plan, left())
  if (!found.ok) return found
  const facets = await readFacets(new FacetTrips(parts.client, entry, plan, found.value, left), entry.documents)
  if (!facets.ok) return facets
  const answer = shownAnswer(entry, plan, found.value, facets.value, dictionaries)
  if (answer.ok && !plan.echo.excludeSearchTime) answer.value.search_time_ms = Math.round(performance.now() - started)
  return answer
}

const NOTHING_FOUND: Omit<Trip, "isCutOff"> = {
  documents: [],
  placed: [],
  total: 0,
  organic: 0,
  worded: 0,
  aggregations: undefined,
  words: EVERYTHING
}
/** Finds the matches of a plan. Refuses what the cluster cannot do before sending a request. */
export const findPlan = async (
  parts: SearchParts,
  entry: Entry,
  plan: SearchPlan,
  left_ms: number
): Promise<Result<Found>> => {
  const { record } = entry
  const refused = planRefusal(record.schema, plan, parts.hasVectors())
  if (refused !== undefined) return fail(refused)
  if (Math.min(plan.offset + plan.limit, plan.hits_max) > WINDOW_MAX)
    return fail(invalid(`The search engine shows at most the first ${WINDOW_MAX} hits.`, "page"))
  const until = performance.now() + Math.min(plan.cutoff_ms, left_ms)
  const left = (): number => until - performance.now()
  const apart = new SearchRequests(record, plan)
  if (left() <= 0 || !hasVectors(plan)) return findBy(parts, entry, plan, apart, left)
  const vectors = await findVectors(parts.client, record, plan, apart, left)
  if (!vectors.ok) return vectors
  const { like, nearest = [] } = vectors.value
  const found = await findBy(parts, entry, plan, new SearchRequests(record, plan, vectors.value), left)
  return found.ok ? ok({ ...found.value, placed: [...found.value.placed, ...like], neighbours: nearest.length }) : found
}
const hasVectors = ({ sort, vector }: SearchPlan): boolean =>
  vector !== undefined || sort.some(({ kind }) => kind === "vector_query")
const findBy = async (
  { client, vocabularies }: SearchParts,
  entry: Entry,
  plan: SearchPlan,
  requests: SearchRequests,
  left: () => number
): Promise<Result<Found>> => {
  const { fetching } = requests
  if (left() <= 0) return ok({ ...NOTHING_FOUND, isCutOff: true, fetching, requests })
  if (isAboutWords(plan.text) && !plan.matchesNothing) {
    const found = await findByWords(client, vocabularies, entry, plan.text, requests, left)
    if (!found.ok) return found
    if (found.value !== undefined) return ok({ ...found.value, fetching, requests })
    if (left() <= 0) return ok({ ...NOTHING_FOUND, isCutOff: true, fetching, requests })
  }
  return climbNear(client, entry.record, plan, requests, left)
}
/** Without a vocabulary: uses the cluster's fuzzy matching, stage by stage. */
const climbNear = async (
  client: ClusterClient,
  record: CollectionRecord,
  plan: SearchPlan,
  requests: SearchRequests,
  left: () => number
): Promise<Result<Found>> => {
  const { fetching } = requests
  const [exact, ...others] = stagesOf(requests.scope, plan)
  const first = await fetchFound(client, record.placement, requests, exact.tried[0].query, left())
  if (!first.ok) return first
  let found = first.value.worded
  let better: object | undefined
  for (const { isWanted, tried } of plan.matchesNothing ? [] : others) {
    if (!isWanted(found)) continue
    if (left() <= 0) return ok({ ...first.value, isCutOff: true, fetching, requests })
    const counted = await countTried(client, record.placement, requests, tried, left())
    if (!counted.ok) return counted
    found = counted.value.organic
    better = counted.value.query
  }
  if (better === undefined || found === first.value.worded) return ok({ ...first.value, fetching, requests })
  if (left() <= 0) return ok({ ...first.value, isCutOff: true, fetching, requests })
  const last = await fetchFound(client, record.placement, requests, better, left())
  return last.ok ? ok({ ...last.value, fetching, requests }) : last
}

const scopeOver = (reader: CollectionReader, dictionaries: Dictionaries): SearchScope => ({
  collection: () => reader,
  names: () => [],
  dictionaries
})
/**
 * The plan for the documents found. Their filters have been applied already, so a placed document counts as a match
 * only if it is among the matches.
 */
export const windowPlan = (plan: SearchPlan, { documents, fetching, neighbours = 0, placed }: Found): SearchPlan => {
  const { filter: _filter, injectedFilter: _injected, pinnedFilter: _pinned, ...rest } = plan
  const seqs = new Set(documents.map(({ seq }) => seq))
  const isMixed = placed.some(({ seq }) => !seqs.has(seq))
  return {
    ...rest,
    filter: isMixed ? { kind: "ids", ids: documents.map((stored) => String(documentOf(stored).id)) } : undefined,
    // The number of neighbours is known; which they are follows from the documents.
    vector:
      plan.vector === undefined
        ? undefined
        : { ...plan.vector, k: neighbours, distanceThreshold: undefined, flatSearchCutoff: 0 },
    filterCuratedHits: false,
    ...(plan.injected === undefined
      ? {}
      : { injected: plan.injected.map((injection) => ({ ...injection, mustPassFilter: false })) }),
    facets: plan.facets.filter(({ topK }) => topK),
    facetQuery: undefined,
    offset: fetching.isPage ? 0 : plan.offset,
    limit: fetching.isPage ? fetching.size : plan.limit,
    hits_max: fetching.isPage ? fetching.size : plan.hits_max,
    cutoff_ms: SHOWING_MS
  }
}
const shownAnswer = (
  entry: Entry,
  plan: SearchPlan,
  found: Found,
  counted: FacetCount[],
  dictionaries: Dictionaries
): Result<SearchAnswer> => {
  const { schema } = entry.record
  const own = windowPlan(plan, found)
  const reader = windowReader(schema, [...found.documents, ...found.placed], [plan], dictionaries)
  const scope = scopeOver(reader, dictionaries)
  const shown = executeSearch(scope, own)
  if (!shown.ok) return shown
  const answer = shown.value
  if (own.text !== undefined && plan.group === undefined && plan.window === undefined)
    putUnscored(scope, own, found, answer)
  const page = answer.facet_counts
  answer.facet_counts = plan.facets.map(({ topK }) => (topK ? page : counted).shift()!)
  if (plan.group === undefined) answer.found = Math.max(found.total, answer.found)
  else {
    if (found.total > found.documents.length) readGroups(plan, answer, found.aggregations)
    answer.found_docs = Math.max(found.total, answer.found_docs ?? 0)
  }
  if (!plan.echo.excludeOutOf) answer.out_of = entry.documents
  if (plan.injected !== undefined) answer.organic = found.organic
  answer.search_cutoff ||= found.isCutOff
  return ok(answer)
}
/**
 * The cluster may match documents that the scorer does not, because the scorer sees only the fetched ones. They are put
 * after the others, so that a page has as many hits as `found` implies.
 */
const putUnscored = (scope: SearchScope, plan: SearchPlan, found: Found, answer: SearchAnswer): void => {
  const end = Math.min(plan.offset + plan.limit, plan.hits_max)
  const wanted = Math.min(end, found.documents.length) - plan.offset
  const hits = answer.hits?.length ?? 0
  if (hits >= wanted) return
  const all = executeSearch(scope, { ...plan, offset: 0, limit: end, hits_max: end })
  const scored = new Set(all.ok ? (all.value.hits ?? []).map(idOfHit) : [])
  const ids = found.documents.map((stored) => String(documentOf(stored).id)).filter((id) => !scored.has(id))
  const { text: _text, injected: _injected, ...rest } = plan
  const more = executeSearch(scope, {
    ...rest,
    text: undefined,
    vector: undefined,
    pinned: [],
    filter: { kind: "ids", ids },
    offset: Math.max(0, plan.offset - scored.size),
    limit: wanted - hits
  })
  const unscored: ReadonlyArray<Hit> = more.ok ? (more.value.hits ?? []) : []
  answer.hits = [...(answer.hits ?? []), ...unscored]
}
