/**
 * How colours are arranged: for each colour and each of four distances, how many neighbours at that distance share it
 * (Huang et al., "Image indexing using color correlograms", 1997, the diagonal part). Computed over the entire product,
 * so that a colour counts by its amount. Pure.
 */
import { COARSE, COLOURS } from "./colours.ts"

const DISTANCES = [1, 2, 3, 5]
export const CORRELOGRAM = COLOURS * DISTANCES.length

export const correlogramOf = (shares: Float32Array): Float32Array => {
  const sums = new Float32Array(CORRELOGRAM)
  for (let y = 0, at = 0; y < COARSE; y++)
    for (let x = 0; x < COARSE; x++, at += COLOURS)
      for (let colour = 0; colour < COLOURS; colour++) {
        const own = shares[at + colour]!
        if (own === 0) continue
        for (let d = 0; d < DISTANCES.length; d++) {
          const distance = DISTANCES[d]!
          let others = 0
          if (x + distance < COARSE) others += shares[at + distance * COLOURS + colour]!
          if (y + distance < COARSE) others += shares[at + distance * COARSE * COLOURS + colour]!
          sums[d * COLOURS + colour]! += own * others
        }
      }
  // Square roots, so that four times as much of a colour counts twice as much.
  for (let i = 0; i < sums.length; i++) sums[i] = Math.sqrt(sums[i]!)
  return sums
}
