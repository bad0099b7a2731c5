/**
 * The plans in one table. A feature is present (`true`), absent (`false`), or limited to a number; its unit is the end
 * of its name. Exceeding a limit is refused with 403 and `feature`, `plan`, `limit`, except for the limits of one
 * request (`answer_bytes`, `search_cutoff_ms`, `searches_per_request`), which answer 400 or reduce the request. `GET
 * /v1/entitlement` shows the use of each that is tracked.
 *
 * Decision: the free plan is for trying out, the standard plan for a shop with millions of documents. Only `unlimited`,
 * which the operator grants, is unbounded, except for a single request, and for what every process keeps in memory
 * (`named_resource_bytes`).
 */
import type { PlanFeature, PlanId } from "../identity/plan.ts"
import { Context } from "effect"

/** What an organization stores, or uses up over time: limits that the writers count. */
export const keptFeatures = [
  "api_keys",
  "webhooks",
  "collections",
  "documents",
  "stored_bytes",
  "named_resources",
  "named_resource_bytes",
  "members",
  "browser_keys_per_hour",
  "event_bytes_per_day"
] as const
export type KeptFeature = (typeof keptFeatures)[number]
const featureNames = [
  ...keptFeatures,
  "fields_per_collection",
  "rate_limit_per_minute",
  "profiles_per_collection",
  "custom_origins",
  "event_replays",
  "ai_units_per_session_hour",
  "answer_bytes",
  "search_cutoff_ms",
  "searches_per_request"
] as const
export type Feature = (typeof featureNames)[number]

export interface Plan {
  readonly id: PlanId
  /** Search units per calendar month; undefined = no limit. */ readonly quotaUnits: number | undefined
  readonly features: Readonly<Record<Feature, boolean | number>>
}

const MEGABYTE = 1_000_000
const GIGABYTE = 1_000 * MEGABYTE
export const plans: Readonly<Record<PlanId, Plan>> = {
  free: {
    id: "free",
    quotaUnits: 10_000,
    features: {
      api_keys: 20,
      webhooks: 2,
      rate_limit_per_minute: 600,
      profiles_per_collection: 3,
      custom_origins: false,
      event_replays: false,
      ai_units_per_session_hour: 20,
      collections: 50,
      fields_per_collection: 250,
      documents: 100_000,
      stored_bytes: 500 * MEGABYTE,
      named_resources: 500,
      named_resource_bytes: 4 * MEGABYTE,
      members: 10,
      browser_keys_per_hour: 10_000,
      event_bytes_per_day: 500 * MEGABYTE,
      answer_bytes: 16 * MEGABYTE,
      search_cutoff_ms: 4_000,
      searches_per_request: 50
    }
  },
  standard: {
    id: "standard",
    quotaUnits: 1_000_000,
    features: {
      api_keys: 10_000,
      webhooks: true,
      rate_limit_per_minute: true,
      profiles_per_collection: 50,
      custom_origins: true,
      event_replays: true,
      ai_units_per_session_hour: 200,
      collections: 1_000,
      fields_per_collection: 1_000,
      documents: 20_000_000,
      stored_bytes: 100 * GIGABYTE,
      named_resources: 10_000,
      named_resource_bytes: 64 * MEGABYTE,
      members: 1_000,
      browser_keys_per_hour: 1_000_000,
      event_bytes_per_day: 50 * GIGABYTE,
      answer_bytes: 16 * MEGABYTE,
      search_cutoff_ms: 10_000,
      searches_per_request: 50
    }
  },
  unlimited: {
    id: "unlimited",
    quotaUnits: undefined,
    features: {
      api_keys: true,
      webhooks: true,
      rate_limit_per_minute: true,
      profiles_per_collection: true,
      custom_origins: true,
      event_replays: true,
      ai_units_per_session_hour: true,
      collections: true,
      fields_per_collection: 10_000,
      documents: true,
      stored_bytes: true,
      named_resources: true,
      named_resource_bytes: 256 * MEGABYTE,
      members: true,
      browser_keys_per_hour: true,
      event_bytes_per_day: true,
      answer_bytes: 64 * MEGABYTE,
      search_cutoff_ms: 10_000,
      searches_per_request: 50
    }
  }
}

/** A name that this program does not know grants the least. */
export const planOf = (id: string): Plan => (Object.hasOwn(plans, id) ? plans[id as PlanId] : plans.free)

/** How much a feature allows: Infinity, a number, or 0 if it is absent. */
export const capOf = (plan: Plan, feature: Feature): number => roomOf(plan.features[feature])
/** The same for one value of a plan. */
export const roomOf = (value: boolean | number): number => (value === true ? Infinity : value === false ? 0 : value)

export const RoomFeatures = Context.Reference<ReadonlyMap<string, PlanFeature>>("dowser/metering/RoomFeatures", {
  defaultValue: () => new Map()
})

/** Integer millionths of a credit. */
export const MICRO = 1_000_000
/** Decision: a search beyond the quota costs a hundredth of a credit if wallet overage is enabled. */
export const OVERAGE_PRICE_MICRO = 10_000
export const creditsOf = (micro: number): number => micro / MICRO
