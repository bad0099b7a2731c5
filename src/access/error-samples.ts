/** A sample of every error that the room declares; several if a fact changes the response. */
import type { ErrorSample } from "../room.ts"
import { KeyNotFound, KeyTooWide, KeyValueTaken } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["KeyNotFound", new KeyNotFound({ message: "Not found." })],
  ["KeyValueTaken", new KeyValueTaken({ message: "API key generation conflict." })],
  ["KeyTooWide", new KeyTooWide({ message: "The new key would be wider.", fields: ["cidrs", "expires_at"] })]
]
