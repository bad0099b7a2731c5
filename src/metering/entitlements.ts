/**
 * What each organization may do: its plan, and the operator's additions. In memory, re-read when it changed
 * (`Configuration`), so that checking costs a look-up and the next request in every process sees a change.
 */
import { Context, Effect, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { Configuration } from "../configuration/configuration.ts"
import { type ConfigurationUnavailable, NotFound } from "../http/errors.ts"
import { makeEntitlementsRepository } from "./entitlements-repository.ts"
import { FeatureNotInPlan } from "./errors.ts"
import { type PlanId } from "../identity/plan.ts"
import { capOf, type Feature, type Plan, planOf, plans, RoomFeatures, roomOf } from "./plans.ts"

interface Entitlement {
  readonly plan: Plan
  /** Search units a month; Infinity = no limit. */ readonly quotaUnits: number
  /** Searches beyond the quota are paid from the wallet. */ readonly hasOverage: boolean
}
/** From the table of plans, or a room's; a feature in neither is in no plan. */
type AnyFeature = Feature | (string & {})
/** How many the plan allows, and the error for one more than that. */
export interface Cap {
  readonly max: number
  readonly refusal: FeatureNotInPlan
}
interface PlanChange {
  readonly plan: PlanId
  /** Replaces the plan's quota. */ readonly quotaUnits: number | undefined
  readonly hasOverage: boolean
}

const entitlementOf = (plan: Plan, quota_units: number | null, hasOverage: boolean): Entitlement => ({
  plan,
  quotaUnits: quota_units ?? plan.quotaUnits ?? Infinity,
  hasOverage
})
/** Most organizations have exactly what their plan includes, so they share one value. */
const ofPlan = new Map(Object.values(plans).map((plan) => [plan, entitlementOf(plan, null, false)]))
const least = ofPlan.get(plans.free)!

export class Entitlements extends Context.Service<
  Entitlements,
  {
    /** O(1). An unknown organization gets the least entitlement. */
    readonly of: (organizationId: string) => Entitlement
    /** 403 with `feature` and `plan` if the plan does not include it. */
    readonly require: (organizationId: string, feature: AnyFeature) => Effect.Effect<void, FeatureNotInPlan>
    /** O(1). The writer must count in the transaction of the write, or two writes could take the last slot. */
    readonly cap: (organizationId: string, feature: AnyFeature) => Cap
    /** 403 if `wanted` exceeds the plan's cap: for amounts in the request itself. */
    readonly requireRoom: (
      organizationId: string,
      feature: AnyFeature,
      wanted: number
    ) => Effect.Effect<void, FeatureNotInPlan>
    /** Every feature of a plan, including those of rooms. */
    readonly featuresOf: (plan: Plan) => Readonly<Record<string, boolean | number>>
    /** Replaces the organization's entire entitlement; the next request in every process sees the change. */
    readonly set: (
      organizationId: string,
      change: PlanChange
    ) => Effect.Effect<Entitlement, NotFound | ConfigurationUnavailable>
  }
>()("dowser/metering/Entitlements") {
  static readonly layer: Layer.Layer<Entitlements, never, Configuration | SqlClient.SqlClient> = Layer.effect(
    Entitlements,
    Effect.gen(function* () {
      const configuration = yield* Configuration
      const repository = yield* makeEntitlementsRepository
      const ofRooms = yield* RoomFeatures
      const known = new Map<string, Entitlement>()
      yield* configuration.keep("organization", (subjects) =>
        Effect.map(repository.read(subjects), (rows) => {
          if (subjects === "all") known.clear()
          for (const { has_overage, id, plan: name, quota_units } of rows) {
            const plan = planOf(name)
            known.set(
              id,
              quota_units === null && !has_overage ? ofPlan.get(plan)! : entitlementOf(plan, quota_units, has_overage)
            )
          }
        })
      )
      const of = (organizationId: string) => known.get(organizationId) ?? least
      const maxOf = (plan: Plan, feature: AnyFeature): number =>
        Object.hasOwn(plan.features, feature)
          ? capOf(plan, feature as Feature)
          : roomOf(ofRooms.get(feature)?.[plan.id] ?? false)
      const refused = ({ plan }: Entitlement, feature: AnyFeature) => {
        const cap = maxOf(plan, feature)
        return new FeatureNotInPlan({
          message:
            cap === 0
              ? `The plan ${plan.id} does not include ${feature}.`
              : `The plan ${plan.id} includes ${feature} up to ${cap}.`,
          feature,
          plan: plan.id,
          ...(cap > 0 && Number.isFinite(cap) ? { limit: cap } : {})
        })
      }
      const cap = (organizationId: string, feature: AnyFeature): Cap => {
        const entitlement = of(organizationId)
        return { max: maxOf(entitlement.plan, feature), refusal: refused(entitlement, feature) }
      }
      const requireRoom = (organizationId: string, feature: AnyFeature, wanted: number) =>
        Effect.suspend(() => {
          const { max, refusal } = cap(organizationId, feature)
          return wanted <= max ? Effect.void : Effect.fail(refusal)
        })
      return Entitlements.of({
        of,
        cap,
        require: (organizationId, feature) => requireRoom(organizationId, feature, 1),
        requireRoom,
        featuresOf: (plan) => ({
          ...plan.features,
          ...Object.fromEntries([...ofRooms].map(([feature, inPlans]) => [feature, inPlans[plan.id]]))
        }),
        set: (id, { hasOverage, plan, quotaUnits }) =>
          configuration
            .write(
              { kind: "organization", organizationId: id, id },
              Effect.gen(function* () {
                if (!(yield* repository.update({ id, plan, quota_units: quotaUnits ?? null, has_overage: hasOverage })))
                  return yield* new NotFound({ message: `Organization ${id} does not exist.` })
                return entitlementOf(planOf(plan), quotaUnits ?? null, hasOverage)
              })
            )
            .pipe(Effect.catchTag("SqlError", (error: SqlError.SqlError) => Effect.die(error)))
      })
    })
  )
}
