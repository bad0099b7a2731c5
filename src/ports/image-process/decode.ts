/**
 * Decodes with libvips, using only the loaders of the formats that we accept. Runs in the isolated process
 * (`image-worker.ts`), and in tests and benches.
 */
import sharp, { type Sharp } from "sharp"
import type { Pixels } from "../image-embedder/descriptors/pixels.ts"
import type { ImageFormat } from "./format.ts"
import { IMAGE_PIXELS_MAX, KEPT_SIDE_MAX, type KeptImage } from "./image-process.ts"

sharp.block({ operation: ["VipsForeignLoad"] })
sharp.unblock({
  operation: [
    "VipsForeignLoadJpegBuffer",
    "VipsForeignLoadPngBuffer",
    "VipsForeignLoadWebpBuffer",
    "VipsForeignLoadHeifBuffer",
    "VipsForeignLoadNsgifBuffer"
  ]
})
sharp.concurrency(1)
sharp.cache(false)

/** Its message is for the sender of the image. */
export class PictureRefused extends Error {}

const JPEG_QUALITY = 92
const WEBP_QUALITY = 92
/** Side of the image from which descriptors are computed, before its border is detected. */
const DESCRIBED_SIDE = 160

const opened = async (bytes: Uint8Array, format: ImageFormat): Promise<Sharp> => {
  const picture = sharp(bytes, { limitInputPixels: IMAGE_PIXELS_MAX, failOn: "truncated", sequentialRead: true })
  const { format: found, height, width } = await picture.metadata()
  const expected = format === "avif" ? "heif" : format
  if (found !== expected) throw new PictureRefused("The bytes are not those of the format that they begin as.")
  if (width * height > IMAGE_PIXELS_MAX)
    throw new PictureRefused(
      `The image has ${width} × ${height} pixels; at most ${IMAGE_PIXELS_MAX / 1_000_000} million are taken.`
    )
  return picture
}
/** A decoder's message is not meant for users, and may contain anything. */
const refusal = (error: unknown): PictureRefused =>
  error instanceof PictureRefused
    ? error
    : new PictureRefused(
        /pixel limit/i.test(String(error))
          ? `The image has more than ${IMAGE_PIXELS_MAX / 1_000_000} million pixels.`
          : /memory/i.test(String(error))
            ? "The image takes too much memory to decode."
            : "The image is broken, or ends early."
      )

/** Animations are not kept: an image of one frame needs no animated format. */
const encodedAs = (picture: Sharp, format: ImageFormat): readonly [Sharp, string] => {
  if (format === "jpeg") return [picture.jpeg({ quality: JPEG_QUALITY }), "image/jpeg"]
  if (format === "png" || format === "gif") return [picture.png({ compressionLevel: 6 }), "image/png"]
  return [picture.webp({ quality: WEBP_QUALITY, effort: 2 }), "image/webp"]
}

export const keptImage = async (bytes: Uint8Array, format: ImageFormat): Promise<KeptImage> => {
  try {
    const picture = (await opened(bytes, format)).autoOrient().resize({
      width: KEPT_SIDE_MAX,
      height: KEPT_SIDE_MAX,
      fit: "inside",
      withoutEnlargement: true
    })
    const [encoded, contentType] = encodedAs(picture, format)
    const { data, info } = await encoded.toBuffer({ resolveWithObject: true })
    return { bytes: data, contentType, width: info.width, height: info.height }
  } catch (error) {
    throw refusal(error)
  }
}

/** Rotated upright, at most 160 pixels on a side. */
export const pixelsOf = async (bytes: Uint8Array, format: ImageFormat): Promise<Pixels> => {
  try {
    const picture = await opened(bytes, format)
    const { data, info } = await picture
      .autoOrient()
      .resize({ width: DESCRIBED_SIDE, height: DESCRIBED_SIDE, fit: "inside", withoutEnlargement: true })
      .toColourspace("srgb")
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true })
    return { width: info.width, height: info.height, data }
  } catch (error) {
    throw refusal(error)
  }
}
