/**
 * Decodes the bytes of a feed: by its byte-order mark, by its XML declaration, else by guessing from the first
 * 64 KB. No more than these is kept in memory. Pure.
 */
import { FeedBroken } from "./reader.ts"

const SNIFFED_BYTES = 65_536
/** The latest end of an XML declaration. */
const DECLARATION_BYTES = 1_024

const markedAs = (bytes: Uint8Array): string | undefined =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
    ? "utf-8"
    : bytes[0] === 0xff && bytes[1] === 0xfe
      ? "utf-16le"
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? "utf-16be"
        : undefined
const declaredAs = (bytes: Uint8Array): string | undefined =>
  /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']/.exec(
    Buffer.from(bytes.subarray(0, DECLARATION_BYTES)).toString("latin1")
  )?.[1]
/** Accepts an incomplete sequence at the end, because `bytes` may be cut anywhere. */
const isUtf8 = (bytes: Uint8Array): boolean => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}
/** Cyrillic words are runs of bytes with the high bit; words of Western languages contain one here and there. */
const singleByteOf = (bytes: Uint8Array): string => {
  let high = 0,
    runs = 0
  bytes.forEach((byte, i) => {
    if (byte < 0xc0) return
    high++
    if ((bytes[i - 1] ?? 0) >= 0xc0) runs++
  })
  return runs * 2 >= high ? "windows-1251" : "windows-1252"
}
/** Returns a label for `TextDecoder`. A label from the XML declaration may be unknown to it. */
export const charsetOf = (first: Uint8Array): string =>
  markedAs(first) ?? declaredAs(first) ?? (isUtf8(first) ? "utf-8" : singleByteOf(first))

const decoderFor = (charset: string) => {
  try {
    return new TextDecoder(charset)
  } catch {
    throw new FeedBroken(`The feed says that its encoding is ${charset}, which is not known.`)
  }
}
export async function* textOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let first: Array<Uint8Array> = [],
    size = 0,
    decoder: ReturnType<typeof decoderFor> | undefined
  for await (const piece of pieces) {
    if (decoder !== undefined) {
      yield decoder.decode(piece, { stream: true })
      continue
    }
    first.push(piece)
    size += piece.length
    if (size < SNIFFED_BYTES) continue
    const bytes = Buffer.concat(first, size)
    first = []
    decoder = decoderFor(charsetOf(bytes.subarray(0, SNIFFED_BYTES)))
    yield decoder.decode(bytes, { stream: true })
  }
  if (decoder !== undefined) return yield decoder.decode()
  const bytes = Buffer.concat(first, size)
  yield decoderFor(charsetOf(bytes)).decode(bytes)
}
