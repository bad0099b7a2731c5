/** Descriptions of the operations, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"
import { ONE_PIXEL } from "../media/one-pixel.ts"

export const described = {
  imageSearch: {
    description:
      "Searches a collection by a picture: the image itself with search parameters in the query, or JSON with `media_id` (of this organization), or `image` as base64, and search parameters; words (`q`) are refused. The nearest come first with their `vector_distance`, and `match` says whether a hit has the very same picture (`same_image`), re-encoded, scaled or with a border, or only a similar one (`look_alike`). It needs a field that embeds pictures (`dowser/look-alike`), otherwise the 400 explains how; it costs 0.1 credits and a search.",
    example: {
      params: { collectionName: "pictures" },
      body: { image: ONE_PIXEL, per_page: 5 },
      headers: { "x-svc-session-id": "session-1" }
    }
  }
} as const satisfies Readonly<Record<string, Described>>
