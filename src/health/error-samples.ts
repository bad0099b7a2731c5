/** A sample of every error that the room declares; several if a fact changes the response. */
import type { ErrorSample } from "../room.ts"
import { Unhealthy } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["Unhealthy", new Unhealthy({ message: "Searches cannot be answered at the moment.", retry_after_s: 10 })]
]
