/**
 * What users did on each day, whether or not an experiment ran: users are compared with their own past (CUPED).
 * Sessions have no past.
 *
 * Decision: summed over all collections of an organization. One collection may have several names (aliases), and habits
 * belong to the visitor, not to a collection.
 */
import type { SearchFacts } from "../../facts/facts.ts"
import { DAY_MS } from "../../figures/grain.ts"
import { noFigures, type UnitFigures } from "./figures.ts"

/** What changed for a user's day. */
export interface HistoryChange extends UnitFigures {
  readonly unit: number
  /** ms, UTC. */ readonly day: number
}

export class Histories {
  readonly #organizations = new Map<string, Map<number, Array<HistoryChange>>>()
  #size = 0

  /** Number of changed days of users. */
  get size(): number {
    return this.#size
  }
  /** Sorted names. */
  get organizations(): ReadonlyArray<string> {
    return [...this.#organizations.keys()].sort()
  }
  changes(organizationId: string): ReadonlyArray<HistoryChange> {
    return [...(this.#organizations.get(organizationId)?.values() ?? [])].flat()
  }
  /** Undefined for a search without a user. One user has few days in a flush. */
  of(organizationId: string, { at, who }: SearchFacts): HistoryChange | undefined {
    const unit = who[0]
    if (unit === 0) return undefined
    const day = Math.floor(at / DAY_MS) * DAY_MS
    let users = this.#organizations.get(organizationId)
    if (users === undefined) this.#organizations.set(organizationId, (users = new Map()))
    const days = users.get(unit)
    const known = days?.find((one) => one.day === day)
    if (known !== undefined) return known
    const change = { unit, day, ...noFigures() }
    this.#size++
    if (days === undefined) users.set(unit, [change])
    else days.push(change)
    return change
  }
}
