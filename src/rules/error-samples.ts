/** A sample of every error that the room declares, or several if a fact changes the answer. */
import type { ErrorSample } from "../room.ts"
import { SearchRulesNotFound } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["SearchRulesNotFound", new SearchRulesNotFound({ message: "`products` has no search rules." })]
]
