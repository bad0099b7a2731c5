/** Decodes any supported format to one channel of 16,000 samples a second. Runs in the decoding thread. */
import { FLACDecoder } from "@wasm-audio-decoders/flac"
import { MPEGDecoder } from "mpg123-decoder"
import { OpusDecoder } from "opus-decoder"
import { type DecodedAudio, RATE, SECONDS_MAX } from "./audio-decoder.ts"
import { type AudioFormat, AudioRefused, audioFormatOf, NO_AUDIO } from "./format.ts"
import { readOgg } from "./ogg.ts"
import { type OpusPackets, packet_ms } from "./opus.ts"
import { resampled } from "./resample.ts"
import { speechIn } from "./speech.ts"
import { RATE_MAX, readWav, type Sound } from "./wav.ts"
import { readWebm } from "./webm.ts"

interface Piece {
  readonly channelData: ReadonlyArray<Float32Array>
  readonly samplesDecoded: number
  readonly sampleRate: number
}
/**
 * How much is decoded per step. Silence in FLAC compresses a thousandfold, so a file is decoded in small steps, and the
 * length of the output is checked after each.
 */
const FLAC_BYTES = 2_048,
  MPEG_BYTES = 16_384
const OPUS_PACKETS = 500
const tooLong = () => new AudioRefused(`The sound is longer than ${SECONDS_MAX} seconds.`)

/** Collects chunks of any sample rate as one channel. */
class Mixed {
  readonly #pieces: Array<Float32Array> = []
  #length = 0
  #rate = 0

  add({ channelData, sampleRate, samplesDecoded }: Piece): void {
    if (samplesDecoded === 0) return
    if (!(sampleRate > 0 && sampleRate <= RATE_MAX * 4)) throw new AudioRefused("The sound has a rate that none has.")
    if (this.#rate !== 0 && this.#rate !== sampleRate) throw new AudioRefused("The sound changes its rate.")
    this.#rate = sampleRate
    this.#length += samplesDecoded
    if (this.#length > SECONDS_MAX * sampleRate) throw tooLong()
    const mixed = new Float32Array(samplesDecoded)
    for (const channel of channelData)
      for (let i = 0; i < samplesDecoded; i++) mixed[i]! += (channel[i] ?? 0) / channelData.length
    this.#pieces.push(mixed)
  }
  get sound(): Sound {
    if (this.#length === 0) throw new AudioRefused(`Nothing could be decoded. ${NO_AUDIO}`)
    const samples = new Float32Array(this.#length)
    let at = 0
    for (const piece of this.#pieces) {
      samples.set(piece, at)
      at += piece.length
    }
    return { samples, rate: this.#rate }
  }
}

const opusSound = async ({ channels, packets, preSkip }: OpusPackets): Promise<Sound> => {
  if (packets.reduce((sum, packet) => sum + packet_ms(packet), 0) > SECONDS_MAX * 1_000) throw tooLong()
  const decoder = new OpusDecoder({ channels, preSkip, sampleRate: RATE })
  await decoder.ready
  const mixed = new Mixed()
  try {
    for (let at = 0; at < packets.length; at += OPUS_PACKETS)
      mixed.add(decoder.decodeFrames(packets.slice(at, at + OPUS_PACKETS)))
  } finally {
    decoder.free()
  }
  return mixed.sound
}
interface Chunked {
  readonly ready: Promise<void>
  readonly decode: (chunk: Uint8Array) => Piece | Promise<Piece>
  readonly flush?: () => Promise<Piece>
  readonly free: () => void
}
const chunkedSound = async (decoder: Chunked, bytes: Uint8Array, size: number): Promise<Sound> => {
  await decoder.ready
  const mixed = new Mixed()
  try {
    for (let at = 0; at < bytes.length; at += size) mixed.add(await decoder.decode(bytes.subarray(at, at + size)))
    if (decoder.flush !== undefined) mixed.add(await decoder.flush())
  } finally {
    decoder.free()
  }
  return mixed.sound
}
const soundOf = async (bytes: Uint8Array, format: AudioFormat): Promise<Sound> => {
  switch (format) {
    case "wav":
      return readWav(bytes, SECONDS_MAX)
    case "ogg":
      return await opusSound(readOgg(bytes))
    case "webm":
      return await opusSound(readWebm(bytes))
    case "mp3":
      return await chunkedSound(new MPEGDecoder(), bytes, MPEG_BYTES)
    case "flac":
      return await chunkedSound(new FLACDecoder(), bytes, FLAC_BYTES)
  }
}

/** Throws `AudioRefused` with a message for the sender. */
export const decodedAudio = async (bytes: Uint8Array): Promise<DecodedAudio> => {
  const format = audioFormatOf(bytes)
  if (format === undefined) throw new AudioRefused(NO_AUDIO)
  const { rate, samples: own } = await soundOf(bytes, format)
  const samples = resampled(own, rate, RATE)
  return { samples, seconds: samples.length / RATE, speech: speechIn(samples, RATE) }
}
