/**
 * Popular items (by a sum that halves with age) and trending ones (with more events in the last hours than the last
 * days predict). Both are computed from the newest events, so any parameters are possible; a list is cached for a
 * hundred times as long as computing it took.
 */
import { KIND_WEIGHTS } from "./next-items.ts"
import { Best, type Scored, Scores } from "./scores.ts"
import type { SessionLog } from "./session-log.ts"

export interface PopularParameters {
  readonly halfLifeDays: number
  /** Index of `KINDS`; undefined for all, by their weights. */ readonly kind: number | undefined
}
export interface TrendingParameters {
  readonly windowHours: number
  readonly baselineDays: number
}
/**
 * Default parameters of `popular`: how events are weighted by age.
 *
 * @example
 * ```ts
 * import { CollectionModel, LIMITS, POPULAR } from "@dowser/engine-sdk/recommend"
 *
 * const model = new CollectionModel({ ...LIMITS, events: 4_096, sessions: 1_024, visitorSlots: 1_024, items: 1_024 })
 * model.popular(Date.now(), 10, { ...POPULAR, halfLifeDays: 1 })
 * ```
 */
export const POPULAR: PopularParameters = { halfLifeDays: 7, kind: undefined }
/**
 * Default time spans that `trending` compares.
 *
 * @example
 * ```ts
 * import { CollectionModel, LIMITS, TRENDING } from "@dowser/engine-sdk/recommend"
 *
 * const model = new CollectionModel({ ...LIMITS, events: 4_096, sessions: 1_024, visitorSlots: 1_024, items: 1_024 })
 * model.trending(Date.now(), 10, { ...TRENDING, windowHours: 1 })
 * ```
 */
export const TRENDING: TrendingParameters = { windowHours: 6, baselineDays: 7 }

/** Maximum newest events from which one list is computed. */
const EVENTS_READ = 2_000_000
/** With fewer events in the window, an increase may be chance. */
const TRENDING_EVENTS = 3
const HALF_LIVES_READ = 12
const HOUR_S = 3_600,
  DAY_S = 86_400

/** Calls `each` for the newest events that count, with their age in seconds, back to `oldest_s`. */
const newest = (
  log: SessionLog,
  now: number,
  oldest_s: number,
  each: (item: number, kind: number, age: number) => void
): void => {
  let event = log.newestEvent
  for (let read = 0; read < EVENTS_READ && log.hasEvent(event); read++, event--) {
    const session = log.sessionOf(event)
    if (session === 0) continue
    const age = Math.max(0, now - log.ended(session))
    // Sessions end in a different order than they began; an event that is much too old ends the iteration.
    if (age > oldest_s + DAY_S) break
    if (age <= oldest_s) each(log.itemOf(event), log.kindOf(event), age)
  }
}

/** `now`: seconds since 1970. `score` is the decayed weight. */
export const popular = (log: SessionLog, now: number, most: number, p: PopularParameters): Array<Scored> => {
  const sums = new Scores()
  const half = p.halfLifeDays * DAY_S
  newest(log, now, HALF_LIVES_READ * half, (item, kind, age) => {
    if (p.kind === undefined || p.kind === kind) sums.add(item, KIND_WEIGHTS[kind] * 2 ** (-age / half))
  })
  const best = new Best(most)
  for (const item of sums.touched) best.offer({ item, score: sums.values[item] })
  return best.sorted()
}

/** `score`: standard deviations above the expected count; `support`: number of events in the window. */
export const trending = (log: SessionLog, now: number, most: number, p: TrendingParameters): Array<Scored> => {
  const recent = new Scores(),
    before = new Scores()
  const window = p.windowHours * HOUR_S,
    baseline = p.baselineDays * DAY_S
  newest(log, now, window + baseline, (item, _, age) => (age <= window ? recent : before).add(item, 1))
  const best = new Best(most)
  for (const item of recent.touched) {
    const seen = recent.values[item]
    if (seen < TRENDING_EVENTS) continue
    const expected = (before.of(item) * window) / baseline
    const score = (seen - expected) / Math.sqrt(expected + 1)
    if (score > 0) best.offer({ item, score, support: seen })
  }
  return best.sorted()
}
