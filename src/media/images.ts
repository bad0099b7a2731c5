/**
 * Uploaded images, to search with or to show: checked by their bytes, and stored without anything but their pixels.
 *
 * Decision: an image uploaded with a search key belongs to a visitor, who has no key to delete it, so it is kept for 24
 * hours, and no event announces it.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { Identifiers } from "@dowser/log/identifiers"
import { type InputInvalid, inputInvalid, Throttled } from "../http/errors.ts"
import type { Caller } from "../identity/caller.ts"
import { IMAGE_BYTES_MAX, type ImageFailure, ImageProcess } from "../ports/image-process/image-process.ts"
import type { StoredAsset } from "./assets-repository.ts"
import { Media } from "./media.ts"
import type { StoreFailure } from "./storing.ts"

const VISITORS_MS = 24 * 3_600_000
const RETRY_AFTER_S = 5

/** Maps failures of an image; a missing process is a defect. */
const imageRefusal =
  (path: string) =>
  (failure: ImageFailure): Effect.Effect<never, InputInvalid | Throttled> => {
    if (failure.kind === "refused") return Effect.fail(inputInvalid(path, failure.message))
    if (failure.kind === "failed") return Effect.die(new Error(failure.message))
    return Effect.fail(new Throttled({ message: failure.message, kind: "backpressure", retry_after_s: RETRY_AFTER_S }))
  }
const tooLargeImage = (path: string): InputInvalid =>
  inputInvalid(path, `An image is at most ${IMAGE_BYTES_MAX} bytes long.`)

async function* once(bytes: Uint8Array) {
  yield bytes
}

export class Images extends Context.Service<
  Images,
  {
    /** `path` is the part of the request with the bytes, for errors. */
    readonly add: (
      caller: Caller,
      image: { readonly bytes: Uint8Array; readonly filename: string | undefined; readonly path: string }
    ) => Effect.Effect<StoredAsset, StoreFailure | Throttled>
  }
>()("dowser/media/Images") {
  static readonly layer: Layer.Layer<Images, never, Identifiers | ImageProcess | Media> = Layer.effect(
    Images,
    Effect.gen(function* () {
      const media = yield* Media
      const pictures = yield* ImageProcess
      const identifiers = yield* Identifiers
      return Images.of({
        add: Effect.fn("Images.add")(function* ({ organizationId, scope }, { bytes, filename, path }) {
          if (bytes.length > IMAGE_BYTES_MAX) return yield* tooLargeImage(path)
          const kept = yield* Effect.catch(pictures.keep(organizationId, bytes), imageRefusal(path))
          const now = yield* Clock.currentTimeMillis
          const asset: StoredAsset = {
            id: yield* identifiers.make("med"),
            organization_id: organizationId,
            kind: "image",
            filename: filename ?? null,
            content_type: kept.contentType,
            size: null,
            sha256: null,
            blob: null,
            width: kept.width,
            height: kept.height,
            created_at: now,
            updated_at: now,
            expires_at: scope === "full" ? null : now + VISITORS_MS
          }
          return yield* media.add(asset, {
            length: kept.bytes.length,
            pieces: once(kept.bytes),
            contentType: undefined,
            isAllowed: Effect.void
          })
        })
      })
    })
  )
}
