/** Handlers of media: the asset is looked up before anything else is read. */
import { Effect } from "effect"
import type { IncomingHttpHeaders } from "node:http"
import { implement } from "../api/implement.ts"
import { inputInvalid } from "../http/errors.ts"
import { byId, pageOf } from "../http/page.ts"
import type { Caller } from "../identity/caller.ts"
import { AiSpending } from "../metering/ai-spending.ts"
import { filenameRefusal, isMediaType, normalizedType } from "./asset-input.ts"
import type { StoredAsset } from "./assets-repository.ts"
import * as contract from "./contract.ts"
import { ContentLengthRequired, ContentTooLarge } from "./errors.ts"
import { imageBodyOf } from "./image-body.ts"
import { Images } from "./images.ts"
import { Media } from "./media.ts"
import { CONTENT_BYTES_MAX, type MediaAsset } from "./schema.ts"
import { typeOf } from "./served-content.ts"
import { makeServed } from "./serving.ts"
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

/** Checked before a byte of the body is read. */
const announced = Effect.fnUntraced(function* (headers: IncomingHttpHeaders) {
  const text = headers["content-length"]
  if (text === undefined || !/^\d{1,15}$/.test(text))
    return yield* new ContentLengthRequired({
      message: "Header `Content-Length` is required."
    })
  if (Number(text) > CONTENT_BYTES_MAX)
    return yield* new ContentTooLarge({ message: `Content is at most ${CONTENT_BYTES_MAX} bytes long.` })
  const coding = headers["content-encoding"]?.trim().toLowerCase() ?? ""
  if (coding !== "" && coding !== "identity")
    return yield* inputInvalid("content-encoding", "None: content is kept as it is sent")
  return Number(text)
})
/** The media type that the sender states, unless it is the generic one that browsers' forms and `curl` send. */
const sentType = (headers: IncomingHttpHeaders): string | undefined => {
  const type = headers["content-type"]
  return type === undefined || !isMediaType(type) || type.startsWith("application/x-www-form-urlencoded")
    ? undefined
    : normalizedType(type)
}

/** The image is checked, and paid for, before anything is stored. */
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
