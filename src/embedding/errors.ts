/** Reasons why there are no vectors. */
import { Schema } from "effect"

/** The model is not installed; `setting` says what to do about it. */
export class ModelNotInstalled extends Schema.TaggedError<ModelNotInstalled>()(
  "ModelNotInstalled",
  { message: Schema.String, setting: Schema.String },
  { httpApiStatus: 409 }
) {}
/** The model is being installed or loaded, or its queue is full. */
export class ModelBusy extends Schema.TaggedError<ModelBusy>()(
  "ModelBusy",
  { message: Schema.String, retry_after_s: Schema.Int },
  { httpApiStatus: 503 }
) {}
/** The model, or the server that runs it, failed. */
export class ModelFailed extends Schema.TaggedError<ModelFailed>()(
  "ModelFailed",
  { message: Schema.String },
  { httpApiStatus: 502 }
) {}
export const embeddingErrors = [ModelNotInstalled, ModelBusy, ModelFailed] as const
export const INSTALL = "dowser models install"
