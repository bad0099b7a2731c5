/**
 * The tensors of a safetensors file: eight bytes with the length of the header, the header as JSON, then the numbers of
 * all tensors, one after another. Read tensor by tensor, so that only the largest tensor must fit in memory.
 */
import { closeSync, openSync, readSync } from "node:fs"

interface Entry {
  readonly dtype: string
  readonly shape: ReadonlyArray<number>
  readonly data_offsets: readonly [from: number, to: number]
}
export interface Tensor {
  readonly shape: ReadonlyArray<number>
  readonly values: Float32Array
}

const HEADER_BYTES_MAX = 1024 * 1024

/** The values of all 65,536 half-precision floats (five exponent bits). */
const halves = (): Float32Array => {
  const table = new Float32Array(65_536)
  for (let bits = 0; bits < 65_536; bits++) {
    const sign = bits & 0x8000 ? -1 : 1
    const exponent = (bits >> 10) & 31
    const fraction = bits & 1023
    table[bits] =
      exponent === 0
        ? sign * fraction * 2 ** -24
        : exponent === 31
          ? fraction === 0
            ? sign * Infinity
            : NaN
          : sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
  }
  return table
}

export class Safetensors {
  readonly #file: number
  readonly #from: number
  readonly #entries: ReadonlyMap<string, Entry>
  readonly #halves = halves()

  constructor(path: string) {
    this.#file = openSync(path, "r")
    const length = Number(this.#read(0, 8).readBigUInt64LE(0))
    if (length > HEADER_BYTES_MAX) throw new Error(`The header of ${path} is ${length} bytes long.`)
    this.#from = 8 + length
    this.#entries = new Map(Object.entries(JSON.parse(this.#read(8, length).toString("utf8")) as Record<string, Entry>))
  }
  #read(from: number, length: number): Buffer {
    const bytes = Buffer.alloc(length)
    for (let at = 0; at < length;) {
      const read = readSync(this.#file, bytes, at, length - at, from + at)
      if (read === 0) throw new Error("The weights end before their last tensor.")
      at += read
    }
    return bytes
  }
  /** Converts a tensor to 32-bit floats. Throws if there is none of that name, or it has another type. */
  tensor(name: string): Tensor {
    const entry = this.#entries.get(name)
    if (entry === undefined || entry.dtype !== "F16") throw new Error(`The weights have no tensor ${name} of 16 bits.`)
    const [from, to] = entry.data_offsets
    const bytes = this.#read(this.#from + from, to - from)
    const values = new Float32Array(bytes.length / 2)
    for (let i = 0; i < values.length; i++) values[i] = this.#halves[bytes.readUInt16LE(2 * i)]!
    return { shape: entry.shape, values }
  }
  close(): void {
    closeSync(this.#file)
  }
}
