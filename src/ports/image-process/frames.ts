/**
 * Messages between the program and the process that decodes: a header as JSON and bytes, preceded by the lengths of
 * both. It is a plain byte stream, so that it works on every runtime.
 */
export interface Frame {
  readonly head: Readonly<Record<string, unknown>>
  readonly bytes: Uint8Array
}

/** Maximum size of one message: an image of 4,096 by 4,096 as PNG takes no more. */
const FRAME_BYTES_MAX = 100_000_000
const LENGTHS = 8
const encoder = new TextEncoder(),
  decoder = new TextDecoder()

export const frameOf = ({ bytes, head }: Frame): ReadonlyArray<Uint8Array> => {
  const text = encoder.encode(JSON.stringify(head))
  const lengths = new DataView(new ArrayBuffer(LENGTHS))
  lengths.setUint32(0, text.length)
  lengths.setUint32(4, bytes.length)
  return [new Uint8Array(lengths.buffer), text, bytes]
}

/** Takes chunks and returns complete messages. */
export class FrameReader {
  #pieces: Array<Uint8Array> = []
  #length = 0

  /** Throws if the input is not a message, because nothing after it can be read. */
  push(piece: Uint8Array): ReadonlyArray<Frame> {
    this.#pieces.push(piece)
    this.#length += piece.length
    const frames: Array<Frame> = []
    for (let frame = this.#take(); frame !== undefined; frame = this.#take()) frames.push(frame)
    return frames
  }
  #take(): Frame | undefined {
    if (this.#length < LENGTHS) return undefined
    const [text, bytes] = this.#lengths()
    const whole = LENGTHS + text + bytes
    if (whole > FRAME_BYTES_MAX) throw new Error("A message of the image process is too long.")
    if (this.#length < whole) return undefined
    const joined = this.#joined()
    const head = JSON.parse(decoder.decode(joined.subarray(LENGTHS, LENGTHS + text))) as Frame["head"]
    const frame = { head, bytes: joined.slice(LENGTHS + text, whole) }
    const rest = joined.subarray(whole)
    this.#pieces = rest.length === 0 ? [] : [rest]
    this.#length = rest.length
    return frame
  }
  #lengths(): readonly [number, number] {
    if (this.#pieces[0]!.length < LENGTHS) this.#joined()
    const first = this.#pieces[0]!
    const view = new DataView(first.buffer, first.byteOffset, first.byteLength)
    return [view.getUint32(0), view.getUint32(4)]
  }
  #joined(): Uint8Array {
    const [only] = this.#pieces
    if (this.#pieces.length === 1 && only !== undefined) return only
    const joined = new Uint8Array(this.#length)
    let at = 0
    for (const piece of this.#pieces) {
      joined.set(piece, at)
      at += piece.length
    }
    this.#pieces = [joined]
    return joined
  }
}
