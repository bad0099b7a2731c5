/**
 * Caps on what an organization uses up over time: browser keys per clock hour, bytes of events per UTC day. They are
 * taken from `Counter` before use: over all processes never more than the plan allows. While Postgres is unavailable a
 * process continues with what it holds and then with a credit, which is counted afterwards.
 *
 * Bytes are taken in blocks; the rest of an organization's last block is in memory, and lost at a restart.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { type Budget, Counters } from "../ports/counter/counter.ts"
import { Entitlements } from "./entitlements.ts"
import { type FeatureNotInPlan, type LimitsUnavailable, limitsUnavailable } from "./errors.ts"
import { dayOf, hourOf, type Period } from "./period.ts"

type WindowedFeature = "browser_keys_per_hour" | "event_bytes_per_day"
interface Window {
  /** The amount that one unit of the counter represents. */ readonly block: number
  readonly isDurable: boolean
  readonly creditMax: number
  readonly periodOf: (now_ms: number) => Period
}
const windows: Readonly<Record<WindowedFeature, Window>> = {
  browser_keys_per_hour: { block: 1, isDurable: false, creditMax: 100, periodOf: hourOf },
  event_bytes_per_day: { block: 10_000, isDurable: true, creditMax: 10_000, periodOf: dayOf }
}
const ENTRIES_MAX = 100_000
const KEPT_MS = 2 * 86_400_000

export interface Spending {
  /** If it fails, nothing is taken. O(1) except for the round trip that a new block may need. */
  readonly take: (organizationId: string, amount: number) => Effect.Effect<void, FeatureNotInPlan | LimitsUnavailable>
  /** Returns what was taken but not used. */
  readonly giveBack: (organizationId: string, amount: number) => void
  /** Over all processes, each of which reports within two seconds. */
  readonly used: (organizationId: string) => Effect.Effect<number, LimitsUnavailable>
}

export class WindowedCaps extends Context.Service<WindowedCaps, { readonly [F in WindowedFeature]: Spending }>()(
  "dowser/metering/WindowedCaps"
) {
  static readonly layer: Layer.Layer<WindowedCaps, never, Counters | Entitlements> = Layer.effect(
    WindowedCaps,
    Effect.gen(function* () {
      const entitlements = yield* Entitlements
      const counters = yield* Counters
      const clock = yield* Clock.Clock
      const spendingOf = Effect.fnUntraced(function* (feature: WindowedFeature) {
        const { block, creditMax, isDurable, periodOf } = windows[feature]
        const counter = yield* counters.open({
          kind: feature,
          isDurable,
          entriesMax: ENTRIES_MAX,
          creditMax,
          kept_ms: KEPT_MS
        })
        let period: Period = periodOf(clock.currentTimeMillisUnsafe())
        /** Taken but not used yet, by organization; reset with every window. */
        let left = new Map<string, number>()
        const budgetOf = (name: string): Budget => {
          const now = clock.currentTimeMillisUnsafe()
          if (now >= period.ends_at || now < period.started_at) {
            period = periodOf(now)
            left = new Map()
          }
          // If the cap has no room for an entire block, no part of it is granted.
          return { name, limit: Math.floor(entitlements.cap(name, feature).max / block), ...period }
        }
        return {
          take: Effect.fnUntraced(function* (organizationId, amount) {
            const budget = budgetOf(organizationId)
            const own = left
            const spare = (own.get(organizationId) ?? 0) - amount
            if (spare >= 0) return void own.set(organizationId, spare)
            const units = Math.ceil(-spare / block)
            // Claims the rest of the block before waiting, because other callers take units meanwhile.
            own.set(organizationId, 0)
            const refund = () => own.set(organizationId, (own.get(organizationId) ?? 0) + spare + amount)
            const taken =
              counter.take(budget, units) ??
              (yield* Effect.mapError(
                Effect.tapError(counter.ask(budget, units), () => Effect.sync(refund)),
                limitsUnavailable
              ))
            if (taken.isAllowed)
              return void own.set(organizationId, (own.get(organizationId) ?? 0) + units * block + spare)
            refund()
            return yield* entitlements.cap(organizationId, feature).refusal
          }),
          giveBack: (organizationId, amount) => {
            budgetOf(organizationId)
            left.set(organizationId, (left.get(organizationId) ?? 0) + amount)
          },
          used: (organizationId) =>
            Effect.suspend(() => {
              const budget = budgetOf(organizationId)
              return Effect.mapBoth(counter.used(budget), {
                onFailure: limitsUnavailable,
                onSuccess: (units) => Math.max(0, units * block - (left.get(organizationId) ?? 0))
              })
            })
        } satisfies Spending
      })
      return WindowedCaps.of({
        browser_keys_per_hour: yield* spendingOf("browser_keys_per_hour"),
        event_bytes_per_day: yield* spendingOf("event_bytes_per_day")
      })
    })
  )
}
