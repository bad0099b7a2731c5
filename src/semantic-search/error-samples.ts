import type { ErrorSample } from "../room.ts"
import { VectorsNotReady } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  [
    "VectorsNotReady",
    new VectorsNotReady({
      message: "The vectors of `products` are being made.",
      job_id: "job_01KAQ5V8Z3N4M6T7W9X0Y1B2G1"
    })
  ]
]
