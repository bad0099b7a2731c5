/** Handlers that read entitlements, and those of the operator's plan and top-up. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { Entitlements } from "./entitlements.ts"
import { creditsOf, MICRO } from "./plans.ts"
import { Quota } from "./quota.ts"
import { makeUsage } from "./usage.ts"
import { Wallet } from "./wallet.ts"
import type { Balance } from "./wallet-repository.ts"

const shownCredits = ({ balance, reserved }: Balance) => ({
  balance: creditsOf(balance),
  reserved: creditsOf(reserved),
  available: creditsOf(balance - reserved)
})
/** JSON has no infinity. */
const finite = (units: number): number | null => (units === Infinity ? null : units)

export const routes = Effect.gen(function* () {
  const entitlements = yield* Entitlements
  const quota = yield* Quota
  const wallet = yield* Wallet
  const usageOf = yield* makeUsage
  return [
    implement(
      contract.getEntitlement,
      Effect.fnUntraced(function* ({ caller: { organizationId } }) {
        const { hasOverage, plan } = entitlements.of(organizationId)
        const [{ limit, resets_at, used }, balance, usage] = yield* Effect.all(
          [quota.state(organizationId), wallet.balance(organizationId), usageOf(organizationId)],
          { concurrency: 3 }
        )
        return {
          plan: { id: plan.id, status: "active" as const, expires_at: null },
          features: { ...entitlements.featuresOf(plan), wallet_overage: hasOverage },
          usage,
          quota: { limit: finite(limit), used, remaining: finite(Math.max(0, limit - used)), resets_at },
          credits: shownCredits(balance)
        }
      })
    ),
    implement(
      contract.setOrganizationPlan,
      Effect.fnUntraced(function* ({ params: { organizationId }, payload }) {
        const { overage, plan, quota: quotaUnits } = yield* payload
        const set = yield* entitlements.set(organizationId, { plan, quotaUnits, hasOverage: overage === true })
        return {
          organization_id: organizationId,
          plan: set.plan.id,
          quota: finite(set.quotaUnits),
          overage: set.hasOverage
        }
      })
    ),
    implement(
      contract.topUpOrganization,
      Effect.fnUntraced(function* ({ params: { organizationId }, payload }) {
        const { credits, reference } = yield* payload
        return {
          organization_id: organizationId,
          credits: shownCredits(yield* wallet.topUp(organizationId, Math.round(credits * MICRO), reference ?? ""))
        }
      })
    )
  ]
})
