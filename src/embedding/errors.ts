/** Why there are no vectors. */
import { Schema } from "effect"

/** Nobody has installed the model here; `setting` is what to do about it. */
export class ModelNotInstalled extends Schema.TaggedError<ModelNotInstalled>()(
  "ModelNotInstalled",
  { message: Schema.String, setting: Schema.String },
  { httpApiStatus: 409 }
) {}
/** It is being installed or loaded, or more waits than it can do. */
export class ModelBusy extends Schema.TaggedError<ModelBusy>()(
  "ModelBusy",
  { message: Schema.String, retry_after_s: Schema.Int },
  { httpApiStatus: 503 }
) {}
/** The model, or the server that runs it, did not do what it was asked. */
export class ModelFailed extends Schema.TaggedError<ModelFailed>()(
  "ModelFailed",
  { message: Schema.String },
  { httpApiStatus: 502 }
) {}
export const embeddingErrors = [ModelNotInstalled, ModelBusy, ModelFailed] as const
export const INSTALL = "dowser models install"
