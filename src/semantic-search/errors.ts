/** Why a collection cannot be searched by meaning yet. */
import { Schema } from "effect"

/** The collection's own vectors are being computed; the job shows the progress. */
export class VectorsNotReady extends Schema.TaggedError<VectorsNotReady>()(
  "VectorsNotReady",
  { message: Schema.String, job_id: Schema.String },
  { httpApiStatus: 409 }
) {}
