/**
 * Decodes the bytes of a page: by byte-order mark, by its header, by its own declaration, else as UTF-8. An unknown
 * name is ignored; invalid bytes become U+FFFD and never a failure. Pure.
 */

/** A page declares its encoding early, in ASCII (HTML requires the first 1,024 bytes). */
const LOOKED_BYTES = 4_096

const decoderOf = (label: string | undefined): InstanceType<typeof TextDecoder> | undefined => {
  if (label === undefined || label.length > 40) return undefined
  try {
    return new TextDecoder(label.trim())
  } catch {
    // The label is not in the encoding standard, so the next hint decides.
    return undefined
  }
}
const charsetOf = (contentType: string | undefined): string | undefined =>
  /charset\s*=\s*["']?([\w.:-]{1,40})/i.exec((contentType ?? "").slice(0, 500))?.[1]

/** At least one complete multi-byte UTF-8 character and no invalid one: then the bytes are UTF-8. */
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
  const metaCharset = /<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(beginning)?.[1]
  const declared = /^<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{1,40})/i.exec(beginning)?.[1]
  const decoder =
    decoderOf(charsetOf(contentType)) ?? decoderOf(metaCharset) ?? decoderOf(declared) ?? new TextDecoder("utf-8")
  // Many servers label every page as Latin although the page is UTF-8.
  const text =
    decoder.encoding !== "utf-8" && isUtf8(bytes) && !/^utf-16/.test(decoder.encoding) ? "utf-8" : decoder.encoding
  return new TextDecoder(text).decode(bytes)
}
