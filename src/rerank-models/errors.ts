/** Failures of the room of rerank models. */
import { Schema } from "effect"

/** `named_by`: what still refers to the model and must be changed first. */
export class RerankModelInUse extends Schema.TaggedError<RerankModelInUse>()(
  "RerankModelInUse",
  { message: Schema.String, named_by: Schema.Array(Schema.String) },
  { httpApiStatus: 409 }
) {}
