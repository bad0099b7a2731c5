/** Failures of the policies room. */
import { Schema } from "effect"

export class PolicyInUse extends Schema.TaggedError<PolicyInUse>()(
  "PolicyInUse",
  {
    message: Schema.String,
    /** Profiles that name it, in their drafts or active releases. */
    profiles: Schema.Array(Schema.Struct({ collection: Schema.String, name: Schema.String }))
  },
  { httpApiStatus: 409 }
) {}
