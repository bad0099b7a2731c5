/** An image in a body: the bytes themselves, or JSON that contains them as base64. Pure. */
import { parseBounded, parseRefusals, textOf } from "../http/body.ts"
import { type Issue, invalidFields, issuesIn } from "../http/checks.ts"
import { InputInvalid, inputInvalid } from "../http/errors.ts"
import { isObject } from "../http/json-fields.ts"
import { formatOf, NO_IMAGE } from "../ports/image-process/format.ts"

/** An image as base64, plus its JSON envelope. */
export const IMAGE_BODY_BYTES_MAX = 11_000_000
/** Raw bytes, or JSON. */
export const IMAGE_MEDIA = ["image/png", "image/jpeg", "image/webp", "image/avif", "image/gif", "application/json"]

const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d])
/** No image begins like this. */
export const isJsonBody = (bytes: Uint8Array): boolean => {
  let at = 0
  while (at < bytes.length && SPACES.has(bytes[at]!)) at++
  return bytes[at] === 0x7b
}
export const jsonBody = (bytes: Uint8Array): Readonly<Record<string, unknown>> | InputInvalid => {
  const parsed = parseBounded(textOf(bytes))
  if (typeof parsed !== "object")
    return inputInvalid("body", new Map(Object.entries(parseRefusals)).get(parsed) ?? "JSON")
  return isObject(parsed.value) ? parsed.value : inputInvalid("body", "An object")
}
/** With or without the prefix of a `data:` address; undefined if it is not base64. */
export const base64Of = (value: unknown): Buffer | undefined => {
  if (typeof value !== "string") return undefined
  const text = value.startsWith("data:image/") ? value.slice(value.indexOf(",") + 1) : value
  const bytes = Buffer.from(text, "base64")
  return text.length > 0 && /^[A-Za-z0-9+/_-]+={0,2}\s*$/.test(text) ? bytes : undefined
}

interface ImageBody {
  readonly bytes: Uint8Array
  readonly filename: string | undefined
  /** Which part of the request contains the bytes. */ readonly path: string
}
/** Refuses a body that does not begin like an image, before any work is spent on it. */
const takenImage = (image: ImageBody): ImageBody | InputInvalid =>
  formatOf(image.bytes) === undefined ? inputInvalid(image.path, NO_IMAGE) : image

export const imageBodyOf = (
  bytes: Buffer,
  filenameRefusal: (text: string) => string | undefined
): ImageBody | InputInvalid => {
  if (!isJsonBody(bytes))
    return bytes.length === 0
      ? inputInvalid("body", "An image, or JSON that has one as base64 in `image`")
      : takenImage({ bytes, filename: undefined, path: "body" })
  const body = jsonBody(bytes)
  if (body instanceof InputInvalid) return body
  const { filename, image, ...others } = body
  const picture = base64Of(image)
  const issues: ReadonlyArray<Issue> = [
    ...issuesIn([
      ["image", picture === undefined ? "An image as base64" : undefined],
      [
        "filename",
        filename === undefined ? undefined : typeof filename === "string" ? filenameRefusal(filename) : "A text"
      ]
    ]),
    ...Object.keys(others)
      .slice(0, 50)
      .map((path) => ({ path: path.slice(0, 80), message: "Unexpected key" }))
  ]
  return picture === undefined || issues.length > 0
    ? invalidFields(issues)
    : takenImage({ bytes: picture, filename: filename as string | undefined, path: "image" })
}
