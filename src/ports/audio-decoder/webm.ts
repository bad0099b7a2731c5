/**
 * Extracts Opus packets from WebM as browsers record it: the parts of EBML (RFC 8794) and Matroska (RFC 9559) that
 * concern one audio track. An element of unknown size runs to the end, as recorders write it. Pure.
 */
import { AudioRefused } from "./format.ts"
import { type OpusPackets, opusHead } from "./opus.ts"

export const TRACK = 0xae
const SEGMENT = 0x18_53_80_67,
  CLUSTER = 0x1f_43_b6_75,
  TRACKS = 0x16_54_ae_6b,
  NUMBER = 0xd7,
  CODEC = 0x86,
  PRIVATE = 0x63_a2,
  ENCODINGS = 0x6d_80,
  GROUP = 0xa0,
  BLOCK = 0xa1,
  SIMPLE_BLOCK = 0xa3
/** Elements that contain the elements we read; all others are skipped. */
export const INSIDE: ReadonlySet<number> = new Set([SEGMENT, CLUSTER, TRACKS, GROUP])
const ELEMENTS_MAX = 2_000_000

interface Variable {
  readonly value: number
  readonly next: number
  /** Whether the size is unknown: all its bits are ones. */ readonly isOpen: boolean
}
/** Returns undefined if the number is incomplete or invalid. `withMark`: ids keep their length marker. */
const variableAt = (bytes: Uint8Array, at: number, lengthMax: number, withMark: boolean): Variable | undefined => {
  const first = bytes[at]
  if (first === undefined || first === 0) return undefined
  const length = Math.clz32(first) - 23
  if (length > lengthMax || at + length > bytes.length) return undefined
  const mark = 0x100 >> length
  let value = withMark ? first : first - mark
  let isOpen = first === 2 * mark - 1
  for (let i = 1; i < length; i++) {
    value = value * 256 + bytes[at + i]!
    isOpen &&= bytes[at + i] === 0xff
  }
  return { value, next: at + length, isOpen }
}
interface Element {
  readonly id: number
  /** Whether the element contains audio. */ readonly isBlock: boolean
  readonly from: number
  readonly to: number
}
export const elementAt = (bytes: Uint8Array, at: number, end: number): Element | undefined => {
  const id = variableAt(bytes, at, 4, true)
  const size = id === undefined ? undefined : variableAt(bytes, id.next, 8, false)
  if (id === undefined || size === undefined) return undefined
  const isBlock = id.value === SIMPLE_BLOCK || id.value === BLOCK
  return { id: id.value, isBlock, from: size.next, to: size.isOpen ? end : Math.min(end, size.next + size.value) }
}
function* elements(bytes: Uint8Array, from: number, end: number): Generator<Element> {
  for (let at = from; at < end;) {
    const element = elementAt(bytes, at, end)
    if (element === undefined) return
    yield element
    at = element.to
  }
}

export interface Track {
  readonly number: number
  readonly head: NonNullable<ReturnType<typeof opusHead>>
}
export const trackIn = (bytes: Uint8Array, { from, to }: Element): Track | undefined => {
  let number: number | undefined, head: ReturnType<typeof opusHead>
  let isOpus = false
  for (const { id, from: start, to: end } of elements(bytes, from, to)) {
    const value = bytes.subarray(start, end)
    if (id === NUMBER) number = value.reduce((sum, byte) => sum * 256 + byte, 0)
    else if (id === CODEC) isOpus = new TextDecoder().decode(value.subarray(0, 20)) === "A_OPUS"
    else if (id === PRIVATE) head = opusHead(value)
    else if (id === ENCODINGS) throw new AudioRefused("The WebM file is compressed or encrypted once more.")
  }
  return isOpus && number !== undefined && head !== undefined ? { number, head } : undefined
}

export const readWebm = (bytes: Uint8Array): OpusPackets => {
  const packets: Array<Uint8Array> = []
  let track: Track | undefined
  let at = 0
  for (let read = 0; at < bytes.length && read < ELEMENTS_MAX; read++) {
    const element = elementAt(bytes, at, bytes.length)
    if (element === undefined) break
    const { from, id, isBlock, to } = element
    // Elements are read one after another at any depth: a cluster of unknown size ends where the next begins.
    at = INSIDE.has(id) ? from : to
    if (id === TRACK) {
      track ??= trackIn(bytes, element)
      at = to
    } else if (isBlock && track !== undefined) {
      const packet = packetIn(bytes.subarray(from, to), track.number)
      if (packet !== undefined) packets.push(packet)
    }
  }
  if (track === undefined) throw new AudioRefused("The WebM file has no sound in Opus.")
  return { ...track.head, packets }
}
/** The packet of a block without lacing, which audio recorders do not use. */
export const packetIn = (block: Uint8Array, wanted: number): Uint8Array | undefined => {
  const number = variableAt(block, 0, 8, false)
  if (number?.value !== wanted || number.next + 3 > block.length) return undefined
  if ((block[number.next + 2]! & 0x06) !== 0) throw new AudioRefused("The WebM file laces its sound.")
  return block.subarray(number.next + 3)
}
