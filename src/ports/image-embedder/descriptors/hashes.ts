/**
 * 64 bits that survive compression and scaling: whether brightness rises from one cell of a row to the next, in a grid
 * of nine by eight (dHash). Computed for the entire image and for its middle. Pure.
 */
import { SIDE } from "./resample.ts"

export const HASH_BITS = 128
const ROWS = 8,
  COLUMNS = 9

/** Mean brightness of each cell of a square part of the image, row by row. */
const means = (brightness: Float32Array, start: number, side: number): Float32Array => {
  const found = new Float32Array(ROWS * COLUMNS)
  for (let row = 0; row < ROWS; row++)
    for (let column = 0; column < COLUMNS; column++) {
      const top = start + Math.floor((row * side) / ROWS),
        bottom = start + Math.floor(((row + 1) * side) / ROWS)
      const left = start + Math.floor((column * side) / COLUMNS),
        right = start + Math.floor(((column + 1) * side) / COLUMNS)
      let sum = 0
      for (let y = top; y < bottom; y++) for (let x = left; x < right; x++) sum += brightness[y * SIDE + x]!
      found[row * COLUMNS + column] = sum / ((bottom - top) * (right - left))
    }
  return found
}
/** 1 and -1; areas without change, such as a background, are -1. */
export const hashBitsOf = (brightness: Float32Array): Float32Array => {
  const bits = new Float32Array(HASH_BITS)
  let at = 0
  for (const [start, side] of [
    [0, SIDE],
    [SIDE / 4, SIDE / 2]
  ] as const) {
    const found = means(brightness, start, side)
    for (let row = 0; row < ROWS; row++)
      for (let column = 0; column + 1 < COLUMNS; column++, at++) {
        const place = row * COLUMNS + column
        bits[at] = found[place + 1]! - found[place]! > 3 ? 1 : -1
      }
  }
  return bits
}
