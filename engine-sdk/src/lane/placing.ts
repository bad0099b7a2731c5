/**
 * Decides where a search runs: on the thread where it arrived, or on one of the workers. Pure, except for its record of
 * past costs.
 */
import { BoundedMap } from "../bounded-map.ts"

/** Which searches are sent to workers, and to how many. */
export interface SearchWorkers {
  /** 0 to 16. */ readonly count: number
  /**
   * From this many documents on, a collection's searches may be sent to workers; below, they run where they arrive.
   * Default: 1,000.
   */
  readonly documents_min?: number
  /**
   * Minimum average duration of a collection's searches for sending them to a worker. Default: 0.25 ms. Sending one and
   * reading its answer takes the calling thread about 0.1 ms and adds twice that to the latency.
   */
  readonly cost_min_ms?: number
  /**
   * Share of the calling thread's time, from 0 to 1, that quick searches may use: they run where they arrive until it
   * is used up. 0: every search worth sending is sent. Default: 0.5.
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
/** Weight of the last search in the moving average. */
const LAST_SHARE = 0.1
/** Assumed search duration for a collection that has not been searched. */
const UNKNOWN_MS = 0.5
const COSTS_BYTES_MAX = 1_000_000
const COST_BYTES = 16

export interface WorkersNow {
  /** Number of workers ready, of those requested. */ readonly ready: number
  /** Number of searches sent to workers since the engine was opened. */ readonly searches: number
  /** Each worker's memory, excluding the shared index, as last reported. */ readonly own_bytes: ReadonlyArray<number>
}
export const NO_WORKERS: WorkersNow = { ready: 0, searches: 0, own_bytes: [] }
/** Recent search durations of a collection: a moving average by the collection's number, bounded. */
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
  /** Expected duration of one search. */
  expected_ms(key: number): number {
    return this.costs.get(key)?.average_ms ?? UNKNOWN_MS
  }
}
/** A search expected to take longer is sent even if this thread has time, because it would make others wait. */
const HERE_MAX_MS = 2,
  /** Maximum time that these searches may use in a burst, before they are limited to the share. */ BURST_MS = 2
/**
 * Time that quick searches took where they arrived. Sending one costs more than half of what a typical one takes, and
 * its caller waits twice as long; so the thread that would only send also acts as a worker for a share of its time.
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
    return this.#share > 0 && expected_ms <= HERE_MAX_MS && this.#used_ms < BURST_MS
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

/** Maximum searches at one worker: the running one, and enough in its queue that it need not wait for this thread. */
const BEHIND_MS = 2,
  BEHIND_MAX = 16
export interface Load {
  readonly searches: number
  /** Total expected duration of its searches. */ readonly expected_ms: number
}
/** Index of the worker that takes the next search, the least loaded by expected work; -1 if all have enough. */
export const leastLoaded = (loads: ReadonlyArray<Load>): number => {
  let best = -1
  for (let i = 0; i < loads.length; i++) {
    const { expected_ms, searches } = loads[i]
    const hasRoom = searches < 2 || (searches < BEHIND_MAX && expected_ms < BEHIND_MS)
    if (hasRoom && (best < 0 || expected_ms < loads[best].expected_ms)) best = i
  }
  return best
}

/** If a worker uses more memory than this, it drops collections that were not searched there recently. */
const OWN_BYTES_MAX = 50_000_000
const KNOWN_MAX = 1_000
/** Time without a search before a collection may be dropped. */
export const IDLE_MS = 60_000
/** How many collections a worker may keep, in addition to the one it is about to search. */
export const collectionsToKeep = (known: number, idle: number, own_bytes: number): number =>
  own_bytes > OWN_BYTES_MAX ? known - idle + 1 : KNOWN_MAX

/** Time until a worker is restarted: short if the last one came up, increasing as long as none does. */
const AGAIN_MS = 500,
  AGAIN_MAX_MS = 30_000
/** A worker that ends sooner may fail again soon; starting one takes the main thread some hundred milliseconds. */
const STEADY_MS = 10_000
/** Failures that count for the restart delay. `lived_ms`: time since it came up, undefined if it did not. */
export const failuresBefore = (failures: number, lived_ms: number | undefined): number =>
  lived_ms === undefined ? failures + 1 : lived_ms >= STEADY_MS ? 0 : failures
export const restartAfter_ms = (failures: number): number =>
  failures === 0 ? 0 : Math.min(AGAIN_MAX_MS, AGAIN_MS * 2 ** (failures - 1))
