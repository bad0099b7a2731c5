/** Pictures that visitors and owners upload (contract part 10). Search key. */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { NotFound } from "../http/errors.ts"
import { aiErrors, FeatureNotInPlan } from "../metering/errors.ts"
import { ContentThere } from "./errors.ts"
import { described } from "./examples.ts"
import { MediaAsset } from "./schema.ts"

/** An image as base64, and what stands around it in JSON. */
const IMAGE_BODY_BYTES_MAX = 11_000_000
/** Raw, or JSON. */
const IMAGE_MEDIA = ["image/png", "image/jpeg", "image/webp", "image/avif", "image/gif", "application/json"]

export const uploadImage = operation({
  ...described.uploadImage,
  group: "media",
  plane: "control",
  scope: "search",
  isAi: true,
  id: "uploadImage",
  summary: "Upload an image to search with, or to show",
  method: "POST",
  path: "/v1/media/images",
  payload: Schema.Unknown,
  payloadIsChecked: false,
  payloadType: "bytes",
  payloadMedia: IMAGE_MEDIA,
  bodyBytesMax: IMAGE_BODY_BYTES_MAX,
  success: MediaAsset,
  status: 201,
  errors: [ContentThere, FeatureNotInPlan, NotFound, ...aiErrors]
})
