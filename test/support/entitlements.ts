/** Every organization has everything: for tests of rooms that only read what a plan allows. */
import { Effect, Layer } from "effect"
import { Entitlements } from "../../src/metering/entitlements.ts"
import { FeatureNotInPlan } from "../../src/metering/errors.ts"
import { plans } from "../../src/metering/plans.ts"

export const layerUnlimited = Layer.succeed(
  Entitlements,
  Entitlements.of({
    of: () => ({ plan: plans.unlimited, quotaUnits: Infinity, hasOverage: false }),
    require: () => Effect.void,
    cap: (_, feature) => ({
      max: Infinity,
      refusal: new FeatureNotInPlan({ message: "not reached", feature, plan: "unlimited" })
    }),
    requireRoom: () => Effect.void,
    featuresOf: ({ features }) => features,
    set: () => Effect.die(new Error("plans are not changed here"))
  })
)
