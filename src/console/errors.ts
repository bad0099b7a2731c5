/** Errors of console operations in addition to the common refusals. */
import { Schema } from "effect"

/** Wrong address, wrong password, or a member of several organizations who chose none: the same response for all. */
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
/** The address is already a member, no owner would remain, or there are too many members. */
export class MemberConflict extends Schema.TaggedError<MemberConflict>()(
  "MemberConflict",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
