/**
 * The monthly quota in search units. A unit is taken before the engine is called and returned if its answer is not a
 * success. Taking one costs a memory look-up; the block behind it is leased from Postgres (`Counter`). Beyond the quota
 * the wallet pays if overage is enabled.
 *
 * Decision: one request is one unit, also a multi-search, of the organization whose key is used; suggestions and
 * prompts are searches too. At 80 % and at the end `quota.warning` and `quota.exhausted` are sent, once a month, to
 * endpoints of all events.
 *
 * While Postgres is unavailable a process uses what it holds, then 1,000 units of each organization on credit, which
 * are counted when it is back; then it answers 503.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Outbox } from "@dowser/log/outbox"
import { type Budget, type Counter, Counters, type CounterUnavailable, type Taken } from "../ports/counter/counter.ts"
import { Throttled } from "../http/errors.ts"
import { Entitlements } from "./entitlements.ts"
import { CreditsExhausted, LimitsUnavailable, limitsUnavailable, type WalletUnreachable } from "./errors.ts"
import { makeOverage } from "./overage.ts"
import { monthOf, type Period } from "./period.ts"
import { makeQuotaNotices } from "./quota-notices.ts"
import type { Wallet } from "./wallet.ts"

const CREDIT_MAX = 1_000
/** Periods are kept for over a year, in case they are questioned later. */
const KEPT_MS = 400 * 86_400_000
const ENTRIES_MAX = 100_000

export type QuotaRefusal = Throttled | WalletUnreachable | LimitsUnavailable
/**
 * A unit for one request, or why there is none; a unit that is returned was never used. Returning it twice has no
 * further effect.
 */
export interface Unit {
  readonly refusal: QuotaRefusal | undefined
  readonly giveBack: () => void
}
interface QuotaState {
  readonly limit: number
  readonly used: number
  readonly resets_at: number
}

const options = { isDurable: true, entriesMax: ENTRIES_MAX, creditMax: CREDIT_MAX, kept_ms: KEPT_MS } as const
const endless = (budget: Budget): Budget => ({ ...budget, limit: Infinity })

const unitOf = (giveBack: () => void): Unit => {
  let isBack = false
  return {
    refusal: undefined,
    giveBack: () => {
      if (isBack) return
      isBack = true
      giveBack()
    }
  }
}
const refused = (refusal: QuotaRefusal): Unit => ({ refusal, giveBack: () => {} })

/** The counters of the quota, and the wallet behind it. */
interface QuotaParts {
  readonly budgetOf: (organizationId: string) => Budget
  readonly counter: Counter
  /** Units that the wallet paid for, counted separately because a quota unit that is returned is available again. */
  readonly paid: Counter
  readonly hasOverage: (organizationId: string) => boolean
  readonly overage: Effect.Success<typeof makeOverage>
  /** Unix milliseconds. */ readonly now: () => number
}

/** Takes a unit of the quota, or else of the wallet. */
const makeReserve = ({ budgetOf, counter, hasOverage, now, overage, paid }: QuotaParts) => {
  const usedUp = ({ ends_at, limit }: Budget) =>
    new Throttled({
      message: `The monthly quota of ${limit} searches is used up.`,
      kind: "quota",
      retry_after_s: Math.ceil((ends_at - now()) / 1000),
      resets_at: ends_at
    })
  const settled = (budget: Budget, taken: Taken): Effect.Effect<Unit> => {
    if (taken.isAllowed) return Effect.succeed(unitOf(() => counter.giveBack(budget, 1)))
    if (!hasOverage(budget.name)) return Effect.succeed(refused(usedUp(budget)))
    return Effect.map(overage.pay(budget.name), (payment) => {
      if (payment instanceof CreditsExhausted) return refused(usedUp(budget))
      if (!("giveBack" in payment)) return refused(payment)
      paid.add(endless(budget), 1)
      return unitOf(() => {
        payment.giveBack()
        paid.giveBack(endless(budget), 1)
      })
    })
  }
  return (organizationId: string): Effect.Effect<Unit> =>
    Effect.suspend(() => {
      const budget = budgetOf(organizationId)
      const taken = counter.take(budget, 1)
      if (taken !== undefined) return settled(budget, taken)
      return Effect.matchEffect(counter.ask(budget, 1), {
        onFailure: (_: CounterUnavailable) => Effect.succeed(refused(limitsUnavailable())),
        onSuccess: (asked) => settled(budget, asked)
      })
    })
}

const makeState =
  ({ budgetOf, counter, paid }: QuotaParts) =>
  (organizationId: string): Effect.Effect<QuotaState, LimitsUnavailable> =>
    Effect.suspend(() => {
      const budget = budgetOf(organizationId)
      return Effect.mapBoth(Effect.all([counter.used(budget), paid.used(endless(budget))], { concurrency: 2 }), {
        onFailure: limitsUnavailable,
        onSuccess: ([free, beyond]) => ({ limit: budget.limit, used: free + beyond, resets_at: budget.ends_at })
      })
    })

export class Quota extends Context.Service<
  Quota,
  {
    /** Never fails: a malformed request must get its 400 before an exhausted quota gets its 429. */
    readonly reserve: (organizationId: string) => Effect.Effect<Unit>
    /**
     * Takes a unit, runs the effect, and returns the unit if that fails. For operations that check nothing before the
     * engine.
     */
    readonly counted: <A, E, R>(
      organizationId: string,
      effect: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | QuotaRefusal, R>
    /** Over all processes, at most two seconds old. */
    readonly state: (organizationId: string) => Effect.Effect<QuotaState, LimitsUnavailable>
  }
>()("dowser/metering/Quota") {
  static readonly layer: Layer.Layer<Quota, never, Counters | Entitlements | Outbox | SqlClient.SqlClient | Wallet> =
    Layer.effect(
      Quota,
      Effect.gen(function* () {
        const entitlements = yield* Entitlements
        const clock = yield* Clock.Clock
        const counters = yield* Counters
        const now = () => clock.currentTimeMillisUnsafe()
        let month: Period = monthOf(now())
        const budgetOf = (name: string): Budget => {
          const at = now()
          if (at >= month.ends_at || at < month.started_at) month = monthOf(at)
          return { name, limit: entitlements.of(name).quotaUnits, started_at: month.started_at, ends_at: month.ends_at }
        }
        const onUsed = yield* makeQuotaNotices(() => month.started_at)
        const parts: QuotaParts = {
          budgetOf,
          counter: yield* counters.open({ ...options, kind: "quota", onUsed }),
          paid: yield* counters.open({ ...options, kind: "quota_overage" }),
          hasOverage: (organizationId) => entitlements.of(organizationId).hasOverage,
          overage: yield* makeOverage,
          now
        }
        const reserve = makeReserve(parts)
        return Quota.of({
          reserve,
          counted: Effect.fnUntraced(function* (organizationId, effect) {
            const { giveBack, refusal } = yield* reserve(organizationId)
            if (refusal !== undefined) return yield* refusal
            return yield* Effect.onError(effect, () => Effect.sync(giveBack))
          }),
          state: makeState(parts)
        })
      })
    )
}
