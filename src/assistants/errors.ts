/** Refusals of assistants. */
import { Schema } from "effect"

/** A search key asks for a conversation of somebody else. */
export class ConversationOfOther extends Schema.TaggedError<ConversationOfOther>()(
  "ConversationOfOther",
  { message: Schema.String },
  { httpApiStatus: 403 }
) {}
/** The organization's own model did not answer; `reason` says how it failed. */
export class GeneratorFailed extends Schema.TaggedError<GeneratorFailed>()(
  "GeneratorFailed",
  { message: Schema.String, reason: Schema.Literals(["busy", "refused", "failed", "timeout"]) },
  { httpApiStatus: 502 }
) {}
