/** Search by picture. */
import { Schema } from "effect"
import { embeddingErrors } from "../embedding/errors.ts"
import { SearchResponse } from "../engine-plane/search-response.ts"
import { NotFound } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { IMAGE_BODY_BYTES_MAX, IMAGE_MEDIA } from "../media/image-body.ts"
import { aiErrors } from "../metering/errors.ts"
import { SearchParameters } from "../search/contract.ts"
import { searchErrors } from "../search/search-errors.ts"
import { described } from "./examples.ts"

export const imageSearch = operation({
  ...described.imageSearch,
  group: "image search",
  plane: "control",
  scope: "search",
  isAi: true,
  id: "imageSearch",
  summary: "Search by a picture",
  method: "POST",
  path: "/v1/collections/:collectionName/documents/image_search",
  query: SearchParameters,
  payload: Schema.Record(Schema.String, Schema.Unknown).annotate({
    identifier: "ImageSearchBody",
    description: "`media_id` of an image, or `image` as base64, and search parameters without `q`."
  }),
  payloadIsChecked: false,
  payloadType: "bytes",
  payloadMedia: IMAGE_MEDIA,
  bodyBytesMax: IMAGE_BODY_BYTES_MAX,
  success: SearchResponse,
  errors: [NotFound, ...searchErrors, ...aiErrors, ...embeddingErrors]
})
