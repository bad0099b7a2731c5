/** Key features and restrictions that a plan does not include. Pure. */
import { FeatureNotInPlan } from "../../metering/errors.ts"
import { isOwnSubdomain } from "../check/origins.ts"

/** The free plan restricts which origins may be listed. An empty list allows all origins on every plan. */
export const originsRefusal = (
  plan: string,
  origins: ReadonlyArray<string>,
  serviceDomain: string | undefined
): FeatureNotInPlan | undefined => {
  const foreign = plan === "free" ? origins.find((entry) => !isOwnSubdomain(entry, serviceDomain)) : undefined
  return foreign === undefined
    ? undefined
    : new FeatureNotInPlan({
        message: `On the free plan \`origins\` may list ${serviceDomain === undefined ? "no origins" : `only subdomains of ${serviceDomain}`}: \`${foreign.slice(0, 80)}\` is none.`,
        feature: "allowed_origins",
        plan
      })
}
