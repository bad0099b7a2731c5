/** Errors of the health room. */
import { Schema } from "effect"

/** Searches cannot be answered. The log and the operator's status name the failing part. */
export class Unhealthy extends Schema.TaggedError<Unhealthy>()(
  "Unhealthy",
  { message: Schema.String, retry_after_s: Schema.Int },
  { httpApiStatus: 503 }
) {}
