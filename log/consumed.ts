/** How far readers other than stream processors have read a topic: retention keeps all later records. */
import { Context } from "effect"

/** By `topic/partition`: all earlier offsets have been consumed. One instance per process. */
export const ConsumedElsewhere = Context.Reference<Map<string, number>>("dowser/log/ConsumedElsewhere", {
  defaultValue: () => new Map()
})
export const consumedKey = (topic: string, partition: number): string => `${topic}/${partition}`
