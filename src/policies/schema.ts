/** Search policies as the API returns them. */
import { Schema } from "effect"

const Params = Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])).annotate({
  identifier: "SearchPolicyParams",
  description: "Search parameters but `q`, `profile`, `preset`, `search_policy`, `collection` and credentials."
})
export const SearchPolicyBody = Schema.Struct({
  name: Schema.optionalKey(Schema.String),
  params: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "Search parameters but `q`, `profile`, `preset`, `search_policy`, `collection` and credentials."
  }),
  /** From an answer that is sent back; ignored. */ created_at: Schema.optionalKey(Schema.Unknown),
  updated_at: Schema.optionalKey(Schema.Unknown)
}).annotate({ identifier: "SearchPolicyBody" })
export const SearchPolicy = Schema.Struct({
  name: Schema.String,
  params: Params,
  created_at: Schema.Int,
  updated_at: Schema.Int
}).annotate({ identifier: "SearchPolicy" })
