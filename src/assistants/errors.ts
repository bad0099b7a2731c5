/** Errors of the assistants room. */
import { Schema } from "effect"

/** A search key requested a conversation of another session. */
export class ConversationOfOther extends Schema.TaggedError<ConversationOfOther>()(
  "ConversationOfOther",
  { message: Schema.String },
  { httpApiStatus: 403 }
) {}
/** The organization's own model failed; `reason` says how. */
export class GeneratorFailed extends Schema.TaggedError<GeneratorFailed>()(
  "GeneratorFailed",
  { message: Schema.String, reason: Schema.Literals(["busy", "refused", "failed", "timeout"]) },
  { httpApiStatus: 502 }
) {}
