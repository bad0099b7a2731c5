/** Errors of the events room in addition to the common refusals; backpressure is the common `Throttled`. */
import { Schema } from "effect"

/** The log could not store the batch. Nothing was acknowledged, so sending the same ids again is safe. */
export class EventsUnavailable extends Schema.TaggedError<EventsUnavailable>()(
  "EventsUnavailable",
  {
    message: Schema.String,
    retry_after_s: Schema.Int
  },
  { httpApiStatus: 503 }
) {}

/**
 * An NDJSON request that was cut short after part of it was stored: `status`, `feature` and the like describe what
 * ended it. `lines` were processed, as the totals say; the sender continues after them.
 */
export class EventStreamEnded extends Schema.TaggedError<EventStreamEnded>()("EventStreamEnded", {
  message: Schema.String,
  status: Schema.Int,
  retry_after_s: Schema.optionalKey(Schema.Int),
  feature: Schema.optionalKey(Schema.String),
  plan: Schema.optionalKey(Schema.String),
  limit: Schema.optionalKey(Schema.Int),
  issues: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String }))),
  lines: Schema.Int,
  accepted: Schema.Int,
  deduplicated: Schema.Int,
  rejected: Schema.Array(Schema.Struct({ index: Schema.Int, reason: Schema.String })),
  rejected_total: Schema.optionalKey(Schema.Int)
}) {}
