/**
 * One channel at another rate, by a windowed sinc whose cut-off is below half of the lower of the two. Pure,
 * O(samples).
 */
const ZEROS = 12
const STEPS = 256
/** What is left of the band before it is cut. */
const BAND = 0.92

/** Half of the filter, by distance from its middle in `1 / STEPS` of a zero crossing. */
const half = (() => {
  const values = new Float32Array(ZEROS * STEPS + 2)
  for (let i = 0; i < values.length; i++) {
    const x = i / STEPS
    const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x)
    const window = x >= ZEROS ? 0 : 0.5 + 0.5 * Math.cos((Math.PI * x) / ZEROS)
    values[i] = sinc * window
  }
  return values
})()

export const resampled = (samples: Float32Array, from: number, to: number): Float32Array => {
  if (from === to) return samples
  const ratio = from / to
  /** Zero crossings a sample of the source. */
  const scale = BAND * Math.min(1, to / from)
  const reach = Math.ceil(ZEROS / scale)
  const made = new Float32Array(Math.floor(samples.length / ratio))
  for (let at = 0; at < made.length; at++) {
    const middle = at * ratio
    const first = Math.max(0, Math.ceil(middle - reach))
    const last = Math.min(samples.length - 1, Math.floor(middle + reach))
    let sum = 0
    for (let i = first; i <= last; i++) {
      const distance = Math.abs(i - middle) * scale * STEPS
      const step = Math.floor(distance)
      if (step >= ZEROS * STEPS) continue
      const left = half[step]!
      sum += samples[i]! * (left + (half[step + 1]! - left) * (distance - step))
    }
    made[at] = sum * scale
  }
  return made
}
