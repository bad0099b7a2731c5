/**
 * Analytics rules: what customers count by their own rules. The figures reach back further than the log, so a replay
 * leaves them unchanged.
 */
import type { FactProcessor } from "../../facts/fact-processor.ts"
import { LogKnowledge, RuleFacts } from "./emitted.ts"
import { forgetQueries, removeRuleEvents } from "./erase.ts"
import { writeRules } from "./write.ts"

export const rules: FactProcessor<LogKnowledge, RuleFacts> = {
  name: "rules",
  open: () => new LogKnowledge(),
  newEmitted: (knowledge) => new RuleFacts(knowledge),
  // Everything in order of arrival: repeated events at the same instant are one row of rollups, but not here.
  sizeOf: ({ size }) => size,
  write: writeRules,
  erasing: { outcome: "removed", forget: forgetQueries, removeRows: removeRuleEvents }
}
