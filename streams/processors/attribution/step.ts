/**
 * Joins answered searches with what visitors did next. Pure: state in, emissions out (see `visit.ts` for the
 * arithmetic). Clicks, carts and purchases belong to the query of their query id, else to the visitor's last search of
 * that collection within 30 minutes, else to no query; products count them in any case (contract part 3).
 */
import { BoundedMap } from "@dowser/engine-sdk/host"
import { usesOf } from "../../figures/filter-uses.ts"
import { cutBytes, normalizeQuery, storable } from "@dowser/log/normalize-query"
import type { BehaviouralEvent, ServedSearch } from "@dowser/log/event-schema"
import { kept } from "@dowser/log/columns/decode"
import { deadLetter, drop, OK, type Outcome } from "../../runner/outcome.ts"
import type { Place } from "../../runner/processor.ts"
import { type Money, moneyOf, NO_MONEY, type Rollups } from "../rollups/rollups.ts"
import { LOGGED_MAX } from "../rules/rules.ts"
import { type AttributionState, PENDING_MAX, type QueryReference } from "./state.ts"
import {
  addLoose,
  addNamed,
  addSettled,
  dropOldest,
  earlier,
  facts,
  insertSearch,
  type Interaction,
  type InteractionKind,
  newSearch,
  removeLoose,
  removeSearch,
  type Search,
  type SearchFacts,
  type Visit
} from "./visit.ts"

export type Body =
  | { readonly kind: "served"; readonly served: ServedSearch }
  | { readonly kind: "event"; readonly organizationId: string; readonly event: BehaviouralEvent }

const DIMENSION_BYTES_MAX = 64
const NAME_BYTES_MAX = 256
const asText = (value: unknown): string => (typeof value === "string" ? cutBytes(storable(value), NAME_BYTES_MAX) : "")

/**
 * Texts come as copies of their own with every event, and what is kept for thirty days keeps them: so the same text as
 * the last time is the same string. The functions are pure; what they remember is one answer each, of a text that is
 * short.
 */
const remembering = (of: (text: string) => string) => {
  let asked = "",
    answer = of("")
  return (text: string): string => {
    if (text === asked) return answer
    answer = of(text)
    asked = answer === text ? answer : text
    return answer
  }
}
const cutDimension = (value: string): string => cutBytes(storable(value), DIMENSION_BYTES_MAX)
const deviceOf = remembering(cutDimension),
  countryOf = remembering(cutDimension),
  surfaceOf = remembering(cutDimension)
const collectionOf = remembering((name) => name),
  visitorAs = remembering((id) => id)

/**
 * Normal forms of queries that were asked lately. A form costs more than finding it, and shops ask the same again and
 * again.
 */
const NORMALIZED_LENGTH_MAX = 64
const normalized = new BoundedMap<string, string>({
  bytes_max: 2_000_000,
  bytesOf: (q, form) => 2 * (q.length + form.length)
})
const normalFormOf = (q: string): string => {
  if (q.length > NORMALIZED_LENGTH_MAX) return normalizeQuery(q)
  let form = normalized.get(q)
  if (form === undefined) normalized.set(q, (form = normalizeQuery(q)))
  return form
}
/** Without a session or user nothing is merged and nothing is attributed by session (contract part 3). */
const visitorOf = (of: { readonly session_id?: string; readonly user_id?: string }): string =>
  visitorAs(of.session_id || of.user_id || "")

// Lengths make these unambiguous: ids are the tenant's own text.
/** One visit's events come together: its key is made, and hashed, once for those. */
const lastVisit = { organizationId: "", visitor: "", collection: "", key: "|0||" }
const visitKey = (organizationId: string, visitor: string, collection: string): string => {
  if (
    visitor === lastVisit.visitor &&
    collection === lastVisit.collection &&
    organizationId === lastVisit.organizationId
  )
    return lastVisit.key
  lastVisit.organizationId = organizationId
  lastVisit.visitor = visitor
  lastVisit.collection = collection
  return (lastVisit.key = `${organizationId}|${visitor.length}|${visitor}|${collection}`)
}
const lonelyKey = (organizationId: string, queryId: string): string => `${organizationId}||${queryId}`
const queryKey = (organizationId: string, queryId: string): string => `${organizationId}|${queryId}`

const visitAt = (state: AttributionState, key: string, organizationId: string, now: number): Visit =>
  state.visits.get(key, now) ?? { organizationId, searches: [], loose: [] }

const keyOfSearch = (organizationId: string, id: string, f: SearchFacts): string =>
  f.visitor === "" ? lonelyKey(organizationId, id) : visitKey(organizationId, f.visitor, f.collection)

const putSearch = (
  state: AttributionState,
  organizationId: string,
  key: string,
  search: Search,
  now: number,
  rollups: Rollups
): void => {
  const visit = visitAt(state, key, organizationId, now)
  insertSearch(visit, search, rollups)
  const oldest = dropOldest(visit)
  if (oldest !== undefined) {
    const reference = state.queries.get(queryKey(organizationId, oldest.id), now)
    if (reference !== undefined) {
      reference.visit = undefined
      reference.settled = oldest
      state.queries.put(queryKey(organizationId, oldest.id), reference, now)
    }
  }
  state.visits.put(key, visit, now)
}

/** What one source says about the search with a query id; the sources may come in any order and more than once. */
const stepSearch = (
  state: AttributionState,
  organizationId: string,
  queryId: string,
  source: "served" | "event",
  said: SearchFacts,
  now: number,
  rollups: Rollups
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
  const known = visit?.searches.find((search) => search.id === queryId)
  if (visit !== undefined && known !== undefined) {
    if (source === "served" && known.served !== undefined) return drop("search already counted")
    removeSearch(visit, known, rollups)
    state.visits.put(reference.visit!, visit, now)
    if (source === "served") known.served = said
    else known.event = known.event === undefined ? said : earlier(known.event, said)
    known.derived = facts(known.served, known.event)
    reference.visit = keyOfSearch(organizationId, queryId, known.derived)
    putSearch(state, organizationId, reference.visit, known, now, rollups)
  } else {
    const search = source === "served" ? newSearch(queryId, said, undefined) : newSearch(queryId, undefined, said)
    reference.visit = keyOfSearch(organizationId, queryId, search.derived)
    for (const { interaction, visit: looseIn } of reference.pending) {
      if (looseIn !== undefined) {
        const loose = visitAt(state, looseIn, organizationId, now)
        removeLoose(loose, interaction, rollups)
        state.visits.put(looseIn, loose, now)
      }
      search.named.push(interaction)
    }
    reference.pending.length = 0
    putSearch(state, organizationId, reference.visit, search, now, rollups)
  }
  state.queries.put(key, reference, now)
  return OK
}

const stepServed = (state: AttributionState, served: ServedSearch, place: Place, rollups: Rollups): Outcome => {
  const now = place.appendedAt
  if (!served.isCounted) {
    const key = queryKey(served.organization_id, served.query_id)
    const reference = state.queries.get(key, now) ?? {
      visit: undefined,
      settled: undefined,
      isUncounted: true,
      pending: []
    }
    // Those who waited for it belong to no query; they leave the visits where they stood meanwhile.
    for (const { interaction, visit: looseIn } of reference.pending) {
      if (looseIn === undefined) continue
      const loose = visitAt(state, looseIn, served.organization_id, now)
      removeLoose(loose, interaction, rollups)
      state.visits.put(looseIn, loose, now)
    }
    reference.pending.length = 0
    reference.isUncounted = true
    state.queries.put(key, reference, now)
    return drop("enable_analytics=false")
  }
  const outcome = stepSearch(
    state,
    served.organization_id,
    served.query_id,
    "served",
    {
      at: served.at,
      q: normalFormOf(served.q),
      collection: cutBytes(storable(served.collection), NAME_BYTES_MAX),
      hasNoResults: served.found === 0 && served.isRedirected !== true,
      visitor: visitorOf(served),
      device: deviceOf(served.device ?? ""),
      country: countryOf(served.country ?? ""),
      surface: surfaceOf(served.surface ?? ""),
      who: state.who(served.organization_id, served, served.network),
      uses: usesOf(served.filter_by, served.facet_by),
      filter: asText(served.filter_by),
      tag: asText(served.analytics_tag),
      isExplicit: false,
      row: undefined,
      asked: undefined
    },
    now,
    rollups
  )
  if (outcome.kind === "ok" && mayLog(rollups, served.organization_id))
    rollups.logged.push({ organizationId: served.organization_id, event: eventOf(served) })
  return outcome
}

/**
 * Decision: a `search` event without `results_found` counts as one with results. A zero-result search is a claim that
 * somebody acts on, so it needs to have been made.
 */
const stepSearchEvent = (
  state: AttributionState,
  organizationId: string,
  event: BehaviouralEvent,
  place: Place,
  rollups: Rollups
): Outcome => {
  const said: SearchFacts = {
    at: event.timestamp,
    q: normalFormOf(event.q ?? ""),
    collection: collectionOf(event.collection),
    hasNoResults: event.results_found === 0,
    visitor: visitorOf(event),
    device: deviceOf(event.device ?? ""),
    country: countryOf(event.country ?? ""),
    surface: surfaceOf(event.surface ?? ""),
    who: state.who(organizationId, event, 0),
    uses: usesOf(event.filter_by, undefined),
    filter: asText(event.filter_by),
    tag: asText(event.metadata?.analytics_tag),
    isExplicit: true,
    row: undefined,
    asked: undefined
  }
  if (event.query_id !== undefined)
    return stepSearch(state, organizationId, event.query_id, "event", said, place.appendedAt, rollups)
  const search = newSearch(`@${place.offset}.${place.index}`, undefined, said)
  if (said.visitor === "") insertSearch({ organizationId, searches: [], loose: [] }, search, rollups)
  else
    putSearch(
      state,
      organizationId,
      visitKey(organizationId, said.visitor, said.collection),
      search,
      place.appendedAt,
      rollups
    )
  return OK
}

/** Whether a log rule may want an event of it whole. */
const mayLog = (rollups: Rollups, organizationId: string): boolean =>
  rollups.logged.length < LOGGED_MAX && rollups.knowledge.mayLog(organizationId)
/** An answer as the event that would tell of it. */
const eventOf = ({
  at,
  found,
  isCounted: _counted,
  isRedirected: _redirected,
  network: _network,
  organization_id: _organization,
  ...said
}: ServedSearch): BehaviouralEvent => ({ ...said, type: "search", timestamp: at, results_found: found })
/** An answer was kept when it was served. */
const namesAnswer = ({ query_id, type }: BehaviouralEvent): boolean =>
  type === "search" && query_id?.startsWith("qry_") === true

/** Amount of an event: its revenue, else price × quantity of the document, else of all items. */
const amountOf = (event: BehaviouralEvent): Money => {
  if (event.revenue !== undefined) return moneyOf(event.revenue)
  if (event.items === undefined)
    return event.price === undefined ? NO_MONEY : moneyOf(event.price * (event.quantity ?? 1))
  return moneyOf(event.items.reduce((sum, item) => sum + (item.price ?? 0) * (item.quantity ?? 1), 0))
}

const stepInteraction = (
  state: AttributionState,
  organizationId: string,
  kind: InteractionKind,
  event: BehaviouralEvent,
  place: Place,
  rollups: Rollups
): void => {
  const now = place.appendedAt
  const interaction: Interaction = {
    offset: place.offset,
    index: place.index,
    kind,
    at: event.timestamp,
    money: kind === "click" ? NO_MONEY : amountOf(event)
  }
  const visitor = visitorOf(event)
  const looseIn = visitor === "" ? undefined : visitKey(organizationId, visitor, collectionOf(event.collection))
  if (event.query_id !== undefined) {
    const key = queryKey(organizationId, event.query_id)
    const reference = state.queries.get(key, now) ?? {
      visit: undefined,
      settled: undefined,
      isUncounted: false,
      pending: []
    }
    if (reference.settled !== undefined) {
      addSettled(organizationId, reference.settled, interaction, rollups)
      return state.queries.put(key, reference, now)
    }
    const visit = reference.visit === undefined ? undefined : state.visits.get(reference.visit, now)
    const search = visit?.searches.find(({ id }) => id === event.query_id)
    if (visit !== undefined && search !== undefined) {
      addNamed(visit, search, interaction, rollups)
      return state.visits.put(reference.visit!, visit, now)
    }
    // The search may still come. Until then the event counts where it would without its query id.
    if (reference.pending.length < PENDING_MAX) {
      reference.pending.push({ interaction, visit: reference.isUncounted ? undefined : looseIn })
      state.queries.put(key, reference, now)
    }
    if (reference.isUncounted) return
  }
  if (looseIn === undefined) return
  const visit = visitAt(state, looseIn, organizationId, now)
  addLoose(visit, interaction, rollups)
  state.visits.put(looseIn, visit, now)
}

// Slots of `Deltas` for PRODUCT_MEASURES.
const VIEWS = 0,
  CLICKS = 1,
  CARTS = 2,
  PURCHASES = 3,
  QUANTITY_UNITS = 4,
  CART_UNITS = 6,
  REVENUE_UNITS = 8

/** Products count what happened to them, whoever searched what. */
const countProducts = (organizationId: string, event: BehaviouralEvent, at: number, rollups: Rollups): void => {
  const slot =
    event.type === "view"
      ? VIEWS
      : event.type === "click"
        ? CLICKS
        : event.type === "add_to_cart"
          ? CARTS
          : event.type === "purchase"
            ? PURCHASES
            : -1
  if (slot < 0) return
  if (event.items === undefined) {
    if (event.document_id !== undefined)
      countProduct(
        organizationId,
        event,
        at,
        slot,
        event.document_id,
        event.quantity ?? 1,
        slot < CARTS ? NO_MONEY : amountOf(event),
        rollups
      )
    return
  }
  for (const item of event.items)
    countProduct(
      organizationId,
      event,
      at,
      slot,
      item.document_id,
      item.quantity ?? 1,
      slot < CARTS ? NO_MONEY : moneyOf((item.price ?? 0) * (item.quantity ?? 1)),
      rollups
    )
}
const countProduct = (
  organizationId: string,
  event: BehaviouralEvent,
  at: number,
  slot: number,
  documentId: string,
  quantity: number,
  money: Money,
  { products }: Rollups
): void => {
  const row = products.row(
    organizationId,
    collectionOf(event.collection),
    deviceOf(event.device ?? ""),
    countryOf(event.country ?? ""),
    surfaceOf(event.surface ?? ""),
    documentId
  )
  products.add(row, at, slot, 1)
  if (slot < CARTS) return
  const amount = moneyOf(quantity)
  const value = slot === CARTS ? CART_UNITS : REVENUE_UNITS
  products.add(row, at, QUANTITY_UNITS, amount.units)
  products.add(row, at, QUANTITY_UNITS + 1, amount.micros)
  products.add(row, at, value, money.units)
  products.add(row, at, value + 1, money.micros)
}

/** Conversions and custom events of documents, which only rules count. */
const countOthers = (organizationId: string, event: BehaviouralEvent, rollups: Rollups): void => {
  if (event.type !== "conversion" && event.type !== "custom") return
  const { collection, document_id, document_ids, items, timestamp, type } = event
  for (const id of new Set(
    document_id === undefined
      ? [...(document_ids ?? []), ...(items ?? []).map((item) => item.document_id)]
      : [document_id]
  )) {
    rollups.others.add(rollups.others.row(organizationId, collection, type, "", "", id), timestamp, 0, 1)
  }
}

/** Longer than any id that is accepted, shorter than a part of an index row may be. */
const KEY_BYTES_MAX = 1_024
const isKey = (text: string): boolean =>
  (text.length <= KEY_BYTES_MAX / 3 || Buffer.byteLength(text) <= KEY_BYTES_MAX) && !text.includes("\u0000")
const hasKeys = ({ collection, document_id, document_ids, items }: BehaviouralEvent): boolean =>
  isKey(collection) &&
  (document_id === undefined || isKey(document_id)) &&
  (document_ids?.every(isKey) ?? true) &&
  (items?.every((item) => isKey(item.document_id)) ?? true)

export const step = (state: AttributionState, body: Body, place: Place, rollups: Rollups): Outcome => {
  if (body.kind === "served") return stepServed(state, body.served, place, rollups)
  const { event, organizationId } = body
  // A row of it no index takes, and by the time that rows are made nobody knows which event was at fault.
  if (!hasKeys(event)) return deadLetter(`an id or collection has NUL or more than ${KEY_BYTES_MAX} bytes`)
  if (!state.admit(organizationId, event, place.appendedAt, place.index)) return drop("event_id already counted")
  const at = event.timestamp
  rollups.events.add(
    rollups.events.row(organizationId, collectionOf(event.collection), "", "", "", event.type),
    at,
    0,
    1
  )
  countProducts(organizationId, event, at, rollups)
  countOthers(organizationId, event, rollups)
  if (mayLog(rollups, organizationId) && !namesAnswer(event))
    rollups.logged.push({ organizationId, event: kept(event) })
  switch (event.type) {
    case "search":
      return stepSearchEvent(state, organizationId, event, place, rollups)
    case "click":
    case "add_to_cart":
    case "purchase":
      stepInteraction(state, organizationId, event.type, event, place, rollups)
      break
    // Counted above; they belong to no answer.
    case "view":
    case "conversion":
    case "custom":
      break
  }
  return OK
}
