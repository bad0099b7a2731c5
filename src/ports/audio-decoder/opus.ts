/** What is known of Opus audio before decoding (RFC 6716, RFC 7845): channels, samples to skip, length. Pure. */

export interface OpusPackets {
  readonly channels: number
  /** Samples to skip before the audio begins, at 48,000 a second. */ readonly preSkip: number
  readonly packets: ReadonlyArray<Uint8Array>
}
const MAGIC = "OpusHead"

/** Returns undefined if the bytes are not an Opus header of one or two channels. */
export const opusHead = (bytes: Uint8Array): { readonly channels: number; readonly preSkip: number } | undefined => {
  if (bytes.length < 19 || new TextDecoder("latin1").decode(bytes.subarray(0, 8)) !== MAGIC) return undefined
  const channels = bytes[9]!
  if (channels < 1 || channels > 2 || bytes[18] !== 0) return undefined
  return { channels, preSkip: bytes[10]! + 256 * bytes[11]! }
}

/** Duration of one frame, by the configuration at the start of a packet. */
const frame_ms = (config: number): number => {
  if (config < 12) return [10, 20, 40, 60][config & 3]!
  if (config < 16) return [10, 20][config & 1]!
  return [2.5, 5, 10, 20][config & 3]!
}
/** A packet's duration according to its first bytes. */
export const packet_ms = (packet: Uint8Array): number => {
  const [toc, second] = packet
  if (toc === undefined) return 0
  const code = toc & 3
  const frames = code === 0 ? 1 : code < 3 ? 2 : (second ?? 0) & 63
  return Math.min(120, frames * frame_ms(toc >> 3))
}
