/**
 * Rollups: the tables that analytics read, by query, product, type of event, and filter used. A flush writes instants,
 * the fold turns them into rows, a replay exchanges rows day by day. Figures rebuilt without a person contain no trace
 * of that person, so erasure needs no hook of its own here.
 */
import { Effect } from "effect"
import type { FactProcessor } from "../../facts/fact-processor.ts"
import { KnownUses, RollupSums } from "./emitted.ts"
import { foldOrganization, foldSome, holdFolds } from "./fold.ts"
import { emptyShadows, firstDay, swapDay } from "./swap.ts"
import { writeRollups, writeShadow } from "./write.ts"

export const rollups: FactProcessor<KnownUses, RollupSums> = {
  name: "rollups",
  open: () => new KnownUses(),
  newEmitted: (known, facts, spent) => new RollupSums(known, facts, spent),
  sizeOf: ({ size }) => size,
  write: writeRollups,
  fold: foldSome,
  rebuilding: {
    emptyShadows,
    writeShadow,
    hold: holdFolds,
    firstDay,
    swapDay,
    // Processors after this one derive their figures from complete rows.
    settle: (organizationId) => Effect.as(foldOrganization(organizationId), {})
  },
  erasing: { outcome: "rebuilt" }
}
