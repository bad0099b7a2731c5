/** Descriptions of the operations of media, each with an example request that succeeds. */
import { sampleIds } from "../api/sample-ids.ts"
import type { Described } from "../http/operation.ts"
import { ONE_PIXEL } from "./one-pixel.ts"

const params = { mediaId: sampleIds.media }
export const described = {
  listMedia: {
    description: "Lists assets by id, the oldest first. A page has at most 250, 50 by default. It changes nothing.",
    example: { query: { limit: "20" } }
  },
  createMedia: {
    description:
      "Makes an asset that is empty: its content is given once, by `putMediaContent`. Without `content_type` it has the one that the content is sent with. A plan without room for one more refuses it with 403.",
    example: { body: { filename: "catalogue.pdf", content_type: "application/pdf" } }
  },
  getMedia: {
    description: "Shows an asset. An unknown id, or another organization's, is a 404.",
    example: { params }
  },
  deleteMedia: {
    description:
      "Deletes an asset with its content, also one whose content is on its way. It answers the id, and 404 when there is nothing.",
    example: { params: { mediaId: sampleIds.oldMedia } }
  },
  putMediaContent: {
    description:
      "Gives an asset its content: the body as it is, at most 100,000,000 bytes, else 413 before it is read. `Content-Length` is required (411) and must be right (400); a coding of the content is refused. An asset that has content, or is being given it by another request, is a 409, and bytes beyond the plan's are a 403.",
    example: { params: { mediaId: sampleIds.emptyMedia }, body: "%PDF-1.7" }
  },
  uploadImage: {
    description:
      "Takes an image as the body, or JSON with it as base64 in `image` and a `filename`: jpeg, png, webp, avif or gif by its bytes, at most 8 MB and 40 megapixels, else 400. What is kept is its first frame, upright, without metadata and at most 4,096 pixels on a side: gif as png, avif as webp. It costs 0.1 credits; one that came with a search key is deleted after 24 hours.",
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
      "Answers the content with its media type, whole or the part that `Range` names (206; 416 where it has none of it), or 304 to who has it (`If-None-Match`). Pictures, audio and video are shown by browsers, all else is downloaded. An asset without content is a 404.",
    example: { params }
  }
} satisfies Readonly<Record<string, Described>>
