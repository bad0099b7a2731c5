/**
 * Colours as 64 classes: eight greys, and fourteen hues in two saturations and two brightnesses. A colour between
 * classes contributes to each, so that a little noise changes little; nearly colourless pixels count as grey, because
 * their hue is meaningless. Pure.
 */
import { SIDE, type Square } from "./resample.ts"

export const COLOURS = 64
const GREYS = 8
const HUES = 14
/** Classes are computed at half the resolution, from the mean of four pixels. */
export const COARSE = SIDE / 2

/** 0 below `from`, 1 above `to`. */
const ramp = (value: number, from: number, to: number): number =>
  value <= from ? 0 : value >= to ? 1 : (value - from) / (to - from)

/** Adds the shares of a colour at `base`; their sum is `weight`. */
const share = (shares: Float32Array, base: number, weight: number, red: number, green: number, blue: number): void => {
  const most = Math.max(red, green, blue),
    least = Math.min(red, green, blue)
  const span = most - least
  // A mean of values of 255 may be slightly more because of rounding.
  const value = Math.min(1, most / 255)
  const saturation = most === 0 ? 0 : span / most
  const colourful = ramp(saturation, 0.1, 0.26) * ramp(value, 0.1, 0.24)
  if (colourful < 1) {
    const place = value * (GREYS - 1)
    const low = Math.min(GREYS - 2, Math.floor(place))
    const grey = weight * (1 - colourful)
    shares[base + low]! += grey * (1 - place + low)
    shares[base + low + 1]! += grey * (place - low)
  }
  if (colourful === 0) return
  const sixth =
    most === red ? ((green - blue) / span + 6) % 6 : most === green ? (blue - red) / span + 2 : (red - green) / span + 4
  const hue = (sixth / 6) * HUES
  const first = Math.floor(hue) % HUES,
    second = (first + 1) % HUES,
    beyond = hue - Math.floor(hue)
  const strong = ramp(saturation, 0.4, 0.7),
    bright = ramp(value, 0.45, 0.75)
  const colour = weight * colourful
  for (const [own, part] of [
    [first, 1 - beyond],
    [second, beyond]
  ] as const) {
    const at = base + GREYS + own * 4
    shares[at]! += colour * part * (1 - strong) * (1 - bright)
    shares[at + 1]! += colour * part * (1 - strong) * bright
    shares[at + 2]! += colour * part * strong * (1 - bright)
    shares[at + 3]! += colour * part * strong * bright
  }
}

/** The share of each class in each cell of the coarse square; a cell's shares sum up to its share of product. */
export const colourSharesOf = ({ blue, green, product, red }: Square, isAll: boolean): Float32Array => {
  const shares = new Float32Array(COARSE * COARSE * COLOURS)
  const mean = (of: Float32Array, at: number) => (of[at]! + of[at + 1]! + of[at + SIDE]! + of[at + SIDE + 1]!) / 4
  for (let y = 0; y < COARSE; y++)
    for (let x = 0; x < COARSE; x++) {
      const at = 2 * (y * SIDE + x)
      const weight = isAll ? 1 : mean(product, at)
      // Skipped, because a cell that is mostly background would have a mixed colour.
      if (weight < 0.5) continue
      share(shares, (y * COARSE + x) * COLOURS, weight, mean(red, at), mean(green, at), mean(blue, at))
    }
  return shares
}
