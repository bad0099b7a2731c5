/** Errors of plans, limits and the wallet. */
import { Schema } from "effect"

/**
 * Also for a cap that is reached: `feature` names it, `limit` is the plan's number; absent if the plan lacks the
 * feature.
 */
export class FeatureNotInPlan extends Schema.TaggedError<FeatureNotInPlan>()(
  "FeatureNotInPlan",
  { message: Schema.String, feature: Schema.String, plan: Schema.String, limit: Schema.optionalKey(Schema.Int) },
  { httpApiStatus: 403 }
) {}
/** The wallet cannot cover the amount; both in credits. */
export class CreditsExhausted extends Schema.TaggedError<CreditsExhausted>()(
  "CreditsExhausted",
  { message: Schema.String, available: Schema.Number, requested: Schema.Number },
  { httpApiStatus: 402 }
) {}
export class WalletUnreachable extends Schema.TaggedError<WalletUnreachable>()(
  "WalletUnreachable",
  { message: Schema.String },
  { httpApiStatus: 500 }
) {}
/** The AI allowance of a session is used up; `retry_after` is in seconds, in the body and as the header. */
export class AllowanceExhausted extends Schema.TaggedError<AllowanceExhausted>()(
  "AllowanceExhausted",
  { message: Schema.String, retry_after: Schema.Int, retry_after_s: Schema.Int },
  { httpApiStatus: 429 }
) {}
/** Postgres is unavailable, and the units that this process may grant without it are used up. */
export class LimitsUnavailable extends Schema.TaggedError<LimitsUnavailable>()(
  "LimitsUnavailable",
  { message: Schema.String, retry_after_s: Schema.Int },
  { httpApiStatus: 503 }
) {}
export const limitsUnavailable = () =>
  new LimitsUnavailable({
    message: "Limits cannot be checked at the moment; send the request again.",
    retry_after_s: 5
  })

/** Errors of taking a quota unit, in addition to 429. */
export const quotaErrors = [LimitsUnavailable, WalletUnreachable] as const
/** Errors of an AI operation that cannot be paid (`ai-spending.ts`). */
export const aiErrors = [AllowanceExhausted, CreditsExhausted, LimitsUnavailable, WalletUnreachable] as const
