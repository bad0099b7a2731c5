/**
 * What analytics rules keep of the facts of one flush. A rule may be created at any moment and counts from then on, so
 * everything is kept for everybody until the flush has read which rules exist: as lists in order of arrival, at some
 * nanoseconds each, most of which are never read.
 *
 * Complete events, for `log` rules, are kept only for organizations that have such a rule or whose rules are not known
 * yet; so a log rule begins with the first flush after its creation, seconds later at most.
 */
import type { BehaviouralEvent, ServedSearch } from "@dowser/log/event-schema"
import { kept } from "@dowser/log/columns/decode"
import type { FactSink, ProductKind, SearchFacts, Sign } from "../../facts/facts.ts"
import type { Key, Subject } from "../../facts/subjects.ts"

/** Maximum number of events of one flush that log rules keep: they serve for inspection, not for counting. */
const LOGGED_MAX = 20_000

/** Organizations whose complete events are kept; updated at each flush of a partition. */
export class LogKnowledge {
  readonly #hasLog = new Map<string, boolean>()
  mayLog(organizationId: string): boolean {
    return this.#hasLog.get(organizationId) ?? true
  }
  learn(organizationId: string, hasLog: boolean): void {
    if (this.#hasLog.size > 10_000) this.#hasLog.clear()
    this.#hasLog.set(organizationId, hasLog)
  }
}

export interface LoggedEvent {
  readonly organizationId: string
  readonly event: BehaviouralEvent
}
/** A document with an event of a type that products do not count. */
interface OtherUse {
  readonly organizationId: string
  readonly collection: string
  readonly type: string
  readonly documentId: string
  readonly at: number
}

/** An answer in the form of the event that would report it. */
const eventOf = ({
  at,
  experiment: _experiment,
  found,
  isCounted: _counted,
  isRedirected: _redirected,
  network: _network,
  organization_id: _organization,
  ...rest
}: ServedSearch): BehaviouralEvent => ({ ...rest, type: "search", timestamp: at, results_found: found })
/** Whether the event names one of our answers, which was logged already when it was served. */
const namesAnswer = ({ query_id, type }: BehaviouralEvent): boolean =>
  type === "search" && query_id?.startsWith("qry_") === true

export class RuleFacts implements FactSink {
  readonly knowledge: LogKnowledge
  readonly organizations = new Set<string>()
  #lastOrganization = ""
  // Searches that count or are retracted, and interactions with products; by slot.
  readonly #queries: Array<Key> = []
  readonly #searches: Array<SearchFacts> = []
  readonly #signs: Array<Sign> = []
  readonly #products: Array<Key> = []
  readonly #kinds: Array<ProductKind> = []
  readonly #times: Array<number> = []
  readonly others: Array<OtherUse> = []
  readonly logged: Array<LoggedEvent> = []

  constructor(knowledge: LogKnowledge) {
    this.knowledge = knowledge
  }

  get size(): number {
    return this.#queries.length + this.#products.length + this.others.length + this.logged.length
  }
  #touch(organizationId: string): void {
    if (organizationId === this.#lastOrganization) return
    this.#lastOrganization = organizationId
    this.organizations.add(organizationId)
  }
  #mayLog(organizationId: string): boolean {
    return this.logged.length < LOGGED_MAX && this.knowledge.mayLog(organizationId)
  }

  event(organizationId: string, collection: string, event: BehaviouralEvent): void {
    const { type } = event
    if (type === "conversion" || type === "custom") this.#addOthers(organizationId, collection, event)
    if (!this.#mayLog(organizationId) || namesAnswer(event)) return
    this.#touch(organizationId)
    this.logged.push({ organizationId, event: kept(event) })
  }
  /** Conversions and custom events of documents, each document once. */
  #addOthers(
    organizationId: string,
    collection: string,
    { document_id, document_ids, items, timestamp, type }: BehaviouralEvent
  ): void {
    const documents = new Set(
      document_id === undefined
        ? [...(document_ids ?? []), ...(items ?? []).map((item) => item.document_id)]
        : [document_id]
    )
    for (const documentId of documents) {
      this.#touch(organizationId)
      this.others.push({ organizationId, collection, type, documentId, at: timestamp })
    }
  }
  answer(served: ServedSearch): void {
    if (!this.#mayLog(served.organization_id)) return
    this.#touch(served.organization_id)
    this.logged.push({ organizationId: served.organization_id, event: eventOf(served) })
  }
  search({ key }: Subject, search: SearchFacts, sign: Sign): void {
    this.#touch(key[0]!)
    this.#queries.push(key)
    this.#searches.push(search)
    this.#signs.push(sign)
  }
  product({ key }: Subject, kind: ProductKind, at: number): void {
    this.#touch(key[0]!)
    this.#products.push(key)
    this.#kinds.push(kind)
    this.#times.push(at)
  }

  /** `key` is that of the query. */
  eachSearch(each: (key: Key, search: SearchFacts, sign: Sign) => void): void {
    for (let i = 0; i < this.#queries.length; i++) each(this.#queries[i]!, this.#searches[i]!, this.#signs[i]!)
  }
  /** `key` is that of the product. */
  eachProduct(each: (key: Key, kind: ProductKind, at: number) => void): void {
    for (let i = 0; i < this.#products.length; i++) each(this.#products[i]!, this.#kinds[i]!, this.#times[i]!)
  }
}
