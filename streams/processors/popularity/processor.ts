/**
 * The popularity of queries: what suggestions are made of. Which search counts (one of answer and event, the last
 * keystroke, no repeated event) attribution decides, with state of thirty days behind it; what is taken back there is
 * taken back here too, and visitors of several partitions meet in Postgres, under the lock of the query's row.
 *
 * A replay makes recent use again from the rows of rollups. Who made a query reaches back further than the log and is
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
