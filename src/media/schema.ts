/** Media as the API returns them, and their limits. */
import { Schema } from "effect"

/** The size of an asset's content. */
export const CONTENT_BYTES_MAX = 100_000_000
/** The media type of content without a stated type. */
export const UNKNOWN_TYPE = "application/octet-stream"

export const MediaAsset = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literals(["file", "image"]),
  status: Schema.Literals(["empty", "ready"]),
  filename: Schema.NullOr(Schema.String),
  content_type: Schema.String,
  size: Schema.Int,
  sha256: Schema.NullOr(Schema.String),
  /** For images that were examined. */ width: Schema.optionalKey(Schema.Int),
  height: Schema.optionalKey(Schema.Int),
  created_at: Schema.Int,
  updated_at: Schema.Int,
  /** When it will be deleted. */ expires_at: Schema.optionalKey(Schema.Int)
}).annotate({
  identifier: "MediaAsset",
  description: "`empty` until it is uploaded; until then `size` is 0 and `sha256` null. Times are Unix milliseconds."
})
export type MediaAsset = typeof MediaAsset.Type
export const MediaAssetList = Schema.Struct({
  data: Schema.Array(MediaAsset),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "MediaAssetList", description: "By id, which is the order of creation." })
