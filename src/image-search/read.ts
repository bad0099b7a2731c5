/** Parses a request of an image search: which picture, and the parameters of the search. Pure. */
import type { Issue } from "../http/checks.ts"
import { InputInvalid } from "../http/errors.ts"
import { base64Of, isJsonBody, jsonBody } from "../media/image-body.ts"
import { bodyParameters } from "../search/body-parameters.ts"
import { formatOf, NO_IMAGE } from "../ports/image-process/format.ts"

/** The bytes, and their path in the request; or which media to read. */
export type AskedPicture = { readonly bytes: Uint8Array; readonly path: string } | { readonly mediaId: string }
interface Read {
  readonly issues: ReadonlyArray<Issue>
  readonly values: Readonly<Record<string, string>>
  /** Present if the request is valid. */ readonly picture?: AskedPicture
}

const noWords = (name: string, value: string): string | undefined =>
  name === "q" && !["", "*"].includes(value.trim())
    ? "An image search takes no words: its field is made of pictures"
    : undefined
/** `x-svc-api-key` and the like may be in a query, but are not search parameters. */
const isParameter = ([name]: readonly [string, unknown]): boolean => !name.startsWith("x-")
const wrong = (path: string, message: string): Read => ({ issues: [{ path, message }], values: {} })

const pictureIn = (mediaId: unknown, image: unknown): AskedPicture | Issue => {
  if ((mediaId === undefined) === (image === undefined))
    return { path: image === undefined ? "image" : "media_id", message: "Exactly one of `image` and `media_id`" }
  if (mediaId !== undefined)
    return typeof mediaId === "string" && mediaId.length <= 100
      ? { mediaId }
      : { path: "media_id", message: "The id of an image, `med_…`" }
  const bytes = base64Of(image)
  if (bytes === undefined) return { path: "image", message: "An image as base64" }
  return formatOf(bytes) === undefined ? { path: "image", message: NO_IMAGE } : { bytes, path: "image" }
}

/** `search` contains the parameters of the query string. */
export const readImageSearch = (bytes: Buffer, search: Readonly<Record<string, string>>): Read => {
  const query = Object.fromEntries(Object.entries(search).filter(isParameter))
  if (!isJsonBody(bytes)) {
    if (bytes.length === 0) return wrong("body", "An image, or JSON that has `image` or `media_id`")
    if (formatOf(bytes) === undefined) return wrong("body", NO_IMAGE)
    return { ...bodyParameters(query, noWords), picture: { bytes, path: "body" } }
  }
  const body = jsonBody(bytes)
  if (body instanceof InputInvalid) return { issues: body.issues, values: {} }
  const { image, media_id: mediaId, ...parameters } = body
  const { issues, values } = bodyParameters({ ...query, ...parameters }, noWords)
  const picture = pictureIn(mediaId, image)
  return "message" in picture ? { issues: [picture, ...issues], values } : { issues, values, picture }
}
