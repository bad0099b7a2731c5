/** Extracts the packets of the first Opus stream in Ogg (RFC 3533, RFC 7845); others are skipped. Pure. */
import { AudioRefused } from "./format.ts"
import { type OpusPackets, opusHead } from "./opus.ts"

const PAGE_HEAD = 27
const CONTINUED = 1
const OGGS = 0x4f_67_67_53

export const readOgg = (bytes: Uint8Array): OpusPackets => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const packets: Array<Uint8Array> = []
  let serial: number | undefined
  let head: ReturnType<typeof opusHead>
  let kept: Array<Uint8Array> = []
  for (let at = 0; at + PAGE_HEAD <= bytes.length && view.getUint32(at) === OGGS;) {
    const segments = bytes[at + 26]!
    const from = at + PAGE_HEAD + segments
    if (from > bytes.length) break
    const lacing = bytes.subarray(at + PAGE_HEAD, from)
    const size = lacing.reduce((sum, each) => sum + each, 0)
    const own = view.getUint32(at + 14)
    if (serial === undefined) {
      head = opusHead(bytes.subarray(from, from + size))
      if (head !== undefined) serial = own
    } else if (own === serial) {
      if ((bytes[at + 5]! & CONTINUED) === 0) kept = []
      let start = from,
        end = from
      for (const length of lacing) {
        end += length
        if (length === 255) continue
        if (end <= bytes.length) packets.push(joined([...kept, bytes.subarray(start, end)]))
        kept = []
        start = end
      }
      if (end > start) kept.push(bytes.subarray(start, Math.min(end, bytes.length)))
    }
    at = from + size
  }
  if (head === undefined) throw new AudioRefused("The Ogg file has no sound in Opus.")
  // The second packet holds tags.
  return { ...head, packets: packets.slice(1) }
}
export const joined = (pieces: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [only] = pieces
  if (pieces.length === 1 && only !== undefined) return only
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}
