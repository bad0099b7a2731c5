/** Who runs a search: the thread where it arrived, or which of the workers. Pure but for the book of what they cost. */
import { BoundedMap } from "../bounded-map.ts"

/** Which searches are sent to workers, and to how many. */
export interface SearchWorkers {
  /** 0 to 16. */ readonly count: number
  /** Documents from which on a collection is worth it; below, its searches run where they arrive. Default: 1,000. */
  readonly documents_min?: number
  /**
   * What the searches of a collection must take on average. Default: 0.25 ms. Sending one and reading its answer takes
   * the calling thread about 0.1 ms, and whoever waits twice that.
   */
  readonly cost_min_ms?: number
  /**
   * Of the calling thread's time, from 0 to 1, what quick searches may take: they run where they arrive as long as
   * there is that much of it. 0: all that are worth it are sent. Default: 0.5.
   */
  readonly here_share?: number
}
export const WORKERS_MAX = 16
export const workersOf = ({
  cost_min_ms = 0.25,
  count,
  documents_min = 1_000,
  here_share = 0.5
}: SearchWorkers): Required<SearchWorkers> => ({ count, documents_min, cost_min_ms, here_share })
/** Weight of the last search among those before it. */
const LAST_SHARE = 0.1
/** Of a collection that nobody has searched. */
const UNKNOWN_MS = 0.5
const COSTS_BYTES_MAX = 1_000_000
const COST_BYTES = 16

export interface WorkersNow {
  /** Of those that were asked for. */ readonly ready: number
  /** Sent to them since the engine was opened. */ readonly searches: number
  /** What each has for itself beside the shared index, as it last told. */ readonly own_bytes: ReadonlyArray<number>
}
export const NO_WORKERS: WorkersNow = { ready: 0, searches: 0, own_bytes: [] }
/** What searches of a collection took lately: a moving average by the collection's number, bounded. */
export class Costs {
  private readonly costs = new BoundedMap<number, { average_ms: number }>({
    bytes_max: COSTS_BYTES_MAX,
    bytesOf: () => COST_BYTES
  })
  note(key: number, took_ms: number): void {
    const known = this.costs.get(key)
    if (known === undefined) this.costs.set(key, { average_ms: took_ms })
    else known.average_ms += (took_ms - known.average_ms) * LAST_SHARE
  }
  /** Of one search. */
  expected_ms(key: number): number {
    return this.costs.get(key)?.average_ms ?? UNKNOWN_MS
  }
}
/** What is expected to take longer is sent although there is time for it: others wait for it here, and not there. */
const HERE_MAX_ms = 2,
  /** Of what waits in one turn, before its share is used up. */ BURST_ms = 2
/**
 * Time that quick searches took where they arrive. Sending one costs more than half of what a usual one takes, and its
 * asker waits twice as long: the thread that would only send is a worker as well, for a share of its time.
 */
export class TimeHere {
  readonly #share: number
  #used_ms = 0
  #at_ms = 0
  constructor(share: number) {
    this.#share = share
  }
  took(used_ms: number, now_ms: number): void {
    this.#drain(now_ms)
    this.#used_ms += used_ms
  }
  hasRoom(expected_ms: number, now_ms: number): boolean {
    this.#drain(now_ms)
    return this.#share > 0 && expected_ms <= HERE_MAX_ms && this.#used_ms < BURST_ms
  }
  #drain(now_ms: number): void {
    this.#used_ms = Math.max(0, this.#used_ms - (now_ms - this.#at_ms) * this.#share)
    this.#at_ms = now_ms
  }
}
export const isWorthSending = (
  { cost_min_ms, documents_min }: Required<SearchWorkers>,
  documents: number,
  expected_ms: number
): boolean => documents >= documents_min && expected_ms >= cost_min_ms

/** Searches that are with one worker: what it runs, and enough behind it that it need not wait for this thread. */
const BEHIND_ms = 2,
  BEHIND_MAX = 16
export interface Load {
  readonly searches: number
  /** What they are expected to take. */ readonly expected_ms: number
}
/** Which takes the next one: the least loaded by expected work; -1 while all have enough. */
export const leastLoaded = (loads: ReadonlyArray<Load>): number => {
  let best = -1
  for (let i = 0; i < loads.length; i++) {
    const { expected_ms, searches } = loads[i]
    const hasRoom = searches < 2 || (searches < BEHIND_MAX && expected_ms < BEHIND_ms)
    if (hasRoom && (best < 0 || expected_ms < loads[best].expected_ms)) best = i
  }
  return best
}

/** Own memory of a worker beyond which it lets go of the collections that nobody has searched there lately. */
const OWN_BYTES_MAX = 50_000_000
const KNOWN_MAX = 1_000
/** Without a search, until a collection is one that may go. */
export const IDLE_MS = 60_000
/** How many collections a worker may keep, beside the one it is about to search. */
export const collectionsToKeep = (known: number, idle: number, own_bytes: number): number =>
  own_bytes > OWN_BYTES_MAX ? known - idle + 1 : KNOWN_MAX

/** Time until a worker is started again: at once where the last one came up, ever longer where none does. */
const AGAIN_ms = 500,
  AGAIN_MAX_ms = 30_000
/** One that ends sooner may do so again: starting one takes the thread of all some hundred milliseconds. */
const STEADY_MS = 10_000
/** Failures in a row before this one; `lived_ms`: since it came up, undefined where it did not. */
export const failuresBefore = (failures: number, lived_ms: number | undefined): number =>
  lived_ms === undefined ? failures + 1 : lived_ms >= STEADY_MS ? 0 : failures
export const restartAfter_ms = (failures: number): number =>
  failures === 0 ? 0 : Math.min(AGAIN_MAX_ms, AGAIN_ms * 2 ** (failures - 1))
