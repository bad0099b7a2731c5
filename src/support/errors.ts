/** Errors of support threads. */
import { Schema } from "effect"

/** A search key requests somebody else's thread. */
export class OtherSession extends Schema.TaggedError<OtherSession>()(
  "OtherSession",
  { message: Schema.String },
  { httpApiStatus: 403 }
) {}
/** A thread accepts no more messages. */
export class ThreadFull extends Schema.TaggedError<ThreadFull>()(
  "ThreadFull",
  { message: Schema.String, limit: Schema.Int },
  { httpApiStatus: 409 }
) {}
