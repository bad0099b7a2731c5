/**
 * What the popularity of queries keeps of the facts of one flush: how often each query was searched per day, and by
 * whom, signed like every fact, so that a retracted keystroke was searched by nobody.
 *
 * One person may appear as user, anonymous id and session, so the final count (`write.ts`) is at most the number of
 * distinct sessions, of distinct anonymous ids, and of networks among the visitors. A client that sends the ids itself
 * can invent them, so only searches with an answer have visitors; a `search` event may add who made one of those.
 */
import { Deltas } from "../../facts/deltas.ts"
import type { Facts, FactSink, SearchFacts, Sign } from "../../facts/facts.ts"
import type { FlushSubjects, Subject } from "../../facts/subjects.ts"
import { personOf, type Who } from "../../facts/who.ts"
import { DAY_MS } from "../../figures/grain.ts"

// Slots of `byDay`; a search that was followed by a click and by a purchase counts twice in the last.
export const SEARCHES = 0,
  ZERO_RESULTS = 1,
  CONVERTED = 2
const SLOTS = 3

/**
 * Who made or retracted a query, in order of arrival: most of it is never read, because most queries already have
 * enough visitors.
 */
class Makers {
  readonly #queries: Array<number> = []
  readonly #who: Array<Who> = []
  readonly #signs: Array<Sign> = []

  get size(): number {
    return this.#queries.length
  }
  add(query: number, who: Who, sign: Sign): void {
    if (personOf(who) === 0 || who[3] === 0) return
    this.#queries.push(query)
    this.#who.push(who)
    this.#signs.push(sign)
  }
  /** `query` is the number of a subject. */
  each(each: (query: number, who: Who, sign: Sign) => void): void {
    for (let i = 0; i < this.#queries.length; i++) each(this.#queries[i]!, this.#who[i]!, this.#signs[i]!)
  }
}

export class QueryUses implements FactSink {
  readonly subjects: FlushSubjects
  /** Sums by query and day (since 1970), because all searches of a day weigh the same (`figures/recency.ts`). */
  readonly byDay: Deltas
  readonly makers = new Makers()

  constructor({ queries }: Pick<Facts, "queries">, spent?: QueryUses) {
    this.subjects = queries
    this.byDay = new Deltas(SLOTS, 0, queries, spent?.byDay)
  }

  get size(): number {
    return this.byDay.size + this.makers.size
  }

  search(query: Subject, { at, hasNoResults, who }: SearchFacts, sign: Sign): void {
    const day = Math.floor(at / DAY_MS)
    this.byDay.add(query, day, SEARCHES, sign)
    if (hasNoResults) this.byDay.add(query, day, ZERO_RESULTS, sign)
    this.makers.add(query.number, who, sign)
  }
  converted(query: Subject, { at }: SearchFacts, _kind: "click" | "purchase", sign: Sign): void {
    this.byDay.add(query, Math.floor(at / DAY_MS), CONVERTED, sign)
  }
}
