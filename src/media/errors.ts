/** What media refuse. */
import { Schema } from "effect"

/** Content is uploaded once, and by one request at a time. */
export class ContentThere extends Schema.TaggedError<ContentThere>()(
  "ContentThere",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** A raw upload must say how long it is. */
export class ContentLengthRequired extends Schema.TaggedError<ContentLengthRequired>()(
  "ContentLengthRequired",
  { message: Schema.String },
  { httpApiStatus: 411 }
) {}
export class ContentTooLarge extends Schema.TaggedError<ContentTooLarge>()(
  "ContentTooLarge",
  { message: Schema.String },
  { httpApiStatus: 413 }
) {}
/** `size` is the content's. */
export class RangeNotSatisfiable extends Schema.TaggedError<RangeNotSatisfiable>()(
  "RangeNotSatisfiable",
  { message: Schema.String, size: Schema.Int },
  { httpApiStatus: 416 }
) {}
