/** What is known of a user, as the API returns it. */
import { Schema } from "effect"

export const PersonalizationProfile = Schema.Struct({
  user_id: Schema.String,
  /** Number of interactions in the history. */
  events: Schema.Int,
  /** Time of the newest in Unix milliseconds; null if there is none. */
  updated_at: Schema.NullOr(Schema.Int),
  /** The strongest first, at most 100. */
  affinities: Schema.Array(Schema.Struct({ field: Schema.String, value: Schema.String, weight: Schema.Number })),
  /** Documents, the newest first, each once; at most 100. */
  recent: Schema.Array(Schema.String)
}).annotate({ identifier: "PersonalizationProfile" })
