/**
 * Extracts Opus packets from a stream that is split arbitrarily: Ogg (RFC 3533, RFC 7845), WebM (RFC 9559) as browsers
 * record it, or one packet per message. Incomplete packets are kept, up to a packet's size. Pure.
 */
import { AudioRefused } from "../format.ts"
import { joined } from "../ogg.ts"
import { opusHead } from "../opus.ts"
import { elementAt, INSIDE, packetIn, TRACK, type Track, trackIn } from "../webm.ts"

type OpusHead = NonNullable<ReturnType<typeof opusHead>>
/** Reads a stream; throws `AudioRefused`. */
export interface OpusSource {
  /** Set as soon as the header has been read. */ readonly head: OpusHead | undefined
  readonly push: (bytes: Uint8Array) => ReadonlyArray<Uint8Array>
}

/** Maximum size of incomplete data that is kept: an Ogg page has at most 65 kB, an audio block less. */
const KEPT_MAX = 200_000
class ByteQueue {
  #bytes: Uint8Array = new Uint8Array(0)
  add(bytes: Uint8Array): Uint8Array {
    this.#bytes = this.#bytes.length === 0 ? bytes : joined([this.#bytes, bytes])
    return this.#bytes
  }
  drop(count: number): void {
    this.#bytes = this.#bytes.slice(count)
    if (this.#bytes.length > KEPT_MAX) throw new AudioRefused("The stream holds something that is too large for sound.")
  }
}

const PAGE_HEAD = 27
const CONTINUED = 1
const OGGS = 0x4f_67_67_53
export class OggPackets implements OpusSource {
  readonly #kept = new ByteQueue()
  head: OpusHead | undefined
  #serial: number | undefined
  #hasTags = false
  #pieces: Array<Uint8Array> = []

  push(bytes: Uint8Array): ReadonlyArray<Uint8Array> {
    const all = this.#kept.add(bytes)
    const view = new DataView(all.buffer, all.byteOffset, all.byteLength)
    const packets: Array<Uint8Array> = []
    let at = 0
    while (at + PAGE_HEAD <= all.length) {
      if (view.getUint32(at) !== OGGS) throw new AudioRefused("The Ogg stream is broken.")
      const from = at + PAGE_HEAD + all[at + 26]!
      if (from > all.length) break
      const lacing = all.subarray(at + PAGE_HEAD, from)
      const to = from + lacing.reduce((sum, each) => sum + each, 0)
      if (to > all.length) break
      this.#page(all.slice(from, to), lacing, view.getUint32(at + 14), (all[at + 5]! & CONTINUED) !== 0, packets)
      at = to
    }
    this.#kept.drop(at)
    return packets
  }
  #page(body: Uint8Array, lacing: Uint8Array, serial: number, isContinued: boolean, packets: Array<Uint8Array>): void {
    if (this.#serial === undefined) {
      this.head = opusHead(body)
      if (this.head !== undefined) this.#serial = serial
      return
    }
    if (serial !== this.#serial) return
    if (!isContinued) this.#pieces = []
    let start = 0,
      end = 0
    for (const length of lacing) {
      end += length
      if (length === 255) continue
      const packet = joined([...this.#pieces, body.subarray(start, end)])
      this.#pieces = []
      start = end
      // The second packet holds tags.
      if (this.#hasTags) packets.push(packet)
      this.#hasTags = true
    }
    if (end > start) this.#pieces.push(body.subarray(start, end))
    if (this.#pieces.length > KEPT_MAX / 65_025) throw new AudioRefused("The Ogg stream has a packet without an end.")
  }
}

/** Maximum length of an element's header. */
const ELEMENT_HEAD = 12
export class WebmPackets implements OpusSource {
  readonly #kept = new ByteQueue()
  #track: Track | undefined
  /** Bytes of a skipped element that are still to come. */ #skip = 0

  get head(): OpusHead | undefined {
    return this.#track?.head
  }
  push(bytes: Uint8Array): ReadonlyArray<Uint8Array> {
    const all = this.#kept.add(bytes)
    const packets: Array<Uint8Array> = []
    let at = Math.min(all.length, this.#skip)
    this.#skip -= at
    while (this.#skip === 0 && at < all.length) {
      const next = this.#element(all, at, packets)
      if (next === undefined) break
      this.#skip = Math.max(0, next - all.length)
      at = Math.min(all.length, next)
    }
    this.#kept.drop(at)
    return packets
  }
  /** Returns where the next element begins; undefined if this one has not arrived completely. */
  #element(all: Uint8Array, at: number, packets: Array<Uint8Array>): number | undefined {
    const element = elementAt(all, at, Infinity)
    if (element === undefined) {
      if (all.length - at >= ELEMENT_HEAD) throw new AudioRefused("The WebM stream is broken.")
      return undefined
    }
    const { from, id, isBlock, to } = element
    if (INSIDE.has(id) || to === Infinity) return from
    if (id !== TRACK && !isBlock) return to
    if (to > all.length) return undefined
    if (id === TRACK) this.#track ??= trackIn(all, element)
    else if (this.#track === undefined) throw new AudioRefused("The WebM stream has no sound in Opus.")
    else {
      const packet = packetIn(all.slice(from, to), this.#track.number)
      if (packet !== undefined) packets.push(packet)
    }
    return to
  }
}

/** One channel, one packet per message, from clients that split the stream into packets themselves. */
export class BarePackets implements OpusSource {
  readonly head = { channels: 1, preSkip: 0 }
  push(bytes: Uint8Array): ReadonlyArray<Uint8Array> {
    return [bytes]
  }
}
