/** Detects an audio format by its first bytes, whatever the file's name or type says. Pure. */

const FORMATS = ["wav", "ogg (Opus)", "webm (Opus)", "mp3", "flac"] as const
export const NO_AUDIO = `Sound is one of ${FORMATS.join(", ")}.`
export type AudioFormat = "wav" | "ogg" | "webm" | "mp3" | "flac"
/** A file that cannot be decoded; `message` is for the sender. */
export class AudioRefused extends Error {
  override readonly name = "AudioRefused"
}

const startsWith = (bytes: Uint8Array, at: number, text: string): boolean => {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false
  return true
}
/** The eleven bits that begin an MPEG audio frame, with a valid layer and sample rate. */
const isMpegFrame = (bytes: Uint8Array): boolean =>
  bytes.length > 3 &&
  bytes[0] === 0xff &&
  (bytes[1]! & 0xe0) === 0xe0 &&
  (bytes[1]! & 0x06) === 0x02 &&
  (bytes[2]! & 0xf0) !== 0xf0 &&
  (bytes[2]! & 0x0c) !== 0x0c

export const audioFormatOf = (bytes: Uint8Array): AudioFormat | undefined => {
  if (startsWith(bytes, 0, "RIFF") && startsWith(bytes, 8, "WAVE")) return "wav"
  if (startsWith(bytes, 0, "OggS")) return "ogg"
  if (startsWith(bytes, 0, "\x1a\x45\xdf\xa3")) return "webm"
  if (startsWith(bytes, 0, "fLaC")) return "flac"
  if (startsWith(bytes, 0, "ID3") || isMpegFrame(bytes)) return "mp3"
  return undefined
}
