/** The audio of one run of speech while it arrives: some of what precedes the onset, then all of it. Pure. */
import { RATE } from "../../audio-decoder/audio-decoder.ts"

/** Kept during silence: an onset is detected 60 ms late, and a word may begin softly. */
const BEFORE = RATE / 2
const GROWTH = 2 * RATE

export class SpokenSound {
  #samples = new Float32Array(GROWTH)
  #length = 0
  /** Position of the first kept sample, from the beginning of the stream. */ #from = 0

  /** Position after the last sample. */
  get end(): number {
    return this.#from + this.#length
  }
  add(samples: Float32Array): void {
    const length = this.#length + samples.length
    if (length > this.#samples.length) {
      const larger = new Float32Array(Math.ceil(length / GROWTH) * GROWTH)
      larger.set(this.#samples.subarray(0, this.#length))
      this.#samples = larger
    }
    this.#samples.set(samples, this.#length)
    this.#length = length
  }
  /** The samples between two positions, as far as they are kept. */
  cut(from: number, to: number): { readonly samples: Float32Array; readonly from: number } {
    const start = Math.min(this.#length, Math.max(0, from - this.#from))
    const end = Math.max(start, Math.min(this.#length, to - this.#from))
    return { samples: this.#samples.slice(start, end), from: this.#from + start }
  }
  /** Drops earlier samples, which are not requested again. */
  forget(before: number): void {
    const gone = Math.min(this.#length, before - this.#from)
    if (gone <= 0) return
    const left = this.#samples.subarray(gone, this.#length)
    const kept = new Float32Array(Math.max(GROWTH, Math.ceil(left.length / GROWTH) * GROWTH))
    kept.set(left)
    this.#samples = kept
    this.#length = left.length
    this.#from += gone
  }
  /** Called while nobody speaks. */
  forgetSilence(): void {
    // Not for every frame, because it copies.
    if (this.#length > GROWTH - RATE / 4) this.forget(this.end - BEFORE)
  }
}
