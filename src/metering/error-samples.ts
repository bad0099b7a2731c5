/** A sample of every error that the room declares, or several if a fact changes the answer. */
import type { ErrorSample } from "../room.ts"
import {
  AllowanceExhausted,
  CreditsExhausted,
  FeatureNotInPlan,
  LimitsUnavailable,
  WalletUnreachable
} from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  [
    "FeatureNotInPlan",
    new FeatureNotInPlan({
      message: "The plan free includes api_keys up to 20.",
      feature: "api_keys",
      plan: "free",
      limit: 20
    })
  ],
  [
    "CreditsExhausted",
    new CreditsExhausted({
      message: "The credits of the wallet do not cover this operation.",
      available: 0.5,
      requested: 2
    })
  ],
  ["WalletUnreachable", new WalletUnreachable({ message: "The credit wallet cannot be reached at the moment." })],
  [
    "AllowanceExhausted",
    new AllowanceExhausted({
      message: "The AI allowance of this session is used up.",
      retry_after: 1_200,
      retry_after_s: 1_200
    })
  ],
  ["LimitsUnavailable", new LimitsUnavailable({ message: "Limits cannot be checked at the moment.", retry_after_s: 5 })]
]
