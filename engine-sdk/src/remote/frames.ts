/**
 * Messages between two processes over one connection: msgpack preceded by its length in four bytes. Incoming messages
 * are bounded before they are buffered, and so is the queue of outgoing ones.
 */
import type { Socket } from "node:net"
import { Packr } from "msgpackr"

const HEAD_BYTES = 4
/** Maximum size of one message: a batch of documents, an answer. */
export const MESSAGE_BYTES_MAX = 256 * 1_048_576
/** Maximum size of messages that the other side has not read. */
const UNSENT_BYTES_MAX = 512 * 1_048_576

const packr = new Packr({ structuredClone: true, moreTypes: true, useBigIntExtension: true })

export class Frames<In, Out> {
  readonly #socket: Socket
  readonly #receive: (message: In) => void
  /** Limit of one incoming message; a longer or malformed one ends the connection. */ bytes_max: number
  #parts: Array<Uint8Array> = []
  #held = 0

  constructor(socket: Socket, receive: (message: In) => void, bytes_max = MESSAGE_BYTES_MAX) {
    this.#socket = socket
    this.#receive = receive
    this.bytes_max = bytes_max
    socket.setNoDelay(true)
    socket.on("data", (bytes: Uint8Array) => this.#take(bytes))
  }

  /** False if the connection has ended, or is ended because too much is queued. */
  send(message: Out): boolean {
    if (this.#socket.destroyed) return false
    const body = packr.pack(message)
    const head = Buffer.allocUnsafe(HEAD_BYTES)
    head.writeUInt32BE(body.length)
    this.#socket.cork()
    this.#socket.write(head)
    this.#socket.write(body)
    this.#socket.uncork()
    if (this.#socket.writableLength <= UNSENT_BYTES_MAX) return true
    this.#socket.destroy(new Error("Messages are not taken."))
    return false
  }

  #take(bytes: Uint8Array): void {
    this.#parts.push(bytes)
    this.#held += bytes.length
    if (this.#held < this.#wanted()) return
    let all = Buffer.concat(this.#parts)
    try {
      for (let length = this.#lengthIn(all); length !== undefined; length = this.#lengthIn(all)) {
        const message = packr.unpack(all.subarray(HEAD_BYTES, HEAD_BYTES + length)) as In
        all = all.subarray(HEAD_BYTES + length)
        this.#receive(message)
      }
    } catch (error) {
      this.#socket.destroy(error instanceof Error ? error : new Error(String(error)))
      return
    }
    this.#parts = all.length === 0 ? [] : [all]
    this.#held = all.length
  }
  /** Number of bytes needed for the message that has begun to arrive. */
  #wanted(): number {
    if (this.#held < HEAD_BYTES) return HEAD_BYTES
    const first = this.#parts[0]!
    if (first.length < HEAD_BYTES) this.#parts = [Buffer.concat(this.#parts)]
    return HEAD_BYTES + this.#lengthOf(this.#parts[0]!)
  }
  #lengthOf(bytes: Uint8Array): number {
    const length = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).readUInt32BE()
    if (length <= this.bytes_max) return length
    this.#socket.destroy(new Error(`A message of ${length} bytes is more than ${this.bytes_max}.`))
    return Infinity
  }
  /** Length of the entire message at the start of the bytes. */
  #lengthIn(bytes: Buffer): number | undefined {
    if (bytes.length < HEAD_BYTES) return undefined
    const length = this.#lengthOf(bytes)
    return bytes.length - HEAD_BYTES < length ? undefined : length
  }
}
