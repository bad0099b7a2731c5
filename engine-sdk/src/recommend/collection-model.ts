/**
 * Everything that one collection's recommendations are computed from: who did what in which order, and what was bought
 * together. An event is added immediately and affects the next answer; nothing is trained. A visit ends after half an
 * hour without an event or after four hours; one of more than forty events is a robot's and is ignored.
 *
 * Cost: adding is O(1), some 0.5 µs. Memory is bounded by `limits`: 16 bytes per event, 18 per session, 12 per slot of
 * visitors, some 100 per item; a collection with few events needs little.
 */
import { BoughtTogether, TOGETHER, type TogetherParameters } from "./bought-together.ts"
import { POPULAR, popular, type PopularParameters, TRENDING, trending, type TrendingParameters } from "./heat.ts"
import { ItemTable } from "./item-table.ts"
import { NEXT_ITEMS, NextItems, type NextItemsParameters, TASTE } from "./next-items.ts"
import { Best, type Scored } from "./scores.ts"
import { SessionLog, type SessionLogImage, type SessionLogLimits } from "./session-log.ts"
import { VisitorTable, type VisitorTableImage } from "./visitor-table.ts"

export interface CollectionLimits {
  /** All powers of two. */ readonly events: number
  readonly sessions: number
  /** Of one session; longer ones are ignored. Any number up to 16,383. */ readonly sessionEvents: number
  readonly baskets: number
  readonly basketEvents: number
  readonly visitorSlots: number
  readonly items: number
}
/**
 * For a million items and ten million sessions (of 4 and more events) in less than 2 GB.
 *
 * @example
 * ```ts
 * import { CollectionModel, LIMITS } from "@dowser/engine-sdk/recommend"
 *
 * const model = new CollectionModel({ ...LIMITS, events: 4_096, sessions: 1_024, visitorSlots: 1_024, items: 1_024 })
 * ```
 */
export const LIMITS: CollectionLimits = {
  events: 2 ** 25,
  sessions: 2 ** 24,
  sessionEvents: 40,
  baskets: 2 ** 21,
  basketEvents: 2 ** 23,
  visitorSlots: 2 ** 24,
  items: 2 ** 21
}
export interface ModelEvent {
  /** Index of `KINDS`. */ readonly kind: number
  readonly documents: ReadonlyArray<string>
  /** The session, else the person; an event without either only counts as popularity. */ readonly visitor: string
  /** The user, else the anonymous id, if known. */ readonly person: string
  /** Unix milliseconds. */ readonly at: number
}
export interface Recommended {
  readonly id: string
  readonly score: number
  readonly support?: number
  readonly lift?: number
}
export interface ModelImage {
  readonly ids: ReadonlyArray<string | undefined>
  readonly sessions: SessionLogImage
  readonly baskets: SessionLogImage
  readonly visitors: VisitorTableImage
}

const BASKET_EVENTS_MAX = 100
const IDLE_S = 30 * 60
const VISIT_S = 4 * 3_600
const PURCHASE = 3
/** Prefixes for hashing a visitor, by purpose. */
const OF_SESSION = 1,
  OF_PERSON = 2,
  OF_BASKET = 3
/** Maximum interactions of a person that are examined, over all sessions. */
const HISTORY_MAX = 50
const HISTORY_SESSIONS = 30
const LIST_LEAST_MS = 1_000
const LIST_COST_TIMES = 100
const LISTS_MAX = 64
const LIST_LENGTH = 1_000

const sessionLimits = ({ events, sessionEvents, sessions }: CollectionLimits): SessionLogLimits => ({
  events,
  sessions,
  sessionEvents
})
const basketLimits = ({ basketEvents, baskets }: CollectionLimits): SessionLogLimits => ({
  events: basketEvents,
  sessions: baskets,
  sessionEvents: BASKET_EVENTS_MAX
})

/**
 * Scratch memory for computing answers; one for all models of a thread.
 *
 * @example
 * ```ts
 * import { CollectionModel, LIMITS, Workbench } from "@dowser/engine-sdk/recommend"
 *
 * const workbench = new Workbench()
 * const models = ["shoes", "hats"].map((name) => [name, new CollectionModel(LIMITS, workbench)] as const)
 * ```
 */
export class Workbench {
  readonly nextItems = new NextItems()
  readonly together = new BoughtTogether()
  /** How long a list of popular items is cached; undefined: a hundred times as long as computing it took. */
  readonly listsFor_ms: number | undefined
  /** With `listsFor_ms`, the same events and requests give the same answers, however busy the machine is. */
  constructor({ listsFor_ms }: { readonly listsFor_ms?: number } = {}) {
    this.listsFor_ms = listsFor_ms
  }
}
interface KeptList {
  readonly madeAt: number
  readonly until: number
  readonly list: ReadonlyArray<Scored>
}

/**
 * Visitors' events on the documents of one collection, and recommendations from them, updated with every event.
 *
 * @example
 * ```ts
 * import { CollectionModel, LIMITS } from "@dowser/engine-sdk/recommend"
 *
 * const model = new CollectionModel({ ...LIMITS, events: 4_096, sessions: 1_024, visitorSlots: 1_024, items: 1_024 })
 * model.add({ kind: 3, documents: ["p1", "p2"], visitor: "v1", person: "", at: Date.now() })
 * model.popular(Date.now(), 10).map(({ id }) => id)
 * ```
 */
export class CollectionModel {
  readonly #workbench: Workbench
  #items: ItemTable
  #sessions: SessionLog
  #baskets: SessionLog
  #visitors: VisitorTable
  readonly #lists = new Map<string, KeptList>()
  readonly #scratch: Uint32Array

  constructor(limits: CollectionLimits = LIMITS, workbench = new Workbench()) {
    this.#workbench = workbench
    this.#scratch = new Uint32Array(limits.sessionEvents)
    this.#items = new ItemTable(limits.items)
    this.#sessions = new SessionLog(sessionLimits(limits))
    this.#baskets = new SessionLog(basketLimits(limits))
    this.#visitors = new VisitorTable(limits.visitorSlots)
  }
  get bytes(): number {
    return this.#items.bytes + this.#sessions.bytes + this.#baskets.bytes + this.#visitors.bytes
  }
  get items(): number {
    return this.#items.size
  }
  get events(): number {
    return this.#sessions.events
  }

  add({ at, documents, kind, person, visitor }: ModelEvent): void {
    const seconds = Math.floor(at / 1_000)
    const session = this.#sessionOf(visitor, person, seconds)
    const basket = kind === PURCHASE ? this.#basketOf(visitor, seconds) : 0
    for (const id of documents) {
      const item = this.#items.numberOf(id, this.#isUsed)
      if (item === undefined) continue
      this.#sessions.add(session, item, kind, seconds)
      if (basket !== 0) this.#baskets.add(basket, item, kind, seconds)
    }
  }
  readonly #isUsed = (item: number): boolean => this.#sessions.countOf(item) > 0 || this.#baskets.countOf(item) > 0
  /** Whether a visitor's entry is still needed: as long as the log keeps the session that it refers to. */
  readonly #isOfUse = (session: number): boolean => this.#sessions.hasSession(session)

  #sessionOf(visitor: string, person: string, at: number): number {
    const known = visitor === "" ? 0 : this.#current(visitor, at)
    const session = known === 0 ? this.#sessions.open(at) : known
    if (known === 0 && visitor !== "") this.#visitors.set(OF_SESSION, visitor, session, this.#isOfUse)
    if (person !== "" && !this.#sessions.isLinked(session)) {
      this.#sessions.link(session, this.#visitors.get(OF_PERSON, person))
      this.#visitors.set(OF_PERSON, person, session, this.#isOfUse)
    }
    return session
  }
  /** The visit in progress at `at`, 0 if there is none. */
  #current(visitor: string, at: number): number {
    const session = this.#visitors.get(OF_SESSION, visitor)
    const log = this.#sessions
    return log.hasSession(session) && at - log.ended(session) <= IDLE_S && at - log.began(session) <= VISIT_S
      ? session
      : 0
  }
  #basketOf(visitor: string, at: number): number {
    if (visitor === "") return this.#baskets.open(at)
    const known = this.#visitors.get(OF_BASKET, visitor)
    if (this.#baskets.hasSession(known) && at - this.#baskets.ended(known) <= IDLE_S) return known
    const basket = this.#baskets.open(at)
    this.#visitors.set(OF_BASKET, visitor, basket, this.#isOfUse)
    return basket
  }

  /** Documents of this visit, oldest first; empty for a new or ended one. `now`: Unix milliseconds. */
  visit(visitor: string, now: number): ReadonlyArray<string> {
    const session = visitor === "" ? 0 : this.#current(visitor, Math.floor(now / 1_000))
    return session === 0 ? [] : this.#itemsOf(session).map((item) => this.#items.idOf(item))
  }
  /** A person's documents over all sessions, oldest first, at most `HISTORY_MAX`. */
  history(person: string): ReadonlyArray<string> {
    const items: Array<number> = []
    let session = person === "" ? 0 : this.#visitors.get(OF_PERSON, person)
    for (let n = 0; n < HISTORY_SESSIONS && items.length < HISTORY_MAX && this.#sessions.hasSession(session); n++) {
      items.unshift(...this.#itemsOf(session))
      const before = this.#sessions.previous(session)
      if (before === session) break
      session = before
    }
    return items.slice(-HISTORY_MAX).map((item) => this.#items.idOf(item))
  }
  #itemsOf(session: number): Array<number> {
    return Array.from(this.#scratch.subarray(0, this.#sessions.read(session, this.#scratch, 0)))
  }

  /** Predicted next items after `recent` (newest last), without those in it. Scores are 0 to 2. */
  next(
    recent: ReadonlyArray<string>,
    visitor: string,
    now: number,
    most: number,
    parameters: NextItemsParameters = NEXT_ITEMS
  ): Array<Recommended> {
    return this.#shown(this.nextNumbers(this.#numbers(recent), visitor, now, most, parameters, false))
  }
  /** The same with item numbers (`numberOf`); `keepsSeen`: items already seen may recur, as in judged sessions. */
  nextNumbers(
    recent: ReadonlyArray<number>,
    visitor: string,
    now: number,
    most: number,
    parameters: NextItemsParameters,
    keepsSeen: boolean
  ): Array<Scored> {
    if (recent.length === 0) return []
    const seconds = Math.floor(now / 1_000)
    const own = visitor === "" ? 0 : this.#current(visitor, seconds)
    const best = new Best(most)
    const seen = keepsSeen ? undefined : new Set(recent)
    this.#workbench.nextItems.score(this.#sessions, recent, own, seconds, parameters, (item, score, support) => {
      if (score < best.bar || seen?.has(item) === true) return
      best.offer(support === 0 ? { item, score } : { item, score, support })
    })
    return best.sorted()
  }
  /** Items that fit a person's history; see `TASTE`. */
  taste(
    history: ReadonlyArray<string>,
    visitor: string,
    now: number,
    most: number,
    parameters: NextItemsParameters = TASTE
  ): Array<Recommended> {
    return this.next(history, visitor, now, most, parameters)
  }
  together(seeds: ReadonlyArray<string>, most: number, parameters: TogetherParameters = TOGETHER): Array<Recommended> {
    return this.#shown(this.#workbench.together.best(this.#baskets, this.#numbers(seeds), most, parameters))
  }
  popular(now: number, most: number, parameters: PopularParameters = POPULAR): Array<Recommended> {
    const list = this.#kept(`popular ${parameters.halfLifeDays} ${parameters.kind ?? ""}`, now, (seconds) =>
      popular(this.#sessions, seconds, LIST_LENGTH, parameters)
    )
    return this.#shown(list.slice(0, most))
  }
  trending(now: number, most: number, parameters: TrendingParameters = TRENDING): Array<Recommended> {
    const list = this.#kept(`trending ${parameters.windowHours} ${parameters.baselineDays}`, now, (seconds) =>
      trending(this.#sessions, seconds, LIST_LENGTH, parameters)
    )
    return this.#shown(list.slice(0, most))
  }
  /** A list is recomputed if there are new events and it is old enough relative to its cost. */
  #kept(name: string, now: number, make: (seconds: number) => ReadonlyArray<Scored>): ReadonlyArray<Scored> {
    const known = this.#lists.get(name)
    if (known !== undefined && now < known.until && now >= known.madeAt) return known.list
    const began = performance.now()
    const list = make(Math.floor(now / 1_000))
    const wait = this.#workbench.listsFor_ms ?? Math.max(LIST_LEAST_MS, LIST_COST_TIMES * (performance.now() - began))
    if (this.#lists.size >= LISTS_MAX) this.#lists.clear()
    this.#lists.set(name, { madeAt: now, until: now + wait, list })
    return list
  }

  #numbers(ids: ReadonlyArray<string>): Array<number> {
    const numbers: Array<number> = []
    for (const id of ids) {
      const number = this.#items.find(id)
      if (number !== undefined) numbers.push(number)
    }
    return numbers
  }
  #shown(scored: ReadonlyArray<Scored>): Array<Recommended> {
    return scored.map(({ item, ...about }) => ({ id: this.#items.idOf(item), ...about }))
  }
  /** An item's number, for callers that work with numbers. */
  numberOf(id: string): number | undefined {
    return this.#items.find(id)
  }

  image(): ModelImage {
    return {
      ids: this.#items.image(),
      sessions: this.#sessions.image(),
      baskets: this.#baskets.image(),
      visitors: this.#visitors.image()
    }
  }
  static of(image: ModelImage, limits: CollectionLimits = LIMITS, workbench = new Workbench()): CollectionModel {
    const model = new CollectionModel(limits, workbench)
    model.#items = ItemTable.of(limits.items, image.ids)
    model.#sessions = SessionLog.of(sessionLimits(limits), image.sessions)
    model.#baskets = SessionLog.of(basketLimits(limits), image.baskets)
    model.#visitors = VisitorTable.of(limits.visitorSlots, image.visitors)
    return model
  }
}
