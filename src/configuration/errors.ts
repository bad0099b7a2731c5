/** What a process answers that can neither read the configuration nor vouch for what it remembers of it. */
import { Schema } from "effect"

export class ConfigurationUnavailable extends Schema.TaggedError<ConfigurationUnavailable>()(
  "ConfigurationUnavailable",
  { message: Schema.String, retry_after_s: Schema.Int },
  { httpApiStatus: 503 }
) {}
