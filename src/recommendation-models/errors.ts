/** Failures of the room of recommendation models. */
import { Schema } from "effect"

export class RecommendationModelInUse extends Schema.TaggedError<RecommendationModelInUse>()(
  "RecommendationModelInUse",
  {
    message: Schema.String,
    /** Those whose search rules name it. */ collections: Schema.Array(Schema.String),
    /** Ids of those that show, or would put back, rules that do. */ experiments: Schema.Array(Schema.String)
  },
  { httpApiStatus: 409 }
) {}
