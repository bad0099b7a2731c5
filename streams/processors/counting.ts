/**
 * The processors that count what attribution finds: adding one takes a folder and a line here. They write in this
 * order, in one transaction, and replays and erasures follow it; a processor that derives figures from another's rows
 * is listed after that one.
 */
import type { FactProcessor } from "../facts/fact-processor.ts"
import { ATTRIBUTION, makeAttribution } from "./attribution/processor.ts"
import type { AttributionOptions } from "./attribution/state.ts"
import { experiments } from "./experiments/processor.ts"
import { affinities } from "./affinities/processor.ts"
import { popularity } from "./popularity/processor.ts"
import { rollups } from "./rollups/processor.ts"
import { rules } from "./rules/processor.ts"

export const FACT_PROCESSORS: ReadonlyArray<FactProcessor> = [rollups, popularity, rules, experiments, affinities]

/** The group that counts, and whose figures a replay rebuilds. */
export const makeCounting = (options: AttributionOptions, processors = FACT_PROCESSORS) =>
  makeAttribution(options, processors)

export { ATTRIBUTION }
