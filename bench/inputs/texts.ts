/**
 * Many texts as one block of bytes outside the garbage-collected heap. A million strings that only the bench needs
 * would lengthen every collector pause that it measures.
 */
const CHUNK_BYTES = 65_536

export class Texts implements Iterable<string> {
  readonly length: number
  readonly #bytes: Uint8Array
  /** The start of each text, and the end of the last. Each text ends with a newline. */ readonly #starts: Float64Array

  private constructor(bytes: Uint8Array, starts: Float64Array) {
    this.#bytes = bytes
    this.#starts = starts
    this.length = starts.length - 1
  }
  static of(texts: Iterable<string>): Texts {
    let bytes = new Uint8Array(1 << 20)
    const starts = [0]
    let size = 0
    const encoder = new TextEncoder()
    for (const text of texts) {
      const most = text.length * 3 + 1
      if (size + most > bytes.length) {
        const larger = new Uint8Array(Math.max(bytes.length * 2, size + most))
        larger.set(bytes.subarray(0, size))
        bytes = larger
      }
      size += encoder.encodeInto(text, bytes.subarray(size)).written
      bytes[size++] = 10
      starts.push(size)
    }
    return new Texts(bytes.subarray(0, size), Float64Array.from(starts))
  }
  at(i: number): string {
    return Buffer.from(
      this.#bytes.buffer,
      this.#bytes.byteOffset + this.#starts[i],
      this.#starts[i + 1] - this.#starts[i] - 1
    ).toString("utf8")
  }
  *[Symbol.iterator](): Generator<string> {
    for (let i = 0; i < this.length; i++) yield this.at(i)
  }
  /** All of them as lines, not copied. */
  bytes(): Uint8Array {
    return this.#bytes.subarray(this.#starts[0], this.#starts[this.length])
  }
  /** The same texts, not copied. */
  slice(from: number, to: number): Texts {
    return new Texts(this.#bytes, this.#starts.subarray(from, Math.min(to, this.length) + 1))
  }
  map(each: (text: string, i: number) => string): Texts {
    const texts = this
    return Texts.of(
      (function* () {
        for (let i = 0; i < texts.length; i++) yield each(texts.at(i), i)
      })()
    )
  }
  filter(isWanted: (i: number) => boolean): Texts {
    const texts = this
    return Texts.of(
      (function* () {
        for (let i = 0; i < texts.length; i++) if (isWanted(i)) yield texts.at(i)
      })()
    )
  }
  /** Lines in chunks as a server passes them on, not copied. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0, to = 0; at < this.length; at = to) {
      while (to < this.length && this.#starts[to] - this.#starts[at] < CHUNK_BYTES) to++
      yield this.#bytes.subarray(this.#starts[at], this.#starts[to])
    }
  }
}
