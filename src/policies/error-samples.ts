/** A sample of every error that the room declares, or several if a fact changes the answer. */
import type { ErrorSample } from "../room.ts"
import { PolicyInUse } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  [
    "PolicyInUse",
    new PolicyInUse({
      message: "The policy `forgiving` is named by `products/listing`.",
      profiles: [{ collection: "products", name: "listing" }]
    })
  ]
]
