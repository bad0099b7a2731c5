/** How far readers other than stream processors have read a topic: retention keeps everything beyond. */
import { Context } from "effect"

/** By `topic/partition`: everything below has been consumed. One instance per process. */
export const ConsumedElsewhere = Context.Reference<Map<string, number>>("dowser/log/ConsumedElsewhere", {
  defaultValue: () => new Map()
})
export const consumedKey = (topic: string, partition: number): string => `${topic}/${partition}`
