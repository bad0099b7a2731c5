/** Failures of the keys room. */
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
/** A key makes only keys that are no wider than itself. */
export class KeyTooWide extends Schema.TaggedError<KeyTooWide>()(
  "KeyTooWide",
  { message: Schema.String, /** Every field in which it would be wider. */ fields: Schema.Array(Schema.String) },
  { httpApiStatus: 403 }
) {}
