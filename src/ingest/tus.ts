/**
 * The core of tus 1.0 and its extensions creation, checksum, expiration and termination: parses request headers and
 * builds response headers. Pure.
 */
import { Effect } from "effect"
import type { IncomingHttpHeaders } from "node:http"
import { inputInvalid } from "../http/errors.ts"
import { LengthRequired, TusVersionUnknown } from "./errors.ts"
import { FEED_BYTES_MAX } from "./feeds/kept-feeds.ts"
import { type Checksum, CHECKSUMS, type UploadState } from "./uploads.ts"

const VERSION = "1.0.0"
const METADATA_CHARACTERS_MAX = 4_000
const integerIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
const textOf = (value: string | ReadonlyArray<string> | undefined): string | undefined =>
  typeof value === "string" ? value : undefined

export const requireVersion = (headers: IncomingHttpHeaders) =>
  headers["tus-resumable"] === VERSION
    ? Effect.void
    : Effect.fail(
        new TusVersionUnknown({
          message: `Header \`Tus-Resumable: ${VERSION}\` is required: no other version is spoken.`
        })
      )
export const lengthIn = (headers: IncomingHttpHeaders) => {
  const length = integerIn(textOf(headers["upload-length"]))
  return length === undefined || length === 0
    ? Effect.fail(new LengthRequired({ message: "Header `Upload-Length` is required: how many bytes there will be." }))
    : Effect.succeed(length)
}
export const offsetIn = (headers: IncomingHttpHeaders) => {
  const offset = integerIn(textOf(headers["upload-offset"]))
  return offset === undefined
    ? Effect.fail(inputInvalid("Upload-Offset", "Where the body begins, in bytes"))
    : Effect.succeed(offset)
}
/** Stored as it was sent, to be returned. */
export const metadataIn = (headers: IncomingHttpHeaders) => {
  const metadata = textOf(headers["upload-metadata"])
  return metadata !== undefined && metadata.length > METADATA_CHARACTERS_MAX
    ? Effect.fail(inputInvalid("Upload-Metadata", `At most ${METADATA_CHARACTERS_MAX} characters`))
    : Effect.succeed(metadata)
}
export const checksumIn = (headers: IncomingHttpHeaders) => {
  const given = textOf(headers["upload-checksum"])
  if (given === undefined) return Effect.succeed(undefined)
  const [name, digest] = given.trim().split(/\s+/)
  const algorithm = CHECKSUMS.find((each) => each === name)
  return algorithm === undefined || digest === undefined
    ? Effect.fail(inputInvalid("Upload-Checksum", `One of ${CHECKSUMS.join(", ")}, and the digest in base64`))
    : Effect.succeed<Checksum | undefined>({ algorithm, digest })
}

const EXPOSED =
  "location, upload-offset, upload-length, upload-expires, upload-metadata, tus-resumable, tus-max-size, x-ingest-job, x-request-id, retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset"
export const headersOf = ({
  expires_at,
  job_id,
  length,
  metadata,
  offset
}: UploadState): Readonly<Record<string, string>> => ({
  "access-control-expose-headers": EXPOSED,
  "cache-control": "no-store",
  "tus-resumable": VERSION,
  "tus-max-size": String(FEED_BYTES_MAX),
  "upload-offset": String(offset),
  "upload-length": String(length),
  "upload-expires": new Date(expires_at).toUTCString(),
  ...(metadata === undefined ? {} : { "upload-metadata": metadata }),
  ...(job_id === undefined ? {} : { "x-ingest-job": job_id })
})
