/** Content of assets as answers: complete, in part, or unchanged. */
import { Effect } from "effect"
import type { IncomingHttpHeaders } from "node:http"
import type { Readable } from "node:stream"
import { render } from "../http/render.ts"
import { Reply } from "../http/reply.ts"
import type { StoredAsset } from "./assets-repository.ts"
import { isKnown, rangeOf } from "./content-range.ts"
import { RangeNotSatisfiable } from "./errors.ts"
import { Media } from "./media.ts"
import { etagOf, servedHeaders, typeOf } from "./served-content.ts"

/** The content as requested by the headers. */
export const makeServed = Effect.map(Media, (media) =>
  Effect.fnUntraced(function* (asset: StoredAsset, headers: IncomingHttpHeaders) {
    const type = typeOf(asset),
      size = asset.size ?? 0,
      etag = etagOf(asset)
    if (asset.blob !== null && isKnown(headers["if-none-match"], etag))
      return new Reply(304, "", type, servedHeaders(asset))
    const range =
      asset.blob === null
        ? undefined
        : rangeOf(headers.range, headers["if-range"] as string | undefined, { etag, size })
    if (range === "none") {
      const error = new RangeNotSatisfiable({
        message: `The content has ${size} bytes, none of which is in this range.`,
        size
      })
      return new Reply(416, JSON.stringify(render(error, "control").body), "application/json", {
        "content-range": `bytes */${size}`
      })
    }
    const stream: Readable = yield* media.read(asset, range)
    const length = range === undefined ? size : range.end - range.start + 1
    return new Reply(range === undefined ? 200 : 206, stream, type, {
      ...servedHeaders(asset),
      "content-length": String(length),
      ...(range === undefined ? {} : { "content-range": `bytes ${range.start}-${range.end}/${size}` })
    })
  })
)
