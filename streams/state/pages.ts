/**
 * Arena of serialized values in a few large pages, end to end: as objects, a dozen per value, the garbage collector
 * would copy and mark each of them for as long as it is kept. A page is written once, from start to end, and freed when
 * none of its values is needed any more.
 */

/** Size of the first page; each next one is twice as large, up to the maximum. */
const PAGE_BYTES_MIN = 4 * 1024
const PAGE_BYTES = 256 * 1024
/** Pages hold at most this many times the bytes of live values, plus a few pages. */
const SPARSE_FROM = 2
const PAGES_MIN = 4

export interface Page {
  readonly bytes: Buffer
  readonly view: DataView
  /** Bytes of values that are still needed. */
  alive: number
}
const newPage = (bytes: number): Page => {
  // Allocated outside Node's pool, so that its memory is freed with it.
  const buffer = Buffer.from(new ArrayBuffer(bytes))
  return { bytes: buffer, view: new DataView(buffer.buffer), alive: 0 }
}

/** Writes one value after another: `begin`, then its parts; afterwards it is in `page`, from `from` to `to`. */
export class PageWriter {
  page = newPage(0)
  from = 0
  to = 0
  /** Bytes of pages that contain a live value, and of the current page. */
  #bytes = 0
  #alive = 0

  /** Whether most of the pages' memory belongs to dead values. */
  get isSparse(): boolean {
    return this.#bytes > SPARSE_FROM * this.#alive + PAGES_MIN * PAGE_BYTES
  }

  begin(): void {
    this.from = this.to
  }
  /** Keeps the value written since `begin`. */
  keep(): void {
    const bytes = this.to - this.from
    this.page.alive += bytes
    this.#alive += bytes
  }
  /** Releases a kept value that is no longer needed. */
  release(page: Page, bytes: number): void {
    page.alive -= bytes
    this.#alive -= bytes
    if (page.alive === 0 && page !== this.page) this.#bytes -= page.bytes.length
  }
  /** Makes room at the end; the current value stays contiguous. */
  #room(bytes: number): void {
    const { from, page, to } = this
    if (to + bytes <= page.bytes.length) return
    const begun = to - from
    const next = (this.page = newPage(
      Math.max(PAGE_BYTES_MIN, Math.min(PAGE_BYTES, 2 * page.bytes.length), 2 * (begun + bytes))
    ))
    this.#bytes += next.bytes.length
    if (page.alive === 0) this.#bytes -= page.bytes.length
    page.bytes.copy(next.bytes, 0, from, to)
    this.from = 0
    this.to = begun
  }

  byte(value: number): void {
    this.#room(1)
    this.page.bytes[this.to++] = value
  }
  /** Writes an integer that is not negative: seven bits a byte, the low ones first. */
  whole(value: number): void {
    this.#room(8)
    const { bytes } = this.page
    let left = value
    for (; left > 0x7fff_ffff; left = Math.floor(left / 128)) bytes[this.to++] = (left % 128) | 128
    for (; left > 127; left >>>= 7) bytes[this.to++] = (left & 127) | 128
    bytes[this.to++] = left
  }
  double(value: number): void {
    this.#room(8)
    this.page.view.setFloat64(this.to, value)
    this.to += 8
  }
  long(value: number): void {
    this.#room(4)
    this.page.view.setUint32(this.to, value)
    this.to += 4
  }
  /** Twice its length, plus one if it is not ASCII only; then its bytes. */
  text(text: string): void {
    const { length } = text
    this.#room(length + 8)
    const begun = this.to
    this.whole(2 * length)
    const { bytes } = this.page
    let at = this.to
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit > 127) {
        this.to = begun
        return this.#wide(text)
      }
      bytes[at++] = unit
    }
    this.to = at
  }
  #wide(text: string): void {
    const length = Buffer.byteLength(text)
    this.#room(length + 8)
    this.whole(2 * length + 1)
    this.page.bytes.write(text, this.to, "utf8")
    this.to += length
  }
  raw(bytes: Uint8Array): void {
    this.#room(bytes.length)
    this.page.bytes.set(bytes, this.to)
    this.to += bytes.length
  }
}

/** Texts up to this length are read character by character. */
const SHORT = 32

/** Reads what `PageWriter` wrote, part by part. */
export class ByteReader {
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0

  open(bytes: Buffer, at: number): this {
    this.#bytes = bytes
    this.#at = at
    return this
  }
  byte(): number {
    return this.#bytes[this.#at++]!
  }
  whole(): number {
    let value = 0
    for (let unit = 1; ; unit *= 128) {
      const byte = this.byte()
      value += (byte & 127) * unit
      if (byte < 128) return value
    }
  }
  double(): number {
    return this.#bytes.readDoubleBE((this.#at += 8) - 8)
  }
  long(): number {
    return this.#bytes.readUInt32BE((this.#at += 4) - 4)
  }
  /** Returns the next byte without consuming it. */
  peek(): number {
    return this.#bytes[this.#at]!
  }
  /** A copy, because its page may be freed. */
  raw(bytes: number): Uint8Array<ArrayBuffer> {
    const { buffer, byteOffset } = this.#bytes,
      from = byteOffset + this.#at
    this.#at += bytes
    return new Uint8Array((buffer as ArrayBuffer).slice(from, from + bytes))
  }
  text(): string {
    const header = this.whole(),
      from = this.#at,
      to = (this.#at = from + Math.floor(header / 2))
    if (header % 2 !== 0) return this.#bytes.toString("utf8", from, to)
    return to - from > SHORT ? this.#bytes.toString("latin1", from, to) : this.#short(from, to)
  }
  /** Eight characters at a time: decoding by the runtime costs more than most texts. */
  #short(from: number, to: number): string {
    const bytes = this.#bytes
    let text = "",
      at = from
    for (; at + 8 <= to; at += 8)
      text += String.fromCharCode(
        bytes[at]!,
        bytes[at + 1]!,
        bytes[at + 2]!,
        bytes[at + 3]!,
        bytes[at + 4]!,
        bytes[at + 5]!,
        bytes[at + 6]!,
        bytes[at + 7]!
      )
    for (; at < to; at++) text += String.fromCharCode(bytes[at]!)
    return text
  }
}
