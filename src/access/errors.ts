/** Failures of the keys room. */
import { Schema } from "effect"

export class KeyNotFound extends Schema.TaggedError<KeyNotFound>()("KeyNotFound", { message: Schema.String }, { httpApiStatus: 404 }) {}
export class KeyValueTaken extends Schema.TaggedError<KeyValueTaken>()("KeyValueTaken", { message: Schema.String }, { httpApiStatus: 409 }) {}
