/**
 * What an image looks like, as one unit vector: how its colours are arranged, where they are, and the direction of its
 * edges (`LOOK` numbers), followed by the bits of its hashes with a small weight, so that two vectors alone show
 * whether they are of the same image. Pure.
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
/** Must change whenever the computation of an image's vector changes. */
export const LOOK_ALIKE_VERSION = "look-alike-1"
const WEIGHTS = { correlogram: 0.4, grid: 0.25, gradients: 0.35 }
/** Share of the squared length that the hash bits get. */
const HASH_SHARE = 0.2

const projection = new Projection(CORRELOGRAM + COLOUR_GRID + GRADIENTS, LOOK)

/** The numbers scaled to `length`; zeros stay zeros. */
const scaled = (numbers: Float32Array, length: number): Float32Array => {
  let sum = 0
  for (const number of numbers) sum += number * number
  if (sum === 0) return numbers
  const by = length / Math.sqrt(sum)
  for (let i = 0; i < numbers.length; i++) numbers[i]! *= by
  return numbers
}
/** Smallest share of product pixels; below it the image counts as having no product, and the background is included. */
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
