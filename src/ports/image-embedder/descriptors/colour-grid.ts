/** Where colours are: a histogram for each of sixteen parts of the image. Pure. */
import { COARSE, COLOURS } from "./colours.ts"

const PARTS = 4
export const COLOUR_GRID = PARTS * PARTS * COLOURS

export const colourGridOf = (shares: Float32Array): Float32Array => {
  const sums = new Float32Array(COLOUR_GRID)
  const side = COARSE / PARTS
  for (let y = 0, at = 0; y < COARSE; y++)
    for (let x = 0; x < COARSE; x++, at += COLOURS) {
      const part = (Math.floor(y / side) * PARTS + Math.floor(x / side)) * COLOURS
      for (let colour = 0; colour < COLOURS; colour++) sums[part + colour]! += shares[at + colour]!
    }
  for (let i = 0; i < sums.length; i++) sums[i] = Math.sqrt(sums[i]!)
  return sums
}
