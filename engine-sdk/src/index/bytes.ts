/**
 * UTF-8 text in byte tables: encoding into them, decoding from them, and comparing within them. Decoding also works
 * over shared memory, which a plain `TextDecoder` refuses.
 */
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** On one runtime, calling the encoder leaves the JavaScript engine, so a loop is faster for short ASCII texts. */
export const encodeUtf8 = (text: string): Uint8Array => {
  const { length } = text
  if (length > 64) return encoder.encode(text)
  const bytes = new Uint8Array(length)
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code >= 0x80) return encoder.encode(text)
    bytes[i] = code
  }
  return bytes
}

/** Short texts that are encoded for a single use, and views of them by length. */
const PASSING_MAX = 64
const passing = new Uint8Array(PASSING_MAX)
const passingViews = Array.from({ length: PASSING_MAX + 1 }, (_, length) => passing.subarray(0, length))
/**
 * Like `encodeUtf8`, but valid only until the next call. In V8 15 each typed array has memory outside the heap, however
 * short it is, which costs some 300 ns; a search looks up ten words.
 */
export const passingUtf8 = (text: string): Uint8Array => {
  const { length } = text
  if (length > PASSING_MAX) return encoder.encode(text)
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code >= 0x80) return encoder.encode(text)
    passing[i] = code
  }
  return passingViews[length]
}

/**
 * Encodes into `bytes` from `at` on, which must have three free bytes per character; returns the number of bytes used.
 */
export const writeUtf8 = (text: string, bytes: Uint8Array, at: number): number => {
  const { length } = text
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code >= 0x80) return i + encoder.encodeInto(i === 0 ? text : text.slice(i), bytes.subarray(at + i)).written
    bytes[at + i] = code
  }
  return length
}

/** Cost: one character per byte for ASCII, which is nearly all text here; longer or non-ASCII text uses the decoder. */
export const decodeUtf8 = (bytes: Uint8Array, start: number, end: number): string => {
  const length = end - start
  if (length <= 48) {
    let text = ""
    let i = start
    for (; i < end; i++) {
      const byte = bytes[i]
      if (byte >= 0x80) break
      text += String.fromCharCode(byte)
    }
    if (i === end) return text
  }
  // slice() copies out of shared memory into a plain buffer.
  return decoder.decode(bytes.slice(start, end))
}

/** Compares by bytes, the order of every table in a segment: negative, zero or positive. */
export const compareBytes = (
  a: Uint8Array,
  aStart: number,
  aEnd: number,
  b: Uint8Array,
  bStart: number,
  bEnd: number
): number => {
  const length = Math.min(aEnd - aStart, bEnd - bStart)
  for (let i = 0; i < length; i++) {
    const d = a[aStart + i] - b[bStart + i]
    if (d !== 0) return d
  }
  return aEnd - aStart - (bEnd - bStart)
}

const surrogate = /[\ud800-\udfff]/

/** Compares strings in the order of their UTF-8 bytes; plain `<` differs only for surrogates. */
export const compareUtf8 = (a: string, b: string): number => {
  if (a === b) return 0
  if (!surrogate.test(a) && !surrogate.test(b)) return a < b ? -1 : 1
  const x = encodeUtf8(a),
    y = encodeUtf8(b)
  return compareBytes(x, 0, x.length, y, 0, y.length)
}

/** Sorts in byte order, with the JavaScript engine's native sort unless a surrogate requires the slow one. */
export const sortUtf8 = (texts: string[]): string[] =>
  texts.some((t) => surrogate.test(t)) ? texts.sort(compareUtf8) : texts.sort()
const RUN_TEXTS = 4_096
/** Like `sortUtf8`, in steps of some milliseconds: sorts runs, then merges them in pairs. */
export function* sortingUtf8(texts: string[]): Generator<void, string[]> {
  let runs: string[][] = []
  for (let from = 0; from < texts.length; from += RUN_TEXTS) {
    runs.push(sortUtf8(texts.slice(from, from + RUN_TEXTS)))
    yield
  }
  while (runs.length > 1) {
    const merged: string[][] = []
    for (let r = 0; r < runs.length; r += 2) {
      const a = runs[r],
        b = runs[r + 1] ?? [],
        into: string[] = []
      for (let i = 0, j = 0; i < a.length || j < b.length;) {
        into.push(j >= b.length || (i < a.length && compareUtf8(a[i], b[j]) <= 0) ? a[i++] : b[j++])
        if (into.length % RUN_TEXTS === 0) yield
      }
      merged.push(into)
    }
    runs = merged
  }
  return runs[0] ?? []
}

/** FNV-1a over bytes. The id tables of segments use it, so it is part of the stored format. */
export const hashBytes = (bytes: Uint8Array, start: number, end: number): number => {
  let hash = 0x811c9dc5
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i], 0x01000193)
  // Final mixing, because the low bits select the slot.
  hash ^= hash >>> 16
  return Math.imul(hash, 0x45d9f3b) >>> 0
}

/** Up to this length bytes are copied one by one, because a view of the source would cost more. */
const COPIED_MAX = 128
/** Appends bytes to a buffer that grows by doubling. */
export class ByteLog {
  bytes = new Uint8Array(256)
  length = 0
  /** Appends a text, at the cost of one copy; returns the new length. */
  text(text: string): number {
    const room = text.length * 3
    if (this.length + room > this.bytes.length) this.grow(this.length + room)
    return (this.length += writeUtf8(text, this.bytes, this.length))
  }
  copy(source: Uint8Array, start: number, end: number): number {
    if (this.length + end - start > this.bytes.length) this.grow(this.length + end - start)
    const { bytes } = this
    let to = this.length
    if (end - start > COPIED_MAX) {
      bytes.set(source.subarray(start, end), to)
      return (this.length = to + end - start)
    }
    for (let from = start; from < end; from++) bytes[to++] = source[from]
    return (this.length = to)
  }
  done(): Uint8Array {
    return this.bytes.subarray(0, this.length)
  }
  private grow(least: number): void {
    const wider = new Uint8Array(Math.max(least, this.bytes.length * 2))
    wider.set(this.bytes.subarray(0, this.length))
    this.bytes = wider
  }
}

/** `hashBytes` of a text's UTF-8 bytes, without encoding it if it is ASCII. */
export const hashText = (text: string): number => {
  const { length } = text
  let hash = 0x811c9dc5
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code >= 0x80) {
      const bytes = encoder.encode(text)
      return hashBytes(bytes, 0, bytes.length)
    }
    hash = Math.imul(hash ^ code, 0x01000193)
  }
  hash ^= hash >>> 16
  return Math.imul(hash, 0x45d9f3b) >>> 0
}

/** Appends unsigned 32-bit numbers to a buffer that grows by doubling. */
export class WordLog {
  words: Uint32Array
  length = 0
  constructor(capacity = 32) {
    this.words = new Uint32Array(capacity)
  }
  push(value: number): void {
    if (this.length === this.words.length) {
      const wider = new Uint32Array(this.words.length * 2)
      wider.set(this.words)
      this.words = wider
    }
    this.words[this.length++] = value
  }
  /** Reserves room for `count` more; the caller may then write `words` and `length` itself. */
  reserve(count: number): void {
    if (this.length + count <= this.words.length) return
    const wider = new Uint32Array(Math.max(this.length + count, this.words.length * 2))
    wider.set(this.words)
    this.words = wider
  }
  done(): Uint32Array {
    return this.words.subarray(0, this.length)
  }
}

/** Appends numbers to a buffer that grows by doubling. */
export class NumberLog {
  numbers = new Float64Array(32)
  length = 0
  push(value: number): void {
    if (this.length === this.numbers.length) {
      const wider = new Float64Array(this.numbers.length * 2)
      wider.set(this.numbers)
      this.numbers = wider
    }
    this.numbers[this.length++] = value
  }
}
