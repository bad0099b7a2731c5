/** A sample of each error that the room declares. */
import type { ErrorSample } from "../room.ts"
import { ConversationOfOther, GeneratorFailed } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["ConversationOfOther", new ConversationOfOther({ message: "The conversation belongs to another session." })],
  [
    "GeneratorFailed",
    new GeneratorFailed({ message: "The model `words` did not answer within 60 s.", reason: "timeout" })
  ]
]
