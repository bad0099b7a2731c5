/** One sample, or several where a fact changes the answer, of every error that the room declares. */
import type { ErrorSample } from "../room.ts"
import { Unhealthy } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["Unhealthy", new Unhealthy({ message: "Searches cannot be answered at the moment.", retry_after_s: 10 })]
]
