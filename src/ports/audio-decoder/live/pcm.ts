/**
 * Uncompressed audio as it arrives: 16-bit samples of one or more channels, split anywhere, become one channel of
 * 16,000 samples a second. A WAV file is the same behind a header. Pure.
 */
import { RATE } from "../audio-decoder.ts"
import { AudioRefused } from "../format.ts"
import { Resampler } from "../resample.ts"

/** Decodes a stream; throws `AudioRefused` with a message for the sender. */
export interface LiveSound {
  readonly push: (bytes: Uint8Array) => Float32Array
}

export class PcmSound implements LiveSound {
  readonly #channels: number
  readonly #resampler: Resampler
  #rest: Uint8Array = new Uint8Array(0)

  constructor(rate: number, channels = 1) {
    this.#channels = channels
    this.#resampler = new Resampler(rate, RATE)
  }
  push(bytes: Uint8Array): Float32Array {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    const step = 2 * this.#channels
    const length = Math.floor(all.length / step)
    const view = new DataView(all.buffer, all.byteOffset, all.byteLength)
    const samples = new Float32Array(length)
    for (let i = 0, at = 0; i < length; i++) {
      let sum = 0
      for (let channel = 0; channel < this.#channels; channel++, at += 2) sum += view.getInt16(at, true)
      samples[i] = sum / this.#channels / 32_768
    }
    this.#rest = new Uint8Array(all.subarray(length * step))
    return this.#resampler.push(samples)
  }
}

const HEAD_BYTES_MAX = 65_536
const FMT = 0x66_6d_74_20,
  DATA = 0x64_61_74_61
const RATE_MIN = 8_000,
  RATE_MAX = 48_000
export const isLiveRate = (rate: number): boolean => Number.isInteger(rate) && rate >= RATE_MIN && rate <= RATE_MAX
/** Where the audio data begins, and its format; undefined until the header has arrived. */
const wavHead = (bytes: Uint8Array): { readonly sound: PcmSound; readonly from: number } | undefined => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let sound: PcmSound | undefined
  for (let at = 12; at + 8 <= bytes.length;) {
    const name = view.getUint32(at)
    const from = at + 8
    if (name === DATA) {
      if (sound === undefined) throw new AudioRefused("The WAV stream says nothing of its sound before it.")
      return { sound, from }
    }
    const size = view.getUint32(at + 4, true)
    if (name === FMT && from + 16 <= bytes.length) {
      const channels = view.getUint16(from + 2, true)
      const rate = view.getUint32(from + 4, true)
      if (view.getUint16(from, true) !== 1 || view.getUint16(from + 14, true) !== 16 || channels < 1 || channels > 2)
        throw new AudioRefused("A WAV stream is PCM of 16 bits with one channel or two.")
      if (!isLiveRate(rate))
        throw new AudioRefused(`A WAV stream has from ${RATE_MIN} to ${RATE_MAX} numbers a second.`)
      sound = new PcmSound(rate, channels)
    }
    at = from + size + (size & 1)
  }
  if (bytes.length > HEAD_BYTES_MAX) throw new AudioRefused("The WAV stream has no sound in it.")
  return undefined
}
export class WavSound implements LiveSound {
  #head: Uint8Array = new Uint8Array(0)
  #sound: PcmSound | undefined

  push(bytes: Uint8Array): Float32Array {
    if (this.#sound !== undefined) return this.#sound.push(bytes)
    this.#head = Buffer.concat([this.#head, bytes])
    const found = wavHead(this.#head)
    if (found === undefined) return new Float32Array(0)
    this.#sound = found.sound
    const first = this.#head.subarray(found.from)
    this.#head = new Uint8Array(0)
    return this.#sound.push(first)
  }
}
