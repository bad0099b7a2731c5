/** Failures of the keys room. */
import { Schema } from "effect"

export class KeyNotFound extends Schema.TaggedError<KeyNotFound>()("KeyNotFound", { message: Schema.String }, { httpApiStatus: 404 }) {}
/** A plan that does not have what a key asks for. */
export class NotInPlan extends Schema.TaggedError<NotInPlan>()("NotInPlan", { message: Schema.String, feature: Schema.String, plan: Schema.String }, { httpApiStatus: 403 }) {}
export class KeyValueTaken extends Schema.TaggedError<KeyValueTaken>()("KeyValueTaken", { message: Schema.String }, { httpApiStatus: 409 }) {}
