/**
 * What rollups keep of the facts of one flush: signed sums at exact instants, by query, product, type of event, and
 * filter or facet used.
 */
import type { BehaviouralEvent } from "@dowser/log/event-schema"
import { Deltas } from "../../facts/deltas.ts"
import type { Facts, FactSink, Interaction, ProductKind, SearchFacts, Sign } from "../../facts/facts.ts"
import { type Money, moneyOf } from "../../facts/money.ts"
import { boundSubjects, FlushSubjects, KnownSubjects, type Subject } from "../../facts/subjects.ts"
import {
  EVENT_MEASURES,
  FILTER_MEASURES,
  PRODUCT_AMOUNTS,
  PRODUCT_MEASURES,
  QUERY_AMOUNTS,
  QUERY_MEASURES
} from "./tables.ts"

// Slots of QUERY_MEASURES; FILTER_MEASURES has the first ones.
const SEARCHES = 0,
  ZERO_RESULTS = 1,
  WITH_CLICK = 2,
  WITH_PURCHASE = 3,
  QUERY_CLICKS = 4,
  QUERY_CARTS = 5,
  QUERY_PURCHASES = 6,
  QUERY_CART_UNITS = 7,
  QUERY_REVENUE_UNITS = 9

// Slots of PRODUCT_MEASURES.
const VIEWS = 0,
  CLICKS = 1,
  CARTS = 2,
  PURCHASES = 3,
  QUANTITY_UNITS = 4,
  CART_UNITS = 6,
  REVENUE_UNITS = 8

/** Memory for types of events and uses of filters that outlive a flush. */
const KNOWN_BYTES_MAX = 4_000_000

/** Subjects of one partition that only rollups use. */
export class KnownUses {
  readonly events = new KnownSubjects((organizationId, collection, _c, _d, _e, type) => [
    organizationId,
    collection,
    type
  ])
  readonly filters = new KnownSubjects((organizationId, collection, device, country, surface, use) => [
    organizationId,
    collection,
    ...use.split("\u0000"),
    device,
    country,
    surface
  ])
}

export class RollupSums implements FactSink {
  readonly queries: Deltas
  readonly products: Deltas
  readonly events: Deltas
  readonly filters: Deltas

  constructor(known: KnownUses, { products, queries }: Pick<Facts, "queries" | "products">, spent?: RollupSums) {
    boundSubjects([known.events, known.filters], KNOWN_BYTES_MAX)
    this.queries = new Deltas(QUERY_MEASURES.length, QUERY_AMOUNTS, queries, spent?.queries)
    this.products = new Deltas(PRODUCT_MEASURES.length, PRODUCT_AMOUNTS, products, spent?.products)
    this.events = new Deltas(EVENT_MEASURES.length, 0, new FlushSubjects(known.events), spent?.events)
    this.filters = new Deltas(FILTER_MEASURES.length, 0, new FlushSubjects(known.filters), spent?.filters)
  }

  /** Number of instants. */
  get size(): number {
    return this.queries.size + this.products.size + this.events.size + this.filters.size
  }

  event(organizationId: string, collection: string, { timestamp, type }: BehaviouralEvent): void {
    this.events.add(this.events.subjects.of(organizationId, collection, "", "", "", type), timestamp, 0, 1)
  }

  product(product: Subject, kind: ProductKind, at: number, quantity: number, { micros, units }: Money): void {
    const { products } = this
    if (kind === "view") return products.add(product, at, VIEWS, 1)
    if (kind === "click") return products.add(product, at, CLICKS, 1)
    const isCart = kind === "add_to_cart",
      amount = moneyOf(quantity),
      value = isCart ? CART_UNITS : REVENUE_UNITS
    products.add(product, at, isCart ? CARTS : PURCHASES, 1)
    products.add(product, at, QUANTITY_UNITS, amount.units)
    products.add(product, at, QUANTITY_UNITS + 1, amount.micros)
    products.add(product, at, value, units)
    products.add(product, at, value + 1, micros)
  }

  search(query: Subject, search: SearchFacts, sign: Sign): void {
    this.#countSearch(query, search, SEARCHES, sign)
    if (search.hasNoResults) this.#countSearch(query, search, ZERO_RESULTS, sign)
  }
  converted(query: Subject, search: SearchFacts, kind: "click" | "purchase", sign: Sign): void {
    this.#countSearch(query, search, kind === "click" ? WITH_CLICK : WITH_PURCHASE, sign)
  }
  /** Counts what occurs once per search, with the filters and facets it used. */
  #countSearch(
    query: Subject,
    { at, collection, country, device, surface, uses }: SearchFacts,
    slot: number,
    sign: Sign
  ): void {
    this.queries.add(query, at, slot, sign)
    if (uses === undefined) return
    const { filters } = this
    for (const [type, field, value] of uses)
      filters.add(
        filters.subjects.of(query.key[0]!, collection, device, country, surface, `${type}\u0000${field}\u0000${value}`),
        at,
        slot,
        sign
      )
  }

  interaction(query: Subject, { at, kind, money }: Interaction, sign: Sign): void {
    const { queries } = this
    if (kind === "click") return queries.add(query, at, QUERY_CLICKS, sign)
    const isCart = kind === "add_to_cart",
      value = isCart ? QUERY_CART_UNITS : QUERY_REVENUE_UNITS
    queries.add(query, at, isCart ? QUERY_CARTS : QUERY_PURCHASES, sign)
    queries.add(query, at, value, sign * money.units)
    queries.add(query, at, value + 1, sign * money.micros)
  }
}
