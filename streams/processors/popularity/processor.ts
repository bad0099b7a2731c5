/**
 * The popularity of queries, the source of suggestions. Attribution decides which search counts (answer or event, the
 * last keystroke, no repeated event), with thirty days of state; what it retracts is retracted here too. Visitors from
 * several partitions are merged in Postgres, under the lock of the query's row.
 *
 * A replay recomputes recent use from the rows of rollups. Who made a query reaches back further than the log and is
 * not replayed.
 */
import type { FactProcessor } from "../../facts/fact-processor.ts"
import { QueryUses } from "./emitted.ts"
import { forgetMaker, settlePopularity } from "./settle.ts"
import { writePopularity } from "./write.ts"

export const popularity: FactProcessor<undefined, QueryUses> = {
  name: "popularity",
  open: () => undefined,
  newEmitted: (_state, facts, spent) => new QueryUses(facts, spent),
  sizeOf: ({ size }) => size,
  write: writePopularity,
  rebuilding: { settle: settlePopularity },
  erasing: { outcome: "removed", forget: forgetMaker }
}
