/**
 * Bytes of a page to text: by the mark at its beginning, what its header says, what the page says of itself, else
 * UTF-8. A name that nobody knows is passed over; bytes that fit nowhere become U+FFFD, never a failure. Pure.
 */

/** The page says it early, in ASCII (HTML asks for the first 1,024 bytes). */
const LOOKED_BYTES = 4_096

const decoderOf = (label: string | undefined): InstanceType<typeof TextDecoder> | undefined => {
  if (label === undefined || label.length > 40) return undefined
  try {
    return new TextDecoder(label.trim())
  } catch {
    // Not a name of the encoding standard: the next hint decides.
    return undefined
  }
}
const charsetOf = (contentType: string | undefined): string | undefined =>
  /charset\s*=\s*["']?([\w.:-]{1,40})/i.exec((contentType ?? "").slice(0, 500))?.[1]

/** A UTF-8 character that is whole, of more than one byte, and no sign of a wrong one: then the bytes are UTF-8. */
const isUtf8 = (bytes: Uint8Array): boolean => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, 100_000), { stream: true })
    return true
  } catch {
    return false
  }
}

export const decodePage = (bytes: Uint8Array, contentType: string | undefined): string => {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes)
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes)
  const beginning = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, LOOKED_BYTES)).toString("latin1")
  const said = /<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(beginning)?.[1]
  const declared = /^<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{1,40})/i.exec(beginning)?.[1]
  const decoder =
    decoderOf(charsetOf(contentType)) ?? decoderOf(said) ?? decoderOf(declared) ?? new TextDecoder("utf-8")
  // Servers that call everything Latin are common, and their pages are UTF-8.
  const text =
    decoder.encoding !== "utf-8" && isUtf8(bytes) && !/^utf-16/.test(decoder.encoding) ? "utf-8" : decoder.encoding
  return new TextDecoder(text).decode(bytes)
}
