/** A sample of every error that the room declares. */
import type { ErrorSample } from "../room.ts"
import * as errors from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["ContentThere", new errors.ContentThere({ message: "Media asset med_1 has its content already." })],
  ["ContentLengthRequired", new errors.ContentLengthRequired({ message: "Header `Content-Length` is required." })],
  ["ContentTooLarge", new errors.ContentTooLarge({ message: "Content is at most 100000000 bytes long." })],
  [
    "RangeNotSatisfiable",
    new errors.RangeNotSatisfiable({ message: "The content has no byte of this range.", size: 10 })
  ]
]
