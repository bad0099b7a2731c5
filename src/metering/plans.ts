/**
 * The plans, one table (spec parts 7 and 8 leave the figures open). A feature is there (`true`), not there (`false`), or
 * there up to a number.
 *
 * Decision: what today's operations bind to a plan is little, so that the standard plan does all of it: the number of keys
 * and of webhooks, a key's rate, replays of events. Everybody searches, writes rules and reads analytics.
 */
export const planIds = ["free", "standard", "unlimited"] as const
export type PlanId = typeof planIds[number]

export const featureNames = ["api_keys", "webhooks", "rate_limit_per_minute", "profiles_per_collection", "custom_origins", "event_replays", "ai_units_per_session_hour"] as const
export type Feature = typeof featureNames[number]

export interface Plan {
  readonly id: PlanId
  /** Search units of a calendar month; undefined = no limit. */ readonly quotaUnits: number | undefined
  readonly features: Readonly<Record<Feature, boolean | number>>
}

export const plans: Readonly<Record<PlanId, Plan>> = {
  free: {
    id: "free", quotaUnits: 10_000,
    features: { api_keys: 20, webhooks: 2, rate_limit_per_minute: 600, profiles_per_collection: 3, custom_origins: false, event_replays: false, ai_units_per_session_hour: 20 }
  },
  standard: {
    id: "standard", quotaUnits: 1_000_000,
    features: { api_keys: 10_000, webhooks: true, rate_limit_per_minute: true, profiles_per_collection: 50, custom_origins: true, event_replays: true, ai_units_per_session_hour: 200 }
  },
  unlimited: {
    id: "unlimited", quotaUnits: undefined,
    features: { api_keys: true, webhooks: true, rate_limit_per_minute: true, profiles_per_collection: true, custom_origins: true, event_replays: true, ai_units_per_session_hour: true }
  }
}

/** A name that this program does not know grants the least. */
export const planOf = (id: string): Plan => Object.hasOwn(plans, id) ? plans[id as PlanId] : plans.free

/** What a feature leaves room for: Infinity, a number, or 0 where it is not there. */
export const capOf = (plan: Plan, feature: Feature): number => {
  const value = plan.features[feature]
  return value === true ? Infinity : value === false ? 0 : value
}

/** Whole millionths of a credit. */
export const MICRO = 1_000_000
/** Decision: a search beyond the quota costs a hundredth of a credit where wallet overage is enabled. */
export const OVERAGE_PRICE_MICRO = 10_000
export const creditsOf = (micro: number): number => micro / MICRO
