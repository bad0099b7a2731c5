/** Failures of the health room. */
import { Schema } from "effect"

/**
 * Searches cannot be answered. Which part it is stands in the log and in the operator's status, not in a public answer.
 */
export class Unhealthy extends Schema.TaggedError<Unhealthy>()(
  "Unhealthy",
  { message: Schema.String, retry_after_s: Schema.Int },
  { httpApiStatus: 503 }
) {}
