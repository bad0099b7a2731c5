/**
 * Finds the product in its image: what remains without a frame and the background. A frame is a border of one colour,
 * about equally wide on every side; background is transparent, nearly white, or of the colour that all four corners
 * have. Pure.
 */
import type { Pixels } from "./pixels.ts"

export interface Box {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}
const WHITE = 240
const ALPHA = 24
/** Largest difference per channel between colours that count as the same. */
const ALIKE = 14
/** The share of background pixels that makes a row or column background. */
const GROUND_SHARE = 0.985
const SIDE_MIN = 8
/** Maximum width as a share of the side; a wider border counts as background. */
const FRAME_MAX = 0.12
/** Compression blurs the edge between a frame and what is next to it. */
const FRAME_BLUR = 2

type Colour = readonly [red: number, green: number, blue: number]
const whole = ({ height, width }: Pixels): Box => ({ left: 0, top: 0, width, height })
const isColour = ({ data }: Pixels, pixel: number, [red, green, blue]: Colour): boolean => {
  const at = pixel * 4
  return (
    data[at + 3]! >= ALPHA &&
    Math.abs(data[at]! - red) <= ALIKE &&
    Math.abs(data[at + 1]! - green) <= ALIKE &&
    Math.abs(data[at + 2]! - blue) <= ALIKE
  )
}
/** Returns undefined if the corners differ. */
const cornerColour = (pixels: Pixels, { height, left, top, width }: Box): Colour | undefined => {
  const first = top * pixels.width + left,
    last = first + (height - 1) * pixels.width
  const at = first * 4
  const colour: Colour = [pixels.data[at]!, pixels.data[at + 1]!, pixels.data[at + 2]!]
  return [first, first + width - 1, last, last + width - 1].every((corner) => isColour(pixels, corner, colour))
    ? colour
    : undefined
}

/** Trims background rows and columns from the sides of a box. */
const withoutGround = (pixelsWide: number, box: Box, isGround: (pixel: number) => boolean): Box => {
  let { left, top } = box,
    right = left + box.width,
    bottom = top + box.height
  const isLine = (from: number, step: number, n: number): boolean => {
    let count = 0
    for (let i = 0, at = from; i < n; i++, at += step) if (isGround(at)) count++
    return count >= GROUND_SHARE * n
  }
  while (top < bottom && isLine(top * pixelsWide + left, 1, right - left)) top++
  while (bottom > top && isLine((bottom - 1) * pixelsWide + left, 1, right - left)) bottom--
  while (left < right && isLine(top * pixelsWide + left, pixelsWide, bottom - top)) left++
  while (right > left && isLine(top * pixelsWide + right - 1, pixelsWide, bottom - top)) right--
  return { left, top, width: right - left, height: bottom - top }
}
/** The image within its frame, or the entire image. */
const withoutFrame = (pixels: Pixels): Box => {
  const all = whole(pixels)
  const colour = cornerColour(pixels, all)
  if (colour === undefined || colour.every((channel) => channel >= WHITE)) return all
  const inner = withoutGround(pixels.width, all, (pixel) => isColour(pixels, pixel, colour))
  const { height, width } = pixels
  const sides = [
    inner.left / width,
    inner.top / height,
    1 - (inner.left + inner.width) / width,
    1 - (inner.top + inner.height) / height
  ]
  const isFrame = sides.every((side) => side > 0 && side <= FRAME_MAX) && Math.max(...sides) <= 3 * Math.min(...sides)
  if (!isFrame || inner.width < 4 * SIDE_MIN || inner.height < 4 * SIDE_MIN) return all
  return {
    left: inner.left + FRAME_BLUR,
    top: inner.top + FRAME_BLUR,
    width: inner.width - 2 * FRAME_BLUR,
    height: inner.height - 2 * FRAME_BLUR
  }
}

interface Product {
  readonly box: Box
  /** 1 where a pixel of the entire image is background. */ readonly ground: Uint8Array
}
/** If nothing but background remains, or hardly anything else, the box is everything within the frame. */
export const productIn = (pixels: Pixels): Product => {
  const { data, height, width } = pixels
  const framed = withoutFrame(pixels)
  const colour = cornerColour(pixels, framed)
  const ground = new Uint8Array(width * height)
  for (let i = 0, at = 0; i < ground.length; i++, at += 4) {
    const isWhite = data[at]! >= WHITE && data[at + 1]! >= WHITE && data[at + 2]! >= WHITE
    if (isWhite || data[at + 3]! < ALPHA || (colour !== undefined && isColour(pixels, i, colour))) ground[i] = 1
  }
  const box = withoutGround(width, framed, (pixel) => ground[pixel] === 1)
  return { ground, box: box.width < SIDE_MIN || box.height < SIDE_MIN ? framed : box }
}
