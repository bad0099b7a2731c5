/** WAV without a library: PCM of 8 to 32 bits, floating point, A-law, mu-law; channels are mixed to one. Pure. */
import { AudioRefused } from "./format.ts"

const PCM = 1,
  FLOAT = 3,
  A_LAW = 6,
  MU_LAW = 7,
  EXTENSIBLE = 0xfffe
const CHANNELS_MAX = 32
const RATE_MIN = 4_000
export const RATE_MAX = 192_000

export interface Sound {
  readonly samples: Float32Array
  readonly rate: number
}
interface Head {
  readonly kind: number
  readonly channels: number
  readonly rate: number
  readonly bits: number
}
type Read = (view: DataView, at: number) => number

/** ITU-T G.711. */
const aLaw: Read = (view, at) => {
  const code = view.getUint8(at) ^ 0x55
  const exponent = (code >> 4) & 7
  const mantissa = ((code & 15) << 4) + 8
  const size = exponent === 0 ? mantissa : (mantissa + 256) << (exponent - 1)
  return ((code & 0x80) === 0 ? -size : size) / 32_768
}
const muLaw: Read = (view, at) => {
  const code = ~view.getUint8(at) & 0xff
  const size = (((code & 15) << 3) + 132) << ((code >> 4) & 7)
  return ((code & 0x80) === 0 ? size - 132 : 132 - size) / 32_768
}
const readers: ReadonlyMap<string, Read> = new Map<string, Read>([
  [`${PCM} 8`, (view, at) => (view.getUint8(at) - 128) / 128],
  [`${PCM} 16`, (view, at) => view.getInt16(at, true) / 32_768],
  [`${PCM} 24`, (view, at) => ((view.getInt16(at + 1, true) << 8) | view.getUint8(at)) / 8_388_608],
  [`${PCM} 32`, (view, at) => view.getInt32(at, true) / 2_147_483_648],
  [`${FLOAT} 32`, (view, at) => view.getFloat32(at, true)],
  [`${FLOAT} 64`, (view, at) => view.getFloat64(at, true)],
  [`${A_LAW} 8`, aLaw],
  [`${MU_LAW} 8`, muLaw]
])

const headAt = (view: DataView, at: number, size: number): Head => {
  if (size < 16) throw new AudioRefused("The WAV file has a head that is too short.")
  const stated = view.getUint16(at, true)
  const kind = stated === EXTENSIBLE && size >= 26 ? view.getUint16(at + 24, true) : stated
  return {
    kind,
    channels: view.getUint16(at + 2, true),
    rate: view.getUint32(at + 4, true),
    bits: view.getUint16(at + 14, true)
  }
}
const clean = (value: number): number => (Number.isFinite(value) ? Math.max(-1, Math.min(1, value)) : 0)

/** A length that was unknown when the stream was written (0 or all ones) means the rest of the file. */
export const readWav = (bytes: Uint8Array, secondsMax: number): Sound => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let head: Head | undefined
  for (let at = 12; at + 8 <= bytes.length;) {
    const name = view.getUint32(at)
    const length = view.getUint32(at + 4, true)
    const from = at + 8
    if (name === 0x66_6d_74_20) head = headAt(view, from, Math.min(length, bytes.length - from))
    else if (name === 0x64_61_74_61) {
      if (head === undefined) break
      const left = bytes.length - from
      return samplesOf(view, head, from, length === 0 ? left : Math.min(length, left), secondsMax)
    }
    at = from + length + (length & 1)
  }
  throw new AudioRefused("The WAV file has no sound in it.")
}
const samplesOf = (view: DataView, head: Head, from: number, size: number, secondsMax: number): Sound => {
  const { bits, channels, kind, rate } = head
  const read = readers.get(`${kind} ${bits}`)
  if (read === undefined) throw new AudioRefused(`WAV of the kind ${kind} with ${bits} bits cannot be decoded.`)
  if (channels === 0 || channels > CHANNELS_MAX || rate < RATE_MIN || rate > RATE_MAX)
    throw new AudioRefused("The WAV file has a number of channels, or a rate, that no sound has.")
  const step = bits / 8
  const length = Math.floor(size / (step * channels))
  if (length > secondsMax * rate) throw new AudioRefused(`The sound is longer than ${secondsMax} seconds.`)
  const samples = new Float32Array(length)
  for (let i = 0, at = from; i < length; i++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++, at += step) sum += clean(read(view, at))
    samples[i] = sum / channels
  }
  return { samples, rate }
}

/** In the format that model servers accept: 16 bits, one channel. */
export const writeWav = (samples: Float32Array, rate: number): Uint8Array => {
  const bytes = new Uint8Array(44 + 2 * samples.length)
  const view = new DataView(bytes.buffer)
  const write = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at)
  write(0, "RIFF")
  view.setUint32(4, bytes.length - 8, true)
  write(8, "WAVEfmt ")
  view.setUint32(16, 16, true)
  view.setUint16(20, PCM, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, 2 * rate, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  write(36, "data")
  view.setUint32(40, 2 * samples.length, true)
  for (const [i, sample] of samples.entries())
    view.setInt16(44 + 2 * i, Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), true)
  return bytes
}
