/**
 * Caps of what an organization uses up within a time: browser keys of an hour of the clock, bytes of events of a day of
 * UTC. Taken before they are used, from `Counter`: over all processes never more than the plan has. While Postgres is
 * away a process goes on with what it holds and then with a credit, which is counted when it is back.
 *
 * Bytes are taken in blocks; what is left of an organization's last block is in memory, and lost with a restart.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { type Budget, Counters } from "../ports/counter/counter.ts"
import { Entitlements } from "./entitlements.ts"
import { type FeatureNotInPlan, type LimitsUnavailable, limitsUnavailable } from "./errors.ts"
import { dayOf, hourOf, type Period } from "./period.ts"

type WindowedFeature = "browser_keys_per_hour" | "event_bytes_per_day"
interface Window {
  /** What one unit of the counter stands for. */ readonly block: number
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
  /** Nothing is taken where it fails. O(1) but for the round trip that a new block may need. */
  readonly take: (organizationId: string, amount: number) => Effect.Effect<void, FeatureNotInPlan | LimitsUnavailable>
  /** What was taken and not used after all. */
  readonly giveBack: (organizationId: string, amount: number) => void
  /** Of all processes, each of which tells within two seconds. */
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
        /** Taken and not used yet, of each organization; begins again with every window. */
        let left = new Map<string, number>()
        const budgetOf = (name: string): Budget => {
          const now = clock.currentTimeMillisUnsafe()
          if (now >= period.ends_at || now < period.started_at) {
            period = periodOf(now)
            left = new Map()
          }
          // A part of a block that the cap has no room for is not given out.
          return { name, limit: Math.floor(entitlements.cap(name, feature).max / block), ...period }
        }
        return {
          take: Effect.fnUntraced(function* (organizationId, amount) {
            const budget = budgetOf(organizationId)
            const own = left
            const spare = (own.get(organizationId) ?? 0) - amount
            if (spare >= 0) return void own.set(organizationId, spare)
            const units = Math.ceil(-spare / block)
            // Others take meanwhile: what is there now is ours only once it is written down.
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
