/**
 * Joins answered searches with what visitors did next, and reports what it finds as facts. Pure: state in, facts out
 * (see `contributions.ts` for the arithmetic). Clicks, carts and purchases belong to the query of their query id, else
 * to the visitor's last search of that collection within 30 minutes, else to no query; products count them in any case.
 */
import { documentPrint } from "@dowser/engine-sdk/experiments"
import type { BehaviouralEvent } from "@dowser/log/event-schema"
import {
  type Facts,
  type Interaction,
  type InteractionKind,
  NO_DOCUMENTS,
  type ProductKind
} from "../../facts/facts.ts"
import { type Money, moneyOf, NO_MONEY } from "../../facts/money.ts"
import { deadLetter, drop, OK, type Outcome } from "../../processor/outcome.ts"
import type { Place } from "../../processor/processor.ts"
import type { Body } from "./body.ts"
import { addLoose, addNamed, addSettled } from "./contributions.ts"
import { stepSearchEvent, stepServed, visitAt } from "./search-step.ts"
import { type AttributionState, PENDING_MAX } from "./state.ts"
import { dimensionOf, queryKey, visitKey, visitorOf } from "./texts.ts"
import { searchIn } from "./visit.ts"

/** Amount of an event: its revenue, else price × quantity of the document, else of all items. */
const amountOf = (event: BehaviouralEvent): Money => {
  if (event.revenue !== undefined) return moneyOf(event.revenue)
  if (event.items === undefined)
    return event.price === undefined ? NO_MONEY : moneyOf(event.price * (event.quantity ?? 1))
  return moneyOf(event.items.reduce((sum, item) => sum + (item.price ?? 0) * (item.quantity ?? 1), 0))
}

/** Maximum number of documents of an event that are distinguished; no page has more. */
const DOCUMENTS_MAX = 250
const documentsOf = ({ document_id, items }: BehaviouralEvent): ReadonlyArray<number> =>
  items !== undefined
    ? items.slice(0, DOCUMENTS_MAX).map((item) => documentPrint(item.document_id))
    : document_id === undefined
      ? NO_DOCUMENTS
      : [documentPrint(document_id)]

const stepInteraction = (
  state: AttributionState,
  organizationId: string,
  kind: InteractionKind,
  event: BehaviouralEvent,
  place: Place,
  facts: Facts
): void => {
  const now = place.appendedAt
  const interaction: Interaction = {
    offset: place.offset,
    index: place.index,
    kind,
    at: event.timestamp,
    money: kind === "click" ? NO_MONEY : amountOf(event),
    documents: kind === "add_to_cart" ? NO_DOCUMENTS : documentsOf(event)
  }
  const visitor = visitorOf(event)
  const looseIn = visitor === "" ? undefined : visitKey(organizationId, visitor, event.collection)
  if (event.query_id !== undefined) {
    const key = queryKey(organizationId, event.query_id)
    const reference = state.queries.get(key, now) ?? {
      visit: undefined,
      settled: undefined,
      isUncounted: false,
      pending: []
    }
    if (reference.settled !== undefined) {
      addSettled(organizationId, reference.settled, interaction, facts)
      return state.queries.put(key, reference, now)
    }
    const visit = reference.visit === undefined ? undefined : state.visits.get(reference.visit, now)
    const search = visit === undefined ? undefined : searchIn(visit, event.query_id)
    if (visit !== undefined && search !== undefined) {
      addNamed(visit, search, interaction, facts)
      return state.visits.put(reference.visit!, visit, now)
    }
    // The search may still arrive. Until then the event counts where it would without its query id.
    if (reference.pending.length < PENDING_MAX) {
      reference.pending.push({ interaction, visit: reference.isUncounted ? undefined : looseIn })
      state.queries.put(key, reference, now)
    }
    if (reference.isUncounted) return
  }
  if (looseIn === undefined) return
  const visit = visitAt(state, looseIn, organizationId, now)
  addLoose(visit, interaction, facts)
  state.visits.put(looseIn, visit, now)
}

/** Products count interactions independent of searches. */
const countProducts = (organizationId: string, event: BehaviouralEvent, facts: Facts): void => {
  const { type } = event
  if (type !== "view" && type !== "click" && type !== "add_to_cart" && type !== "purchase") return
  const hasMoney = type === "add_to_cart" || type === "purchase"
  if (event.items === undefined) {
    if (event.document_id !== undefined)
      countProduct(
        organizationId,
        event,
        type,
        event.document_id,
        event.quantity ?? 1,
        hasMoney ? amountOf(event) : NO_MONEY,
        facts
      )
    return
  }
  for (const item of event.items)
    countProduct(
      organizationId,
      event,
      type,
      item.document_id,
      item.quantity ?? 1,
      hasMoney ? moneyOf((item.price ?? 0) * (item.quantity ?? 1)) : NO_MONEY,
      facts
    )
}
const countProduct = (
  organizationId: string,
  event: BehaviouralEvent,
  kind: ProductKind,
  documentId: string,
  quantity: number,
  money: Money,
  facts: Facts
): void => {
  const product = facts.products.of(
    organizationId,
    event.collection,
    dimensionOf(event.device ?? ""),
    dimensionOf(event.country ?? ""),
    dimensionOf(event.surface ?? ""),
    documentId
  )
  facts.product(product, kind, event.timestamp, quantity, money)
}

/** Longer than any accepted id, and shorter than the limit for a part of an index row. */
const KEY_BYTES_MAX = 1_024
const isKey = (text: string): boolean =>
  (text.length <= KEY_BYTES_MAX / 3 || Buffer.byteLength(text) <= KEY_BYTES_MAX) && !text.includes("\u0000")
const hasKeys = ({ collection, document_id, document_ids, items }: BehaviouralEvent): boolean =>
  isKey(collection) &&
  (document_id === undefined || isKey(document_id)) &&
  (document_ids?.every(isKey) ?? true) &&
  (items?.every((item) => isKey(item.document_id)) ?? true)

export const step = (state: AttributionState, body: Body, place: Place, facts: Facts): Outcome => {
  if (body.kind === "served") return stepServed(state, body.served, place, facts)
  const { event, organizationId } = body
  // No index accepts such a row, and by the time rows are written the faulty event is unknown.
  if (!hasKeys(event)) return deadLetter(`an id or collection has NUL or more than ${KEY_BYTES_MAX} bytes`)
  if (!state.admit(organizationId, event, place.appendedAt, place.index)) return drop("event_id already counted")
  facts.event(organizationId, event.collection, event)
  countProducts(organizationId, event, facts)
  switch (event.type) {
    case "search":
      return stepSearchEvent(state, organizationId, event, place, facts)
    case "click":
    case "add_to_cart":
    case "purchase":
      stepInteraction(state, organizationId, event.type, event, place, facts)
      break
    // Reported above; these types are not attributed to a search.
    case "view":
    case "conversion":
    case "custom":
      break
  }
  return OK
}
