/** Errors of media. */
import { Schema } from "effect"

/** Content is uploaded only once, and by one request at a time. */
export class ContentThere extends Schema.TaggedError<ContentThere>()(
  "ContentThere",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** A raw upload must state its length. */
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
/** `size` is that of the content. */
export class RangeNotSatisfiable extends Schema.TaggedError<RangeNotSatisfiable>()(
  "RangeNotSatisfiable",
  { message: Schema.String, size: Schema.Int },
  { httpApiStatus: 416 }
) {}
