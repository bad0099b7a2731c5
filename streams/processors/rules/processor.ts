/**
 * Analytics rules: what customers count for themselves. The figures reach back further than the log, so a replay leaves
 * them as they are.
 */
import type { FactProcessor } from "../../facts/fact-processor.ts"
import { LogKnowledge, RuleFacts } from "./emitted.ts"
import { forgetQueries, removeRuleEvents } from "./erase.ts"
import { writeRules } from "./write.ts"

export const rules: FactProcessor<LogKnowledge, RuleFacts> = {
  name: "rules",
  open: () => new LogKnowledge(),
  newEmitted: (knowledge) => new RuleFacts(knowledge),
  // Searches and products are instants of rollups too, whose number decides when to flush.
  sizeOf: ({ logged, others }) => logged.length + others.length,
  write: writeRules,
  erasing: { forget: forgetQueries, removeRows: removeRuleEvents }
}
