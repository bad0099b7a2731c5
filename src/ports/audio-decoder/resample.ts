/** Resamples one channel with a windowed sinc filter, whose cut-off is below half of the lower rate. O(samples). */
const ZEROS = 12
const STEPS = 256
/** The share of the frequency band that is kept. */
const BAND = 0.92

/** One half of the symmetric filter, by distance from its centre in steps of `1 / STEPS` of a zero crossing. */
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

/** Converts one rate to another. */
class Filter {
  readonly ratio: number
  /** Zero crossings per sample of the source. */ readonly #scale: number
  /** How many source samples on each side contribute to a value. */ readonly reach: number

  constructor(from: number, to: number) {
    this.ratio = from / to
    this.#scale = BAND * Math.min(1, to / from)
    this.reach = Math.ceil(ZEROS / this.#scale)
  }
  /** The value at a position between samples; before the first and after the last there is silence. */
  valueAt(samples: Float32Array, middle: number): number {
    const first = Math.max(0, Math.ceil(middle - this.reach))
    const last = Math.min(samples.length - 1, Math.floor(middle + this.reach))
    let sum = 0
    for (let i = first; i <= last; i++) {
      const distance = Math.abs(i - middle) * this.#scale * STEPS
      const step = Math.floor(distance)
      if (step >= ZEROS * STEPS) continue
      const left = half[step]!
      sum += samples[i]! * (left + (half[step + 1]! - left) * (distance - step))
    }
    return sum * this.#scale
  }
}

export const resampled = (samples: Float32Array, from: number, to: number): Float32Array => {
  if (from === to) return samples
  const filter = new Filter(from, to)
  const made = new Float32Array(Math.floor(samples.length / filter.ratio))
  for (let at = 0; at < made.length; at++) made[at] = filter.valueAt(samples, at * filter.ratio)
  return made
}

/** Resamples audio that arrives in chunks; lags by some milliseconds, since a value needs the samples after it. */
export class Resampler {
  readonly #filter: Filter | undefined
  #kept: Float32Array = new Float32Array(0)
  /** Positions, from the start of the audio, of the first kept sample and of the next value. */
  #from = 0
  #next = 0

  constructor(from: number, to: number) {
    this.#filter = from === to ? undefined : new Filter(from, to)
  }
  push(samples: Float32Array): Float32Array {
    if (this.#filter === undefined) return samples
    const { ratio, reach } = this.#filter
    const all = new Float32Array(this.#kept.length + samples.length)
    all.set(this.#kept)
    all.set(samples, this.#kept.length)
    const end = this.#from + all.length
    const count = Math.max(0, Math.floor((end - 1 - reach) / ratio) - this.#next + 1)
    const made = new Float32Array(count)
    for (let i = 0; i < count; i++) made[i] = this.#filter.valueAt(all, (this.#next + i) * ratio - this.#from)
    this.#next += count
    const unused = Math.max(0, Math.min(all.length, Math.floor(this.#next * ratio) - reach - this.#from))
    this.#kept = all.slice(unused)
    this.#from += unused
    return made
  }
}
