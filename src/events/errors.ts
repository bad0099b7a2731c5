/** Failures of the events room beside the common refusals; backpressure is the common `Throttled`. */
import { Schema } from "effect"

/** The log could not store the batch. Nothing was acknowledged: sending the same ids again is safe. */
export class EventsUnavailable extends Schema.TaggedError<EventsUnavailable>()("EventsUnavailable", {
  message: Schema.String,
  retry_after_s: Schema.Int
}, { httpApiStatus: 503 }) {}
