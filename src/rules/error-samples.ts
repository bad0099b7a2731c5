/** One sample, or several where a fact changes the answer, of every error that the room declares. */
import type { ErrorSample } from "../room.ts"
import { SearchRulesNotFound } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["SearchRulesNotFound", new SearchRulesNotFound({ message: "`products` has no search rules." })]
]
