/** Failures of the room of recommendation models. */
import { Schema } from "effect"

export class RecommendationModelInUse extends Schema.TaggedError<RecommendationModelInUse>()(
  "RecommendationModelInUse",
  {
    message: Schema.String,
    /** Collections whose search rules name it. */ collections: Schema.Array(Schema.String),
    /** Ids of experiments that show, or would restore, rules that name it. */ experiments: Schema.Array(Schema.String)
  },
  { httpApiStatus: 409 }
) {}
