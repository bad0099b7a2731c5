/** Failures of the rules room. */
import { Schema } from "effect"

export class SearchRulesNotFound extends Schema.TaggedError<SearchRulesNotFound>()(
  "SearchRulesNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}
