/** Errors of the keys room. */
import { Schema } from "effect"

export class KeyNotFound extends Schema.TaggedError<KeyNotFound>()(
  "KeyNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}
export class KeyValueTaken extends Schema.TaggedError<KeyValueTaken>()(
  "KeyValueTaken",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** A key creates only keys that are no wider than itself. */
export class KeyTooWide extends Schema.TaggedError<KeyTooWide>()(
  "KeyTooWide",
  { message: Schema.String, /** Fields in which the new key would be wider. */ fields: Schema.Array(Schema.String) },
  { httpApiStatus: 403 }
) {}
