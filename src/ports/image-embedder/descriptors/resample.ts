/** Scales a part of an image to a square of a fixed size, by the mean of what each pixel covers. Pure. */
import type { Box } from "./border.ts"
import type { Pixels } from "./pixels.ts"

/** Side of the square from which descriptors are computed. */
export const SIDE = 128
export interface Square {
  /** Composed onto white, 0..255. */ readonly red: Float32Array
  readonly green: Float32Array
  readonly blue: Float32Array
  /** 0..1: how much of the pixel is not background. */ readonly product: Float32Array
}

/** For each of `SIDE` cells along an axis: the first pixel, and the share of each pixel from there on. */
const sharesOf = (start: number, length: number, limit: number): ReadonlyArray<readonly [number, Float32Array]> =>
  Array.from({ length: SIDE }, (_, i) => {
    const scale = length / SIDE
    // If a pixel is larger than a cell, interpolates between the two nearest pixels.
    const from = scale >= 1 ? start + i * scale : start + (i + 0.5) * scale - 0.5
    const to = scale >= 1 ? from + scale : from + 1
    const first = Math.min(limit - 1, Math.max(0, Math.floor(from)))
    const last = Math.min(limit - 1, Math.max(first, Math.ceil(to) - 1))
    const shares = new Float32Array(last - first + 1)
    let sum = 0
    for (let at = first; at <= last; at++) {
      const share = Math.max(0, Math.min(to, at + 1) - Math.max(from, at))
      shares[at - first] = share
      sum += share
    }
    if (sum === 0) shares[0] = sum = 1
    for (let at = 0; at < shares.length; at++) shares[at]! /= sum
    return [first, shares] as const
  })

export const squareOf = ({ data, height, width }: Pixels, ground: Uint8Array, box: Box): Square => {
  const n = SIDE * SIDE
  const red = new Float32Array(n),
    green = new Float32Array(n),
    blue = new Float32Array(n),
    product = new Float32Array(n)
  const columns = sharesOf(box.left, box.width, width)
  const rows = sharesOf(box.top, box.height, height)
  for (let y = 0; y < SIDE; y++) {
    const [top, down] = rows[y]!
    for (let x = 0; x < SIDE; x++) {
      const [left, across] = columns[x]!
      let r = 0,
        g = 0,
        b = 0,
        p = 0
      for (let j = 0; j < down.length; j++) {
        const row = (top + j) * width + left
        for (let i = 0; i < across.length; i++) {
          const share = down[j]! * across[i]!
          const at = (row + i) * 4
          const alpha = data[at + 3]! / 255
          const white = 255 * (1 - alpha)
          r += share * (data[at]! * alpha + white)
          g += share * (data[at + 1]! * alpha + white)
          b += share * (data[at + 2]! * alpha + white)
          p += share * (1 - ground[row + i]!)
        }
      }
      const to = y * SIDE + x
      red[to] = r
      green[to] = g
      blue[to] = b
      product[to] = p
    }
  }
  return { red, green, blue, product }
}
/** Perceived brightness, 0..255. */
export const brightnessOf = ({ blue, green, red }: Square): Float32Array => {
  const brightness = new Float32Array(red.length)
  for (let i = 0; i < red.length; i++) brightness[i] = 0.299 * red[i]! + 0.587 * green[i]! + 0.114 * blue[i]!
  return brightness
}
