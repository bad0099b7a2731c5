/** A sample of every error that the room declares; several if a fact changes the response. */
import type { ErrorSample } from "../room.ts"
import { EventStreamEnded, EventsUnavailable } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  [
    "EventsUnavailable",
    new EventsUnavailable({ message: "The events could not be stored; send the same batch again.", retry_after_s: 1 })
  ],
  [
    "EventStreamEnded, rate",
    new EventStreamEnded({
      message: "The rate is used up. The first 2000 lines were dealt with.",
      status: 429,
      retry_after_s: 40,
      lines: 2_000,
      accepted: 1_990,
      deduplicated: 9,
      rejected: [{ index: 3, reason: "collection is required" }]
    })
  ],
  [
    "EventStreamEnded, plan",
    new EventStreamEnded({
      message: "The plan free includes event_bytes_per_day up to 500000000.",
      status: 403,
      feature: "event_bytes_per_day",
      plan: "free",
      limit: 500_000_000,
      lines: 1_000,
      accepted: 1_000,
      deduplicated: 0,
      rejected: []
    })
  ],
  [
    "EventStreamEnded, broken",
    new EventStreamEnded({
      message: "Input validation failed",
      status: 400,
      issues: [{ path: "body", message: "The body ended early" }],
      lines: 1_000,
      accepted: 1_000,
      deduplicated: 0,
      rejected: []
    })
  ]
]
