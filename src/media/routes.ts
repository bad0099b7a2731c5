/** Handlers of media: the asset is looked for before anything else is read. */
import { Effect } from "effect"
import type { IncomingHttpHeaders } from "node:http"
import type { Readable } from "node:stream"
import { implement } from "../api/implement.ts"
import { inputInvalid } from "../http/errors.ts"
import { byId, pageOf } from "../http/page.ts"
import { render } from "../http/render.ts"
import { Reply } from "../http/reply.ts"
import type { Caller } from "../identity/caller.ts"
import { AiSpending } from "../metering/ai-spending.ts"
import { filenameRefusal, isMediaType, normalizedType } from "./asset-input.ts"
import type { StoredAsset } from "./assets-repository.ts"
import { isKnown, rangeOf } from "./content-range.ts"
import * as contract from "./contract.ts"
import { ContentLengthRequired, ContentTooLarge, RangeNotSatisfiable } from "./errors.ts"
import { imageBodyOf } from "./image-body.ts"
import { Images } from "./images.ts"
import { Media } from "./media.ts"
import { CONTENT_BYTES_MAX, type MediaAsset } from "./schema.ts"
import { etagOf, servedHeaders, typeOf } from "./served-content.ts"
import { contentThere } from "./storing.ts"

const shownAsset = (asset: StoredAsset): MediaAsset => ({
  id: asset.id,
  kind: asset.kind,
  status: asset.blob === null ? "empty" : "ready",
  filename: asset.filename,
  content_type: typeOf(asset),
  size: asset.size ?? 0,
  sha256: asset.sha256,
  ...(asset.width === null || asset.height === null ? {} : { width: asset.width, height: asset.height }),
  created_at: asset.created_at,
  updated_at: asset.updated_at,
  ...(asset.expires_at === null ? {} : { expires_at: asset.expires_at })
})

/** Before a byte of the body is read (spec part 8). */
const announced = Effect.fnUntraced(function* (headers: IncomingHttpHeaders) {
  const text = headers["content-length"]
  if (text === undefined || !/^\d{1,15}$/.test(text))
    return yield* new ContentLengthRequired({
      message: "Header `Content-Length` is required: how many bytes there are."
    })
  if (Number(text) > CONTENT_BYTES_MAX)
    return yield* new ContentTooLarge({ message: `Content is at most ${CONTENT_BYTES_MAX} bytes long.` })
  const coding = headers["content-encoding"]?.trim().toLowerCase() ?? ""
  if (coding !== "" && coding !== "identity")
    return yield* inputInvalid("content-encoding", "None: content is kept as it is sent")
  return Number(text)
})
/** What the sender says of the bytes, unless it says nothing, as forms of browsers and `curl` do. */
const sentType = (headers: IncomingHttpHeaders): string | undefined => {
  const type = headers["content-type"]
  return type === undefined || !isMediaType(type) || type.startsWith("application/x-www-form-urlencoded")
    ? undefined
    : normalizedType(type)
}

/** The content as the request's headers ask for it. */
const makeServed = Effect.map(Media, (media) =>
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
        message: `The content has ${size} bytes, none of them in this range.`,
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

/** The picture is looked at, and paid for, before anything is kept. */
const makeUpload = Effect.gen(function* () {
  const images = yield* Images
  const spending = yield* AiSpending
  return Effect.fnUntraced(function* (caller: Caller, bytes: Buffer) {
    const image = imageBodyOf(bytes, filenameRefusal)
    if ("_tag" in image) return yield* image
    const added = Effect.map(images.add(caller, image), (asset) => [asset, 1] as const)
    return shownAsset(yield* spending.spend(caller, "image_upload", 1, added))
  })
})

export const routes = Effect.gen(function* () {
  const upload = yield* makeUpload
  const media = yield* Media
  const served = yield* makeServed
  return [
    implement(
      contract.listMedia,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { cursor, limit } = yield* query
        const data = yield* media.list(caller.organizationId, { cursor, limit: limit + 1 })
        return pageOf(data.map(shownAsset), limit, byId)
      })
    ),
    implement(
      contract.createMedia,
      Effect.fnUntraced(function* ({ caller, payload }) {
        const { content_type, filename } = yield* payload
        const contentType = content_type === undefined ? undefined : normalizedType(content_type)
        return shownAsset(yield* media.create(caller.organizationId, { filename, contentType }))
      })
    ),
    implement(contract.uploadImage, ({ bytes, caller }) => Effect.flatMap(bytes, (body) => upload(caller, body))),
    implement(contract.getMedia, ({ caller, params }) =>
      Effect.map(media.get(caller.organizationId, params.mediaId), shownAsset)
    ),
    implement(contract.deleteMedia, ({ caller, params }) => media.remove(caller.organizationId, params.mediaId)),
    implement(
      contract.putMediaContent,
      Effect.fnUntraced(function* ({ again, caller, headers, params, stream }) {
        const asset = yield* media.get(caller.organizationId, params.mediaId)
        if (asset.blob !== null) return yield* contentThere(asset.id)
        const length = yield* announced(headers)
        const pieces = (yield* stream) as AsyncIterable<Uint8Array>
        const content = { length, pieces, contentType: sentType(headers), isAllowed: again }
        return shownAsset(yield* media.put(asset, content))
      })
    ),
    implement(
      contract.getMediaContent,
      Effect.fnUntraced(function* ({ caller, headers, params }) {
        return yield* served(yield* media.get(caller.organizationId, params.mediaId), headers)
      })
    )
  ]
})
