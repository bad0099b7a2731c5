/**
 * The vocabulary of what attribution finds out, and how facts reach the processors that count them. A fact is a
 * synchronous call on the emissions of every processor that has a method for it: nothing is allocated, and only what a
 * processor stores is kept. What changes later is first retracted (`sign` -1) and then asserted again (1), so that sums
 * of facts are correct at every moment, whatever the order of the records.
 *
 * Every fact names its organization and collection: for facts about a query or a document they are the first parts of
 * the subject's key. The visitor is in the search, or in the event reported just before the products it touched.
 */
import type { BehaviouralEvent, ServedExposure, ServedSearch } from "@dowser/log/event-schema"
import type { FilterUse } from "../figures/filter-uses.ts"
import type { Money } from "./money.ts"
import { boundSubjects, FlushSubjects, type KeyOf, KnownSubjects, type Subject } from "./subjects.ts"
import type { Who } from "./who.ts"

/**
 * What one source (the answer itself, or a `search` event) reports about a search, or both together. Texts are in their
 * analytics form.
 */
export interface SearchFacts {
  /** ms. */
  readonly at: number
  readonly q: string
  readonly collection: string
  readonly hasNoResults: boolean
  readonly visitor: string
  readonly device: string
  readonly country: string
  readonly surface: string
  readonly who: Who
  /** Filters and facets that the search used; undefined for none. */
  readonly uses: ReadonlyArray<FilterUse> | undefined
  /** The filter as it was requested, and the search's tag, by which rules may group. */
  readonly filter: string
  readonly tag: string
  /** Whether a `search` event reported it. */
  readonly isExplicit: boolean
  /** The variant of an experiment that answered it; `who` contains the unit that was assigned. */
  readonly exposure: ServedExposure | undefined
  /** The query for which it was last counted: looking that up costs more than counting. */
  query: Subject | undefined
}

export type InteractionKind = "click" | "add_to_cart" | "purchase"
export interface Interaction {
  /** Its position in the log: the same on every replay. Two numbers, because a text would take most of the memory. */
  readonly offset: number
  readonly index: number
  readonly kind: InteractionKind
  /** ms. */
  readonly at: number
  /** Cart value or revenue. */
  readonly money: Money
  /** For clicks and purchases: the documents (`documentPrint`), if the event names any. */
  readonly documents: ReadonlyArray<number>
}
export const NO_DOCUMENTS: ReadonlyArray<number> = []

export type ProductKind = "view" | InteractionKind
/** 1 asserts a fact, -1 retracts one that was asserted before. */
export type Sign = 1 | -1

/** What a processor keeps of the facts of one flush, with a method for each kind of fact that it counts. */
export interface FactSink {
  /** An event counts: the first with its id. `event` is valid until the call returns; `kept` copies it. */
  event?(organizationId: string, collection: string, event: BehaviouralEvent): void
  /** An answered search counts: the first with its query id. The `search` fact follows once its visit is known. */
  answer?(served: ServedSearch, search: SearchFacts): void
  /** An interaction with a document, independent of searches. `quantity` and `money` apply to carts and purchases. */
  product?(product: Subject, kind: ProductKind, at: number, quantity: number, money: Money): void
  /** A search counts or is retracted: the last of its keystrokes, with what it found and how it was narrowed. */
  search?(query: Subject, search: SearchFacts, sign: Sign): void
  /** A counted search gets its first click or purchase, or loses it; once for each kind. */
  converted?(query: Subject, search: SearchFacts, kind: "click" | "purchase", sign: Sign): void
  /** A click, cart or purchase is attributed to a search, with its money, or no longer is. */
  interaction?(query: Subject, interaction: Interaction, sign: Sign, search: SearchFacts): void
}

/**
 * For queries: organization, collection, query, device, country, surface. For products: the document instead of the
 * query.
 */
const segmentedKey: KeyOf = (organizationId, collection, device, country, surface, of) => [
  organizationId,
  collection,
  of,
  device,
  country,
  surface
]

/** Memory for the subjects of a partition that outlive a flush, of both kinds together: some 40,000. */
const SUBJECTS_BYTES_MAX = 14_000_000

/** The subjects of a partition, shared by all its flushes. */
export class KnownFacts {
  readonly queries = new KnownSubjects(segmentedKey)
  readonly products = new KnownSubjects(segmentedKey)
}

type Having<Name extends keyof FactSink> = FactSink & Required<Pick<FactSink, Name>>
const having = <Name extends keyof FactSink>(sinks: ReadonlyArray<FactSink>, name: Name): ReadonlyArray<Having<Name>> =>
  sinks.filter((sink): sink is Having<Name> => sink[name] !== undefined)

/** The facts of one flush, passed to the emissions of every processor in the order of the list. */
export class Facts {
  /** Organization, collection, device, country, surface, query. */
  readonly queries: FlushSubjects
  /** Organization, collection, device, country, surface, document. */
  readonly products: FlushSubjects
  /** One per processor, in the order of the list. */
  readonly emitted: ReadonlyArray<FactSink>
  readonly #event: ReadonlyArray<Having<"event">>
  readonly #answer: ReadonlyArray<Having<"answer">>
  readonly #product: ReadonlyArray<Having<"product">>
  readonly #search: ReadonlyArray<Having<"search">>
  readonly #converted: ReadonlyArray<Having<"converted">>
  readonly #interaction: ReadonlyArray<Having<"interaction">>

  /** Creating it ends earlier facts with the same `known`: nothing is added to those any more. */
  constructor(known: KnownFacts, emittedOf: (facts: Facts) => ReadonlyArray<FactSink>) {
    boundSubjects([known.queries, known.products], SUBJECTS_BYTES_MAX)
    this.queries = new FlushSubjects(known.queries)
    this.products = new FlushSubjects(known.products)
    const emitted = (this.emitted = emittedOf(this))
    this.#event = having(emitted, "event")
    this.#answer = having(emitted, "answer")
    this.#product = having(emitted, "product")
    this.#search = having(emitted, "search")
    this.#converted = having(emitted, "converted")
    this.#interaction = having(emitted, "interaction")
  }

  event(organizationId: string, collection: string, event: BehaviouralEvent): void {
    for (let i = 0; i < this.#event.length; i++) this.#event[i]!.event(organizationId, collection, event)
  }
  answer(served: ServedSearch, search: SearchFacts): void {
    for (let i = 0; i < this.#answer.length; i++) this.#answer[i]!.answer(served, search)
  }
  product(product: Subject, kind: ProductKind, at: number, quantity: number, money: Money): void {
    for (let i = 0; i < this.#product.length; i++) this.#product[i]!.product(product, kind, at, quantity, money)
  }
  search(query: Subject, search: SearchFacts, sign: Sign): void {
    for (let i = 0; i < this.#search.length; i++) this.#search[i]!.search(query, search, sign)
  }
  converted(query: Subject, search: SearchFacts, kind: "click" | "purchase", sign: Sign): void {
    for (let i = 0; i < this.#converted.length; i++) this.#converted[i]!.converted(query, search, kind, sign)
  }
  interaction(query: Subject, interaction: Interaction, sign: Sign, search: SearchFacts): void {
    for (let i = 0; i < this.#interaction.length; i++)
      this.#interaction[i]!.interaction(query, interaction, sign, search)
  }
}
