/** Descriptions of the operations of media, each with an example request that succeeds. */
import { sampleIds } from "../api/sample-ids.ts"
import type { Described } from "../http/operation.ts"
import { ONE_PIXEL } from "./one-pixel.ts"

const params = { mediaId: sampleIds.media }
export const described = {
  listMedia: {
    description: "Lists assets by id, oldest first. A page has at most 250, 50 by default. It changes nothing.",
    example: { query: { limit: "20" } }
  },
  createMedia: {
    description:
      "Creates an empty asset, whose content is uploaded once with `putMediaContent`. Without `content_type` it takes that of the upload. A plan without room for another asset answers 403.",
    example: { body: { filename: "catalogue.pdf", content_type: "application/pdf" } }
  },
  getMedia: {
    description: "Shows an asset. An unknown id, or another organization's, is a 404.",
    example: { params }
  },
  deleteMedia: {
    description:
      "Deletes an asset with its content, even while that is being uploaded, and returns its id. An unknown id is a 404.",
    example: { params: { mediaId: sampleIds.oldMedia } }
  },
  putMediaContent: {
    description:
      "Uploads the content of an asset: the body as it is, at most 100,000,000 bytes, otherwise 413 before it is read. `Content-Length` is required (411) and must be right (400); a content coding is refused. An asset that has content, or is receiving it from another request, is a 409, and bytes beyond the plan's are a 403.",
    example: { params: { mediaId: sampleIds.emptyMedia }, body: "%PDF-1.7" }
  },
  uploadImage: {
    description:
      "Takes an image as the body, or JSON with it as base64 in `image` and a `filename`: jpeg, png, webp, avif or gif by its bytes, at most 8 MB and 40 megapixels, otherwise 400. Its first frame is kept, upright, without metadata and at most 4,096 pixels on a side: gif as png, avif as webp. It costs 0.1 credits; an image uploaded with a search key is deleted after 24 hours.",
    example: {
      body: {
        image: ONE_PIXEL,
        filename: "lamp.png"
      },
      headers: { "x-svc-session-id": "session-1" }
    }
  },
  getMediaContent: {
    description:
      "Answers the content with its media type, whole or the part that `Range` names (206, or 416 if it has none of it), or 304 if the client already has it (`If-None-Match`). Browsers show pictures, audio and video, and download everything else. An asset without content is a 404.",
    example: { params }
  }
} satisfies Readonly<Record<string, Described>>
