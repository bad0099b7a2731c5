/**
 * Predicts the next items: a session's last items are compared with the newest sessions that have some of them. Two
 * methods read the same sessions; each one's scores are divided by their maximum and both are summed: transitions (SR:
 * what followed each of the last items, nearer ones count more) and similar sessions (STAN: sessions with shared items,
 * newer and nearer ones count more). Sources: Ludewig and Jannach (SR), Garg et al. (STAN, SIGIR 2019).
 *
 * Cost: O(sessions read x their items): at most `recent.length x sessionsPerItem` sessions of 40 items.
 */
import { slotOf } from "../slots.ts"
import { Scores } from "./scores.ts"
import type { SessionLog } from "./session-log.ts"

export interface NextItemsParameters {
  /** Number of last items whose transitions count, and the factor by which each one further back counts less. */
  readonly transitionItems: number
  readonly transitionDecay: number
  /** Maximum distance between two items of a session that counts as a transition. */ readonly transitionSteps: number
  /** Weight of items that precede an item, relative to 1 for those that follow it. */ readonly backward: number
  /** Last items that sessions are compared by; one d back weighs e^(-d / decay). */ readonly similarItems: number
  readonly similarDecay: number
  /** A session n days old weighs e^(-n / ageDays). */ readonly ageDays: number
  /** An item at distance d from the shared one weighs e^(-d / distance). */ readonly distance: number
  /** Maximum newest sessions read per item. */ readonly sessionsPerItem: number
  /** Number of most similar sessions that count. */ readonly neighbours: number
}
/**
 * Parameters for the next item of a visit, chosen on a time-based split of the training part of the yoochoose sessions.
 *
 * @example
 * ```ts
 * import { NEXT_ITEMS } from "@dowser/engine-sdk/recommend"
 *
 * const quicker = { ...NEXT_ITEMS, neighbours: 200 }
 * ```
 */
export const NEXT_ITEMS: NextItemsParameters = {
  transitionItems: 5,
  transitionDecay: 0.5,
  transitionSteps: 8,
  backward: 0.5,
  similarItems: 9,
  similarDecay: 1.5,
  ageDays: 10,
  distance: 2,
  sessionsPerItem: 500,
  neighbours: 1_000
}
/**
 * Parameters for a person: items of people with a similar history, in any order.
 *
 * @example
 * ```ts
 * import { TASTE } from "@dowser/engine-sdk/recommend"
 *
 * const quicker = { ...TASTE, neighbours: 50 }
 * ```
 */
export const TASTE: NextItemsParameters = {
  transitionItems: 0,
  transitionDecay: 1,
  transitionSteps: 0,
  backward: 0,
  similarItems: 100,
  similarDecay: 50,
  ageDays: 1_000,
  distance: 1_000,
  sessionsPerItem: 500,
  neighbours: 150
}
/** Weight of one event on a document, by `KINDS`. */
export const KIND_WEIGHTS: ReadonlyArray<number> = [1, 2, 4, 8]
/** Added to an item's count before its transitions are divided by it, because a single visit proves little. */
const SHRINK = 5
const DAY_S = 86_400

/** The sessions that were read, as parallel columns. */
class ReadSessions {
  count = 0
  sessions = new Uint32Array(16_384)
  similar = new Float64Array(16_384)
  /** Distance of the last item of the visit by which the session was found. */ found = new Int16Array(16_384)
  starts = new Uint32Array(16_385)
  items = new Uint32Array(16_384 * 8)
  kinds = new Uint8Array(16_384 * 8)
  #slots = new Int32Array(65_536)
  #used: Array<number> = []

  clear(): void {
    this.count = 0
    this.starts[0] = 0
    for (const slot of this.#used) this.#slots[slot] = 0
    this.#used.length = 0
  }
  /** Index of a session, which is read if it is new; -1 if there is no room. */
  placeOf(log: SessionLog, session: number): number {
    const { sessions } = this
    const slot = slotOf(this.#slots, Math.imul(session, 0x9e3779b1), (value) => sessions[value - 1] === session)
    if (this.#slots[slot] !== 0) return this.#slots[slot] - 1
    if (this.count >= this.sessions.length) return -1
    const at = this.starts[this.count]
    if (at + log.sessionEventsMax > this.items.length) this.#grow()
    const place = this.count++
    this.#slots[slot] = place + 1
    this.#used.push(slot)
    this.sessions[place] = session
    this.similar[place] = 0
    this.found[place] = -1
    this.starts[place + 1] = log.read(session, this.items, at, this.kinds)
    return place
  }
  #grow(): void {
    const items = new Uint32Array(this.items.length * 2)
    items.set(this.items)
    this.items = items
    const kinds = new Uint8Array(items.length)
    kinds.set(this.kinds)
    this.kinds = kinds
  }
}

export class NextItems {
  readonly #transitions = new Scores()
  readonly #similar = new Scores()
  /** How often each item occurred near the last one. */ readonly #support = new Scores()
  readonly #read = new ReadSessions()

  /**
   * Scores of items by what followed `recent` (oldest first). `own`: the session itself, which is not compared with
   * itself. `now`: seconds. `each` is called once per item with a score of 0 to 2.
   */
  score(
    log: SessionLog,
    recent: ReadonlyArray<number>,
    own: number,
    now: number,
    p: NextItemsParameters,
    each: (item: number, score: number, support: number) => void
  ): void {
    this.#gather(log, recent, own, now, p)
    this.#addTransitions(log, recent, p)
    this.#addSimilar(log, recent, p)
    const transitions = this.#transitions,
      similar = this.#similar
    const ofTransitions = transitions.max || 1,
      ofSimilar = similar.max || 1
    for (const item of transitions.touched)
      each(item, transitions.values[item] / ofTransitions + similar.of(item) / ofSimilar, this.#support.of(item))
    for (const item of similar.touched) if (transitions.of(item) === 0) each(item, similar.of(item) / ofSimilar, 0)
    this.#transitions.clear()
    this.#similar.clear()
    this.#support.clear()
    this.#read.clear()
  }

  #gather(log: SessionLog, recent: ReadonlyArray<number>, own: number, now: number, p: NextItemsParameters): void {
    const read = this.#read
    read.clear()
    const seen = new Set<number>()
    const items = Math.max(p.similarItems, p.transitionItems)
    for (let d = 0; d < items && d < recent.length; d++) {
      const item = recent[recent.length - 1 - d]
      if (seen.has(item)) continue
      seen.add(item)
      const weight = d < p.similarItems ? Math.exp(-d / p.similarDecay) : 0
      let taken = 0,
        last = 0
      for (let event = log.newestOf(item); event !== 0 && taken < p.sessionsPerItem; event = log.beforeOf(event)) {
        const session = log.sessionOf(event)
        if (session === 0 || session === own || session === last) continue
        last = session
        const place = read.placeOf(log, session)
        if (place < 0) break
        // A session with the item twice counts as similar only once, even with other sessions' events in between.
        if (read.found[place] === d) continue
        read.found[place] = d
        taken++
        read.similar[place] += weight
      }
    }
    for (let i = 0; i < read.count; i++) {
      const length = read.starts[i + 1] - read.starts[i]
      const age = Math.max(0, now - log.ended(read.sessions[i])) / DAY_S
      read.similar[i] *= Math.exp(-age / p.ageDays) / Math.sqrt(length || 1)
    }
  }

  /** Adds what followed each of the last items in the sessions that were read. */
  #addTransitions(log: SessionLog, recent: ReadonlyArray<number>, p: NextItemsParameters): void {
    const { count, items, kinds, starts } = this.#read
    for (let d = 0; d < p.transitionItems && d < recent.length; d++) {
      const item = recent[recent.length - 1 - d]
      const weight = p.transitionDecay ** d / (log.countOf(item) + SHRINK)
      for (let i = 0; i < count; i++) {
        const to = starts[i + 1]
        let isFirst = d === 0
        for (let at = starts[i]; at < to; at++) {
          if (items[at] !== item) continue
          if (isFirst) this.#supportBy(i, item)
          isFirst = false
          for (let next = at + 1; next < to && next - at <= p.transitionSteps; next++)
            this.#transitions.add(items[next], (weight * KIND_WEIGHTS[kinds[next]]) / (next - at))
          for (let next = at - 1; next >= starts[i] && at - next <= p.transitionSteps; next--)
            this.#transitions.add(items[next], (p.backward * weight * KIND_WEIGHTS[kinds[next]]) / (at - next))
        }
      }
    }
  }
  /** Counts one session that contains `item`, the last one, as support for each of its other items. */
  #supportBy(place: number, item: number): void {
    const { items, starts } = this.#read
    for (let at = starts[place]; at < starts[place + 1]; at++) {
      let before = starts[place]
      while (items[before] !== items[at]) before++
      if (before === at && items[at] !== item) this.#support.add(items[at], 1)
    }
  }

  #addSimilar(log: SessionLog, recent: ReadonlyArray<number>, p: NextItemsParameters): void {
    const { count, items, kinds, similar, starts } = this.#read
    const back = new Map<number, number>()
    for (let d = Math.min(recent.length, p.similarItems) - 1; d >= 0; d--) back.set(recent[recent.length - 1 - d], d)
    const least = leastOf(similar, count, p.neighbours)
    const total = log.events
    for (let i = 0; i < count; i++) {
      if (similar[i] < least || similar[i] === 0) continue
      // The shared item that the visitor saw most recently.
      let shared = -1,
        nearest = Infinity
      for (let at = starts[i]; at < starts[i + 1]; at++) {
        const d = back.get(items[at])
        if (d !== undefined && d <= nearest) {
          nearest = d
          shared = at
        }
      }
      for (let at = starts[i]; at < starts[i + 1]; at++) {
        if (at === shared) continue
        const near = KIND_WEIGHTS[kinds[at]] * Math.exp(-Math.abs(at - shared) / p.distance)
        this.#similar.add(items[at], similar[i] * near * Math.log(1 + total / (log.countOf(items[at]) + 1)))
      }
    }
  }
}

/** A bound that about `most` of the values reach; 0 if all may. */
const leastOf = (values: Float64Array, count: number, most: number): number =>
  count <= most ? 0 : values.slice(0, count).sort()[count - most]
