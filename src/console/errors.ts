/** What console operations answer beside the common refusals. */
import { Schema } from "effect"

/** Wrong address, wrong password, or a person of several organizations without a choice: one answer for all. */
export class SignInRefused extends Schema.TaggedError<SignInRefused>()(
  "SignInRefused",
  { message: Schema.String },
  { httpApiStatus: 401 }
) {}
export class MemberNotFound extends Schema.TaggedError<MemberNotFound>()(
  "MemberNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}
/** The address is a member already, the last owner would go, or there are too many members. */
export class MemberConflict extends Schema.TaggedError<MemberConflict>()(
  "MemberConflict",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
