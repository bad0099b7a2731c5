/**
 * Searches, reported by their answers and by `search` events: the sources may arrive in any order and more than once,
 * and one query id is one search.
 */
import type { BehaviouralEvent, ServedSearch } from "@dowser/log/event-schema"
import { normalizeQuery } from "@dowser/log/normalize-query"
import type { Facts, SearchFacts } from "../../facts/facts.ts"
import { usesOf } from "../../figures/filter-uses.ts"
import { drop, OK, type Outcome } from "../../processor/outcome.ts"
import type { Place } from "../../processor/processor.ts"
import { dropOldest, insertSearch, removeLoose, removeSearch } from "./contributions.ts"
import type { AttributionState } from "./state.ts"
import { asText, dimensionOf, lonelyKey, nameOf, queryKey, visitKey, visitorOf } from "./texts.ts"
import { earlier, factsOf, newSearch, type QueryReference, type Search, searchIn, type Visit } from "./visit.ts"

export const visitAt = (state: AttributionState, key: string, organizationId: string, now: number): Visit =>
  state.visits.get(key, now) ?? { organizationId, older: undefined, searches: [], loose: [] }

const keyOfSearch = (organizationId: string, id: string, f: SearchFacts): string =>
  f.visitor === "" ? lonelyKey(organizationId, id) : visitKey(organizationId, f.visitor, f.collection)

const putSearch = (
  state: AttributionState,
  organizationId: string,
  key: string,
  search: Search,
  now: number,
  facts: Facts
): void => {
  const visit = visitAt(state, key, organizationId, now)
  insertSearch(visit, search, facts)
  for (const oldest of dropOldest(visit)) {
    const reference = state.queries.get(queryKey(organizationId, oldest.id), now)
    if (reference !== undefined) {
      reference.visit = undefined
      reference.settled = oldest
      state.queries.put(queryKey(organizationId, oldest.id), reference, now)
    }
  }
  state.visits.put(key, visit, now)
}

/**
 * Processes what one source reports about the search with a query id; the sources may arrive in any order and more than
 * once. The reference is stored before the search, because a full visit may evict the very search that arrived.
 */
const stepSearch = (
  state: AttributionState,
  organizationId: string,
  queryId: string,
  source: "served" | "event",
  searchFacts: SearchFacts,
  now: number,
  facts: Facts
): Outcome => {
  const key = queryKey(organizationId, queryId)
  const reference: QueryReference = state.queries.get(key, now) ?? {
    visit: undefined,
    settled: undefined,
    isUncounted: false,
    pending: []
  }
  if (reference.settled !== undefined) return drop("search already settled")
  const visit = reference.visit === undefined ? undefined : state.visits.get(reference.visit, now)
  const known = visit === undefined ? undefined : searchIn(visit, queryId)
  if (visit !== undefined && known !== undefined) {
    if (source === "served" && known.served !== undefined) return drop("search already counted")
    removeSearch(visit, known, facts)
    state.visits.put(reference.visit!, visit, now)
    if (source === "served") known.served = searchFacts
    else known.event = known.event === undefined ? searchFacts : earlier(known.event, searchFacts)
    known.derived = factsOf(known.served, known.event)
    reference.visit = keyOfSearch(organizationId, queryId, known.derived)
    state.queries.put(key, reference, now)
    putSearch(state, organizationId, reference.visit, known, now, facts)
  } else {
    const search =
      source === "served" ? newSearch(queryId, searchFacts, undefined) : newSearch(queryId, undefined, searchFacts)
    reference.visit = keyOfSearch(organizationId, queryId, search.derived)
    for (const { interaction, visit: looseIn } of reference.pending) {
      if (looseIn !== undefined) {
        const loose = visitAt(state, looseIn, organizationId, now)
        removeLoose(loose, interaction, facts)
        state.visits.put(looseIn, loose, now)
      }
      search.named.push(interaction)
    }
    reference.pending.length = 0
    state.queries.put(key, reference, now)
    putSearch(state, organizationId, reference.visit, search, now, facts)
  }
  return OK
}

export const stepServed = (state: AttributionState, served: ServedSearch, place: Place, facts: Facts): Outcome => {
  const now = place.appendedAt
  if (!served.isCounted) {
    const key = queryKey(served.organization_id, served.query_id)
    const reference = state.queries.get(key, now) ?? {
      visit: undefined,
      settled: undefined,
      isUncounted: true,
      pending: []
    }
    // Interactions that waited for the search belong to no query; they leave the visits where they were counted
    // meanwhile.
    for (const { interaction, visit: looseIn } of reference.pending) {
      if (looseIn === undefined) continue
      const loose = visitAt(state, looseIn, served.organization_id, now)
      removeLoose(loose, interaction, facts)
      state.visits.put(looseIn, loose, now)
    }
    reference.pending.length = 0
    reference.isUncounted = true
    state.queries.put(key, reference, now)
    return drop("enable_analytics=false")
  }
  const searchFacts: SearchFacts = {
    at: served.at,
    q: normalizeQuery(served.q),
    collection: nameOf(served.collection),
    hasNoResults: served.found === 0 && served.isRedirected !== true,
    visitor: visitorOf(served),
    device: dimensionOf(served.device ?? ""),
    country: dimensionOf(served.country ?? ""),
    surface: dimensionOf(served.surface ?? ""),
    who: state.who(served.organization_id, served, served.network),
    uses: usesOf(served.filter_by, served.facet_by),
    filter: asText(served.filter_by),
    tag: asText(served.analytics_tag),
    isExplicit: false,
    exposure: served.experiment,
    query: undefined
  }
  const outcome = stepSearch(state, served.organization_id, served.query_id, "served", searchFacts, now, facts)
  if (outcome.kind === "ok") facts.answer(served, searchFacts)
  return outcome
}

/**
 * Decision: a `search` event without `results_found` counts as one with results. A zero-result search is a claim that
 * somebody acts on, so it must be stated explicitly.
 */
export const stepSearchEvent = (
  state: AttributionState,
  organizationId: string,
  event: BehaviouralEvent,
  place: Place,
  facts: Facts
): Outcome => {
  const searchFacts: SearchFacts = {
    at: event.timestamp,
    q: normalizeQuery(event.q ?? ""),
    collection: event.collection,
    hasNoResults: event.results_found === 0,
    visitor: visitorOf(event),
    device: dimensionOf(event.device ?? ""),
    country: dimensionOf(event.country ?? ""),
    surface: dimensionOf(event.surface ?? ""),
    who: state.who(organizationId, event, 0),
    uses: usesOf(event.filter_by, undefined),
    filter: asText(event.filter_by),
    tag: asText(event.metadata?.analytics_tag),
    isExplicit: true,
    exposure: undefined,
    query: undefined
  }
  if (event.query_id !== undefined)
    return stepSearch(state, organizationId, event.query_id, "event", searchFacts, place.appendedAt, facts)
  const search = newSearch(`@${place.offset}.${place.index}`, undefined, searchFacts)
  if (searchFacts.visitor === "") insertSearch({ organizationId, searches: [], loose: [] }, search, facts)
  else
    putSearch(
      state,
      organizationId,
      visitKey(organizationId, searchFacts.visitor, searchFacts.collection),
      search,
      place.appendedAt,
      facts
    )
  return OK
}
