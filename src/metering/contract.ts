/** Reading entitlements, and the operator's control of plan and wallet. */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { planIds } from "../identity/plan.ts"
import { keptFeatures, type KeptFeature } from "./plans.ts"
import { ConfigurationUnavailable } from "../http/errors.ts"
import { LimitsUnavailable, WalletUnreachable } from "./errors.ts"
import { described } from "./examples.ts"

const Credits = Schema.Struct({ balance: Schema.Number, reserved: Schema.Number, available: Schema.Number }).annotate({
  identifier: "Credits",
  description: "Up to six decimals."
})
export const Entitlement = Schema.Struct({
  plan: Schema.Struct({
    id: Schema.Literals(planIds),
    status: Schema.Literals(["active"]),
    expires_at: Schema.NullOr(Schema.Int)
  }),
  features: Schema.Record(Schema.String, Schema.Union([Schema.Boolean, Schema.Int])).annotate({
    description: "Whether the plan includes the feature, or its limit."
  }),
  usage: Schema.Struct(
    Object.fromEntries(keptFeatures.map((feature) => [feature, Schema.optionalKey(Schema.Int)])) as Record<
      KeptFeature,
      Schema.optionalKey<typeof Schema.Int>
    >
  ).annotate({
    identifier: "Usage",
    description:
      "How much of each feature with a bound is kept, or was used in this hour or day of UTC; at most 5 seconds old. `collections`, `documents` and `stored_bytes` are absent on servers that run without a search engine."
  }),
  quota: Schema.Struct({
    limit: Schema.NullOr(Schema.Int),
    used: Schema.Int,
    remaining: Schema.NullOr(Schema.Int),
    resets_at: Schema.Int
  }).annotate({
    description: "Search requests of this month (UTC); null = no limit. `used` is at most 5 seconds old."
  }),
  credits: Credits
}).annotate({ identifier: "Entitlement" })

const MICRO_DIGITS = 6
/** Up to six decimals, exactly. */
const CreditAmount = Schema.Number.check(
  Schema.makeFilter((value: number) =>
    Number.isFinite(value) &&
    value > 0 &&
    value <= 1e9 &&
    Number.isInteger(Math.round(value * 10 ** MICRO_DIGITS)) &&
    Math.abs(value * 10 ** MICRO_DIGITS - Math.round(value * 10 ** MICRO_DIGITS)) < 1e-3
      ? undefined
      : "Expected credits: more than 0, at most 1,000,000,000, at most six decimals"
  )
)

export const getEntitlement = operation({
  ...described.getEntitlement,
  id: "getEntitlement",
  group: "entitlement",
  plane: "control",
  scope: "full",
  summary:
    "What the plan covers, and what is left of the quota and the wallet; may be kept for minutes, decides no request",
  method: "GET",
  path: "/v1/entitlement",
  success: Entitlement,
  errors: [LimitsUnavailable, WalletUnreachable]
})

const at = { group: "organizations", plane: "control", scope: "operator", method: "POST" } as const
export const setOrganizationPlan = operation({
  ...at,
  ...described.setOrganizationPlan,
  id: "setOrganizationPlan",
  summary: "Set plan, monthly quota and wallet overage, all of them",
  path: "/console/v1/organizations/:organizationId/plan",
  payload: Schema.Struct({
    plan: Schema.Literals(planIds),
    quota: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1e12 })).annotate({
        description: "Search units per month, instead of the plan's."
      })
    ),
    overage: Schema.optionalKey(Schema.Boolean)
  }).annotate({ identifier: "SetOrganizationPlan" }),
  success: Schema.Struct({
    organization_id: Schema.String,
    plan: Schema.Literals(planIds),
    quota: Schema.NullOr(Schema.Int),
    overage: Schema.Boolean
  }).annotate({ identifier: "OrganizationPlan" }),
  errors: [ConfigurationUnavailable]
})
export const topUpOrganization = operation({
  ...at,
  ...described.topUpOrganization,
  id: "topUpOrganization",
  summary: "Add credits to the wallet",
  path: "/console/v1/organizations/:organizationId/top-up",
  payload: Schema.Struct({
    credits: CreditAmount,
    reference: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))).annotate({
      description: "Requests with the same reference are booked once."
    })
  }).annotate({ identifier: "TopUp" }),
  success: Schema.Struct({ organization_id: Schema.String, credits: Credits }).annotate({ identifier: "ToppedUp" }),
  errors: [WalletUnreachable]
})
