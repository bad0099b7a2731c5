/**
 * Bytes of the image that a field of a document names: the image itself as base64, an image among the organization's
 * media (`med_…`), or a URL that is fetched. An organization may fetch a few URLs at a time.
 */
import { Effect, Stream } from "effect"
import type { EngineError } from "@dowser/engine-sdk"
import { BlobStore } from "../ports/blob-store/blob-store.ts"
import type { PictureBytes } from "../ports/embedder/pictures.ts"
import { formatOf, NO_IMAGE } from "../ports/image-process/format.ts"
import { IMAGE_BYTES_MAX } from "../ports/image-process/image-process.ts"
import { ACCEPTED_ENCODINGS, decoded } from "../ports/outbound-http/decode.ts"
import { openFollowing } from "../ports/outbound-http/follow.ts"
import { OrganizationLines } from "../ports/organization-lines.ts"
import { OutboundHttp, type OutboundFailure } from "../ports/outbound-http/outbound-http.ts"
import { makeAssetsRepository } from "./assets-repository.ts"
import { base64Of } from "./image-body.ts"

const FETCHES_MAX = 4
const HOP_MS = 5_000,
  FETCH_MS = 15_000
const SHOWN_MAX = 200

const refused = (message: string): EngineError => ({ kind: "Invalid", message })
const later = (message: string): EngineError => ({ kind: "Unavailable", message, isThere: true })
const tooLarge = `An image is at most ${IMAGE_BYTES_MAX} bytes long.`

/** All bytes, at most as many as an image may have. */
const collected = (pieces: AsyncIterable<Uint8Array>): Effect.Effect<Uint8Array, EngineError> =>
  Effect.tryPromise({
    try: async () => {
      const parts: Array<Uint8Array> = []
      let length = 0
      for await (const piece of pieces) {
        length += piece.length
        if (length > IMAGE_BYTES_MAX) throw new RangeError(tooLarge)
        parts.push(piece)
      }
      return Buffer.concat(parts)
    },
    catch: (error) => (error instanceof RangeError ? refused(tooLarge) : later("The picture could not be read."))
  })

const makeMedia = Effect.gen(function* () {
  const repository = yield* makeAssetsRepository
  const blobs = yield* BlobStore
  return Effect.fnUntraced(function* (organizationId: string, id: string) {
    const asset = yield* Effect.mapError(repository.get(organizationId, id), () =>
      later("The media cannot be read at the moment.")
    )
    if (asset === undefined || asset.blob === null)
      return yield* Effect.fail(refused(`There is no image \`${id}\` among the media.`))
    const stream = yield* Effect.mapError(blobs.get({ organizationId, id: asset.blob }), ({ kind }) =>
      kind === "missing"
        ? refused(`There is no image \`${id}\` among the media.`)
        : later("The media cannot be read at the moment.")
    )
    return yield* collected(stream)
  })
})

/** Permanent failures are refused; transient ones are retried with the next write. */
const isFinal = ({ kind }: OutboundFailure): boolean =>
  kind === "refused_address" || kind === "refused_redirect" || kind === "too_large" || kind === "undecodable"
const makeFetch = Effect.gen(function* () {
  const http = yield* OutboundHttp
  const lines = new OrganizationLines(FETCHES_MAX)
  const fetched = Effect.fnUntraced(function* (url: string) {
    const shown = url.slice(0, SHOWN_MAX)
    const failed = (failure: OutboundFailure): EngineError =>
      (isFinal(failure) ? refused : later)(`The picture at ${shown} cannot be had: ${failure.message}`)
    const answer = yield* Effect.mapError(
      openFollowing(http, {
        url,
        headers: { accept: "image/*", "accept-encoding": ACCEPTED_ENCODINGS },
        timeout_ms: HOP_MS,
        total_ms: FETCH_MS,
        silence_ms: HOP_MS,
        responseBytesMax: IMAGE_BYTES_MAX
      }),
      failed
    )
    if (answer.status !== 200)
      return yield* Effect.fail(
        (answer.status < 500 && answer.status !== 429 ? refused : later)(
          `The picture at ${shown} cannot be had: it answered ${answer.status}.`
        )
      )
    const encoding = answer.headers["content-encoding"]
    const body = decoded(answer.body, { encoding, bytesMax: IMAGE_BYTES_MAX })
    return Buffer.concat(yield* Effect.mapError(Stream.runCollect(body), failed))
  })
  return (organizationId: string, url: string) => lines.of(organizationId).withPermits(1)(Effect.scoped(fetched(url)))
})

export const makePictureBytes = Effect.gen(function* () {
  const ofMedia = yield* makeMedia
  const fetched = yield* makeFetch
  const bytes = (organizationId: string, source: string): Effect.Effect<Uint8Array, EngineError> => {
    if (/^med_[A-Za-z0-9]{1,40}$/.test(source)) return ofMedia(organizationId, source)
    if (/^https?:/i.test(source)) return fetched(organizationId, source)
    const own = base64Of(source)
    return own === undefined
      ? Effect.fail(
          refused("A picture is base64, the id of an image among the media (`med_…`), or an http(s) address.")
        )
      : Effect.succeed(own)
  }
  return ((organizationId, source) =>
    Effect.flatMap(bytes(organizationId, source), (picture) =>
      picture.length > IMAGE_BYTES_MAX
        ? Effect.fail(refused(tooLarge))
        : formatOf(picture) === undefined
          ? Effect.fail(refused(NO_IMAGE))
          : Effect.succeed(picture)
    )) satisfies PictureBytes
})
