/**
 * Units of experiments: what each session or user that a variant answered did, the sums that figures are computed from,
 * and what users did on each day before (`histories.ts`). A unit is a row in Postgres rather than state of the
 * partition, because one user's sessions are in several partitions.
 *
 * Decision: replays of analytics leave these figures unchanged, because a run is counted as a unit and not by days,
 * and may be longer than the log reaches back. A replay with the target `experiments` rebuilds runs that began within
 * its days (`rebuild.ts`). A person's erasure removes units from the sums (`forget.ts`) and rebuilds nothing.
 */
import type { FactProcessor } from "../../facts/fact-processor.ts"
import { ExperimentFacts } from "./emitted.ts"
import { forgetUnits } from "./forget.ts"
import { emptyShadowRuns, settleRuns, writeShadowRuns } from "./rebuild.ts"
import { writeExperiments } from "./write.ts"

export const experiments: FactProcessor<undefined, ExperimentFacts> = {
  name: "experiments",
  open: () => undefined,
  newEmitted: () => new ExperimentFacts(),
  sizeOf: ({ size }) => size,
  write: writeExperiments,
  rebuilding: { emptyShadows: emptyShadowRuns, writeShadow: writeShadowRuns, settle: settleRuns },
  erasing: { outcome: "removed", forget: forgetUnits }
}
