/**
 * Documents bought together: baskets that contain a document and others. Ranked by co / (c_i c_j^a), where the exponent
 * decides how much popular items are held back. Likelihood and lift only serve as a gate and as an explanation, never
 * as the order (ranked by lift, oddities win). Items that pass the gate come first; the others fill up a short list.
 * Source of the test: Dunning, Accurate methods for the statistics of surprise and coincidence (1993).
 *
 * Cost: O(baskets read x their items), with at most `BASKETS_READ` baskets per seed.
 */
import { Best, type Scored, Scores } from "./scores.ts"
import type { SessionLog } from "./session-log.ts"

export interface TogetherParameters {
  /** 0 ranks by frequency, 1 by how surprising it is. */ readonly popularityBias: number
  /** Minimum number of baskets with both items, for the gate. */ readonly minSupport: number
}
/**
 * Default parameters for documents bought with another.
 *
 * @example
 * ```ts
 * import { CollectionModel, LIMITS, TOGETHER } from "@dowser/engine-sdk/recommend"
 *
 * const model = new CollectionModel({ ...LIMITS, events: 4_096, sessions: 1_024, visitorSlots: 1_024, items: 1_024 })
 * model.add({ kind: 3, documents: ["p1", "p2"], visitor: "v1", person: "", at: Date.now() })
 * model.together(["p1"], 5, { ...TOGETHER, minSupport: 1 })
 * ```
 */
export const TOGETHER: TogetherParameters = { popularityBias: 0.4, minSupport: 3 }

/** Maximum newest baskets read per seed. */
const BASKETS_READ = 4_000
/** Chi-squared with one degree of freedom at p = .05. */
const LIKELIHOOD_LEAST = 3.84

const xLogX = (x: number): number => (x <= 0 ? 0 : x * Math.log(x))
/** Log-likelihood ratio of a two-by-two table: both, only the one, only the other, neither. */
const logLikelihoodRatio = (both: number, one: number, other: number, neither: number): number => {
  const rows = xLogX(both + one) + xLogX(other + neither)
  const columns = xLogX(both + other) + xLogX(one + neither)
  const cells = xLogX(both) + xLogX(one) + xLogX(other) + xLogX(neither)
  return Math.max(0, 2 * (cells - rows - columns + xLogX(both + one + other + neither)))
}

export class BoughtTogether {
  readonly #co = new Scores()
  #items = new Uint32Array(1_024)

  /** The best `most` items to go with `seeds`; those that pass the gate come first. */
  best(log: SessionLog, seeds: ReadonlyArray<number>, most: number, p: TogetherParameters): Array<Scored> {
    const sums = new Map<number, { score: number; support: number; lift: number; passes: boolean }>()
    for (const seed of seeds) {
      const read = this.#count(log, seed)
      // Baskets that were not read are assumed to be like those that were. A document may occur twice in a basket.
      const scale = read.events === 0 ? 0 : log.countOf(seed) / read.events
      const baskets = log.sessions,
        own = read.baskets * scale
      for (const item of this.#co.touched) {
        const co = this.#co.values[item] * scale,
          other = Math.max(co, log.countOf(item))
        const likely = logLikelihoodRatio(co, own - co, other - co, Math.max(0, baskets - own - other + co))
        const lift = (co * baskets) / (own * other)
        const known = sums.get(item) ?? { score: 0, support: 0, lift: 0, passes: false }
        known.score += co / (own * other ** p.popularityBias)
        known.support += Math.round(co)
        known.lift = Math.max(known.lift, lift)
        known.passes ||= co >= p.minSupport && likely >= LIKELIHOOD_LEAST && lift > 1
        sums.set(item, known)
      }
      this.#co.clear()
    }
    for (const seed of seeds) sums.delete(seed)
    const gated = new Best(most),
      others = new Best(most)
    for (const [item, { lift, passes, score, support }] of sums)
      (passes ? gated : others).offer({ item, score, support, lift: Math.round(lift * 100) / 100 })
    return [...gated.sorted(), ...others.sorted()].slice(0, most)
  }

  /** Counts in how many of the newest baskets of `seed` each other item occurs; returns the number of baskets read. */
  #count(log: SessionLog, seed: number): { readonly baskets: number; readonly events: number } {
    if (this.#items.length < log.sessionEventsMax) this.#items = new Uint32Array(log.sessionEventsMax)
    const seen = new Set<number>()
    let events = 0
    for (let event = log.newestOf(seed); event !== 0 && seen.size < BASKETS_READ; event = log.beforeOf(event)) {
      const basket = log.sessionOf(event)
      if (basket === 0) continue
      events++
      if (seen.has(basket)) continue
      seen.add(basket)
      const end = log.read(basket, this.#items, 0)
      const items = this.#items.subarray(0, end).sort()
      for (let at = 0; at < end; at++)
        if (items[at] !== seed && (at === 0 || items[at] !== items[at - 1])) this.#co.add(items[at], 1)
    }
    return { baskets: seen.size, events }
  }
}
