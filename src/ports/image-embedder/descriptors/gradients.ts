/**
 * The direction of edges in the entire image, in its quarters and in its sixteenths: a pyramid of histograms of
 * oriented gradients. Edges have a direction and no sign, so light on dark equals dark on light. Pure.
 */
import { SIDE } from "./resample.ts"

const DIRECTIONS = 9
const LEVELS = [1, 2, 4]
/** By level: finer levels are more informative, but have more parts. */
const WEIGHTS = [0.5, 0.7, 1]
/** Minimum strength of an edge, of 255; weaker edges are compression noise. */
const STRENGTH_MIN = 10
const PARTS = LEVELS.reduce((sum, n) => sum + n * n, 0)
export const GRADIENTS = PARTS * DIRECTIONS

export const gradientsOf = (brightness: Float32Array): Float32Array => {
  const sums = new Float32Array(GRADIENTS)
  for (let y = 1; y < SIDE - 1; y++)
    for (let x = 1; x < SIDE - 1; x++) {
      const at = y * SIDE + x
      const dx = brightness[at + 1]! - brightness[at - 1]!,
        dy = brightness[at + SIDE]! - brightness[at - SIDE]!
      const strength = Math.sqrt(dx * dx + dy * dy)
      if (strength < STRENGTH_MIN) continue
      // An edge's strength is split between the two nearest directions.
      const place = ((Math.atan2(dy, dx) / Math.PI + 1) % 1) * DIRECTIONS
      const first = Math.floor(place) % DIRECTIONS,
        share = place - Math.floor(place)
      let base = 0
      for (const n of LEVELS) {
        const part = base + (Math.floor((y * n) / SIDE) * n + Math.floor((x * n) / SIDE)) * DIRECTIONS
        sums[part + first]! += strength * (1 - share)
        sums[part + ((first + 1) % DIRECTIONS)]! += strength * share
        base += n * n * DIRECTIONS
      }
    }
  let at = 0
  for (const [level, n] of LEVELS.entries())
    for (let i = 0; i < n * n * DIRECTIONS; i++, at++) sums[at] = WEIGHTS[level]! * Math.sqrt(sums[at]!)
  return sums
}
