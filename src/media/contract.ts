/** Media: assets with content. Full key; images can also be uploaded with a search key. */
import { Schema } from "effect"
import { NotFound } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import { aiErrors, FeatureNotInPlan } from "../metering/errors.ts"
import { isContentType, isFilename } from "./asset-input.ts"
import { ContentLengthRequired, ContentThere, ContentTooLarge, RangeNotSatisfiable } from "./errors.ts"
import { described } from "./examples.ts"
import { IMAGE_BODY_BYTES_MAX, IMAGE_MEDIA } from "./image-body.ts"
import { MediaAsset, MediaAssetList, UNKNOWN_TYPE } from "./schema.ts"

const at = { group: "media", plane: "control", scope: "full" } as const
const mediaId = Schema.String.annotate({ description: "The id of an asset, `med_…`." })
const one = { ...at, params: { mediaId } } as const
const path = "/v1/media/:mediaId"

export const listMedia = operation({
  ...at,
  ...described.listMedia,
  id: "listMedia",
  summary: "List media",
  method: "GET",
  path: "/v1/media",
  query: Schema.Struct(pageFields({ max: 250, byDefault: 50 })),
  success: MediaAssetList
})
export const createMedia = operation({
  ...at,
  ...described.createMedia,
  id: "createMedia",
  summary: "Create an asset, to be uploaded",
  method: "POST",
  path: "/v1/media",
  payload: Schema.Struct({
    filename: Schema.optionalKey(Schema.String.check(isFilename)),
    content_type: Schema.optionalKey(Schema.String.check(isContentType))
  }).annotate({ identifier: "CreateMedia" }),
  success: MediaAsset,
  status: 201,
  errors: [FeatureNotInPlan]
})
export const getMedia = operation({
  ...one,
  ...described.getMedia,
  id: "getMedia",
  summary: "Get an asset",
  method: "GET",
  path,
  success: MediaAsset,
  errors: [NotFound]
})
export const deleteMedia = operation({
  ...one,
  ...described.deleteMedia,
  id: "deleteMedia",
  summary: "Delete an asset with its content",
  method: "DELETE",
  path,
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedMedia" }),
  errors: [NotFound]
})
export const putMediaContent = operation({
  ...one,
  ...described.putMediaContent,
  id: "putMediaContent",
  summary: "Upload the content of an asset, once",
  method: "PUT",
  path: `${path}/content`,
  payload: Schema.Unknown,
  payloadIsChecked: false,
  payloadType: "bytes",
  success: MediaAsset,
  errors: [ContentLengthRequired, ContentThere, ContentTooLarge, FeatureNotInPlan, NotFound]
})
export const getMediaContent = operation({
  ...one,
  ...described.getMediaContent,
  id: "getMediaContent",
  summary: "The content of an asset, whole or in part",
  method: "GET",
  path: `${path}/content`,
  successType: "bytes",
  successMedia: [UNKNOWN_TYPE],
  errors: [NotFound, RangeNotSatisfiable]
})

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
  payload: Schema.Struct({
    image: Schema.String.annotate({ description: "Base64, also as a `data:` address." }),
    filename: Schema.optionalKey(Schema.String.check(isFilename))
  }).annotate({ identifier: "UploadImage" }),
  payloadIsChecked: false,
  payloadType: "bytes",
  payloadMedia: IMAGE_MEDIA,
  bodyBytesMax: IMAGE_BODY_BYTES_MAX,
  success: MediaAsset,
  status: 201,
  errors: [ContentThere, FeatureNotInPlan, NotFound, ...aiErrors]
})
