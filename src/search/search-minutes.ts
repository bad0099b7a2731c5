/**
 * Latencies and failures of this process's searches, by organization and minute, in memory only.
 * `src/alerts/stored-minutes.ts` takes changes to store them.
 *
 * Bound: the organizations of two minutes, and of more while nobody takes them, but never more than `MINUTES_MAX`, 15
 * MB: the oldest are evicted.
 */
import { Clock, Effect } from "effect"

const MINUTE_MS = 60_000
const MINUTES_MAX = 20_000
/** Times are counted in buckets that grow by a quarter: a percentile is accurate to an eighth. */
const FIRST_MS = 0.25
const FACTOR = 1.25
const STEPS = 60

export const stepOf = (took_ms: number): number =>
  Math.min(STEPS - 1, Math.max(0, Math.ceil(Math.log(took_ms / FIRST_MS) / Math.log(FACTOR))))
/** The middle of a bucket, ms. */
const timeOf = (step: number): number => FIRST_MS * FACTOR ** (step - 0.5)
/** From counts by bucket; undefined if nothing was counted. Pure. */
export const percentileOf = (counts: ReadonlyArray<number>, share: number): number | undefined => {
  const all = counts.reduce((sum, count) => sum + count, 0)
  if (all === 0) return undefined
  let left = Math.ceil(all * share)
  const step = counts.findIndex((count) => (left -= count) <= 0)
  return timeOf(step)
}

interface SearchMinute {
  readonly organizationId: string
  readonly minute_at: number
  readonly errors: number
  /** By bucket. */ readonly counts: ReadonlyArray<number>
}
interface Counting {
  readonly organizationId: string
  readonly minute_at: number
  errors: number
  readonly counts: Array<number>
  hasChanged: boolean
}

export class SearchMinutes {
  /** A `Map` keeps the order in which minutes began. */
  readonly #minutes = new Map<string, Counting>()
  readonly #now_ms: () => number
  constructor(now_ms: () => number) {
    this.#now_ms = now_ms
  }
  static readonly make = Effect.map(Clock.Clock, (clock) => new SearchMinutes(() => clock.currentTimeMillisUnsafe()))

  /** Number of minutes of organizations in memory. */
  get held(): number {
    return this.#minutes.size
  }
  /** Counts a search that ended. O(1). */
  add(organizationId: string, took_ms: number, isError: boolean): void {
    const minute_at = Math.floor(this.#now_ms() / MINUTE_MS) * MINUTE_MS
    const key = `${minute_at} ${organizationId}`
    let minute = this.#minutes.get(key)
    if (minute === undefined) {
      minute = { organizationId, minute_at, errors: 0, counts: new Array<number>(STEPS).fill(0), hasChanged: true }
      this.#minutes.set(key, minute)
      if (this.#minutes.size > MINUTES_MAX) this.#forgetOldest()
    }
    minute.hasChanged = true
    if (isError) minute.errors++
    const step = stepOf(took_ms)
    minute.counts[step] = minute.counts[step]! + 1
  }
  /**
   * Minutes with everything counted in them so far, if they changed since they were last taken; past ones are removed
   * when they are taken or unwanted. `again` puts them back if they could not be stored.
   */
  take(isWanted: (organizationId: string) => boolean): {
    readonly minutes: ReadonlyArray<SearchMinute>
    again: () => void
  } {
    const over = this.#now_ms() - 2 * MINUTE_MS
    const taken: Array<Counting> = []
    for (const [key, minute] of this.#minutes) {
      if (minute.hasChanged && isWanted(minute.organizationId)) {
        minute.hasChanged = false
        taken.push(minute)
      } else if (minute.minute_at < over) this.#minutes.delete(key)
    }
    const again = (): void => {
      for (const minute of taken) minute.hasChanged = true
    }
    return { minutes: taken, again }
  }
  #forgetOldest(): void {
    for (const [key] of this.#minutes) {
      this.#minutes.delete(key)
      return
    }
  }
}
