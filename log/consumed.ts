/** How far a topic is read by somebody who is no stream processor: retention keeps what lies beyond. */
import { Context } from "effect"

/** By `topic/partition`: everything below is done with. One for the process. */
export const ConsumedElsewhere = Context.Reference<Map<string, number>>("dowser/log/ConsumedElsewhere", {
  defaultValue: () => new Map()
})
export const consumedKey = (topic: string, partition: number): string => `${topic}/${partition}`
