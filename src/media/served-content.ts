/**
 * How content is served. A tenant may upload any bytes with any media type, and a browser that opens them here must not
 * run them. It displays what it only decodes (images, audio, video), downloads the rest, and must not guess types.
 */
import { UNKNOWN_TYPE } from "./schema.ts"
import type { StoredAsset } from "./assets-repository.ts"

/** Not SVG, which is a document with scripts. */
const IMAGES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/webp", "image/avif", "image/gif"])
const isShown = (type: string): boolean => {
  const [essence = ""] = type.split(";")
  return IMAGES.has(essence) || /^(audio|video)\/[a-z0-9.+-]+$/.test(essence)
}
/** RFC 6266: ASCII letters for old clients, everything for others. */
const namedAs = (filename: string): string => {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, "_")
  const whole = encodeURIComponent(filename).replace(
    /['()*!]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`
  )
  return `; filename="${plain}"; filename*=UTF-8''${whole}`
}
export const typeOf = ({ content_type }: Pick<StoredAsset, "content_type">): string => content_type ?? UNKNOWN_TYPE
export const etagOf = ({ sha256 }: Pick<StoredAsset, "sha256">): string => `"${sha256}"`

export const servedHeaders = (asset: StoredAsset): Readonly<Record<string, string>> => ({
  etag: etagOf(asset),
  "accept-ranges": "bytes",
  "cache-control": "private, max-age=31536000, immutable",
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; sandbox",
  "content-disposition": `${isShown(typeOf(asset)) ? "inline" : "attachment"}${asset.filename === null ? "" : namedAs(asset.filename)}`
})
