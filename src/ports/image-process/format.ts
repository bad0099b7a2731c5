/** Detects the image format by the first bytes, whatever the file's name or type says. Pure. */

const FORMATS = ["jpeg", "png", "webp", "avif", "gif"] as const
export const NO_IMAGE = `An image is one of ${FORMATS.join(", ")}.`
export type ImageFormat = (typeof FORMATS)[number]

const startsWith = (bytes: Uint8Array, at: number, text: string): boolean => {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false
  return true
}
export const formatOf = (bytes: Uint8Array): ImageFormat | undefined => {
  if (startsWith(bytes, 0, "\xff\xd8\xff")) return "jpeg"
  if (startsWith(bytes, 0, "\x89PNG\r\n\x1a\n")) return "png"
  if (startsWith(bytes, 0, "RIFF") && startsWith(bytes, 8, "WEBP")) return "webp"
  if (startsWith(bytes, 4, "ftypavif") || startsWith(bytes, 4, "ftypavis")) return "avif"
  if (startsWith(bytes, 0, "GIF87a") || startsWith(bytes, 0, "GIF89a")) return "gif"
  return undefined
}
