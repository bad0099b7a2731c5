/**
 * What a picture looks like, as one vector of length one: how its colours lie together, where they are, which way its
 * edges run (`LOOK` numbers), and behind them the bits of its hashes with a small weight, so that two vectors alone
 * tell whether they are of one picture. Pure.
 */
import { productIn } from "./border.ts"
import { COLOUR_GRID, colourGridOf } from "./colour-grid.ts"
import { colourSharesOf } from "./colours.ts"
import { CORRELOGRAM, correlogramOf } from "./correlogram.ts"
import { GRADIENTS, gradientsOf } from "./gradients.ts"
import { HASH_BITS, hashBitsOf } from "./hashes.ts"
import type { Pixels } from "./pixels.ts"
import { Projection } from "./projection.ts"
import { brightnessOf, squareOf } from "./resample.ts"

export const LOOK = 256
export const LOOK_ALIKE_DIMENSIONS = LOOK + HASH_BITS
/** Another one with every change of what a picture's vector is. */
export const LOOK_ALIKE_VERSION = "look-alike-1"
const WEIGHTS = { correlogram: 0.4, grid: 0.25, gradients: 0.35 }
/** Of the squared length that the bits have. */
const HASH_SHARE = 0.2

const projection = new Projection(CORRELOGRAM + COLOUR_GRID + GRADIENTS, LOOK)

/** To length `length`; what is zero stays so. */
const scaled = (numbers: Float32Array, length: number): Float32Array => {
  let sum = 0
  for (const number of numbers) sum += number * number
  if (sum === 0) return numbers
  const by = length / Math.sqrt(sum)
  for (let i = 0; i < numbers.length; i++) numbers[i]! *= by
  return numbers
}
/** Less of a product than this, of all pixels, is none: then the ground is looked at too. */
const PRODUCT_MIN = 0.03

export const lookAlikeOf = (pixels: Pixels): Float32Array => {
  const { box, ground } = productIn(pixels)
  const square = squareOf(pixels, ground, box)
  let product = 0
  for (const one of square.product) product += one
  const shares = colourSharesOf(square, product < PRODUCT_MIN * square.product.length)
  const brightness = brightnessOf(square)
  const features = new Float32Array(CORRELOGRAM + COLOUR_GRID + GRADIENTS)
  features.set(scaled(correlogramOf(shares), Math.sqrt(WEIGHTS.correlogram)))
  features.set(scaled(colourGridOf(shares), Math.sqrt(WEIGHTS.grid)), CORRELOGRAM)
  features.set(scaled(gradientsOf(brightness), Math.sqrt(WEIGHTS.gradients)), CORRELOGRAM + COLOUR_GRID)
  const vector = new Float32Array(LOOK_ALIKE_DIMENSIONS)
  vector.set(scaled(projection.project(features), Math.sqrt(1 - HASH_SHARE)))
  vector.set(scaled(hashBitsOf(brightness), Math.sqrt(HASH_SHARE)), LOOK)
  return vector
}
