/**
 * Keyed 128-bit fingerprints of event ids. They are not cryptographic: a tenant who engineered a collision would only
 * lose its own events, because the organization is part of the key. SHA-256 costs eight times as much per event, and 64
 * bits would make two of a few billion ids equal.
 */

/** Four 32-bit words: the installation's secret, or that secret narrowed to one organization. */
export type FingerprintKey = readonly [number, number, number, number]

/** Words of one fingerprint. */
export const FINGERPRINT_WORDS = 4

const rotate = (x: number, bits: number) => (x << bits) | (x >>> (32 - bits))
const finish = (x: number) => {
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return x ^ (x >>> 16)
}

/** Code units of the current text, padded with zeros to a full block. */
let units = new Uint16Array(512)
const BLOCK = 8

/**
 * MurmurHash3 x86 128 (Appleby, 2011) over UTF-16 code units, seeded with all four words of the key. Writes
 * `FINGERPRINT_WORDS` words at `at`. About 0.1 µs for a UUID; no allocation. `before` is a prefix of the text, passed
 * separately so that the two need not be joined.
 */
export const fingerprintInto = (key: FingerprintKey, text: string, out: Uint32Array, at: number, before = ""): void => {
  const from = before.length,
    length = from + text.length
  if (length + BLOCK > units.length) units = new Uint16Array(2 * length + BLOCK)
  for (let i = 0; i < from; i++) units[i] = before.charCodeAt(i)
  for (let i = from; i < length; i++) units[i] = text.charCodeAt(i - from)
  mixInto(key, length, out, at)
}

/** Like `fingerprintInto`, for an ASCII text given as bytes: returns the same, without creating the text. */
export const fingerprintBytesInto = (
  key: FingerprintKey,
  bytes: Uint8Array,
  from: number,
  to: number,
  out: Uint32Array,
  at: number
): void => {
  const length = to - from
  if (length + BLOCK > units.length) units = new Uint16Array(2 * length + BLOCK)
  for (let i = 0; i < length; i++) units[i] = bytes[from + i]!
  mixInto(key, length, out, at)
}

const mixInto = (key: FingerprintKey, length: number, out: Uint32Array, at: number): void => {
  const text = units
  // The length mixed in below distinguishes padding from real zeros.
  for (let i = length; i < length + BLOCK; i++) text[i] = 0
  let a = key[0],
    b = key[1],
    c = key[2],
    d = key[3]
  for (let i = 0; i < length; i += BLOCK) {
    const w0 = text[i]! | (text[i + 1]! << 16)
    const w1 = text[i + 2]! | (text[i + 3]! << 16)
    const w2 = text[i + 4]! | (text[i + 5]! << 16)
    const w3 = text[i + 6]! | (text[i + 7]! << 16)
    a ^= Math.imul(rotate(Math.imul(w0, 0x239b961b), 15), 0xab0e9789)
    a = (Math.imul(rotate(a, 19) + b, 5) + 0x561ccd1b) | 0
    b ^= Math.imul(rotate(Math.imul(w1, 0xab0e9789), 16), 0x38b34ae5)
    b = (Math.imul(rotate(b, 17) + c, 5) + 0x0bcaa747) | 0
    c ^= Math.imul(rotate(Math.imul(w2, 0x38b34ae5), 17), 0xa1e38b93)
    c = (Math.imul(rotate(c, 15) + d, 5) + 0x96cd1c35) | 0
    d ^= Math.imul(rotate(Math.imul(w3, 0xa1e38b93), 18), 0x239b961b)
    d = (Math.imul(rotate(d, 13) + a, 5) + 0x32ac3b17) | 0
  }
  a ^= length
  b ^= length
  c ^= length
  d ^= length
  a = (a + b + c + d) | 0
  b = (b + a) | 0
  c = (c + a) | 0
  d = (d + a) | 0
  a = finish(a)
  b = finish(b)
  c = finish(c)
  d = finish(d)
  a = (a + b + c + d) | 0
  out[at] = a
  out[at + 1] = b + a
  out[at + 2] = c + a
  out[at + 3] = d + a
}

const short = new Uint32Array(FINGERPRINT_WORDS)
/** 53 bits of a fingerprint as a number, never 0; texts that collide are taken for one. */
export const shortPrint = (key: FingerprintKey, kind: string, text: string): number => {
  fingerprintInto(key, text, short, 0, kind)
  return short[0]! * 0x20_0000 + (short[1]! >>> 11) || 1
}

/** The key of one organization, so that equal ids of two organizations have unrelated fingerprints. */
export const narrowKey = (key: FingerprintKey, organizationId: string): FingerprintKey => {
  const words = new Uint32Array(FINGERPRINT_WORDS)
  fingerprintInto(key, organizationId, words, 0)
  return [words[0]!, words[1]!, words[2]!, words[3]!]
}

/** The key from 16 bytes, for example a random value kept with the installation. */
export const fingerprintKeyFrom = (secret: Uint8Array): FingerprintKey => {
  const view = new DataView(secret.buffer, secret.byteOffset, secret.byteLength)
  return [view.getUint32(0), view.getUint32(4), view.getUint32(8), view.getUint32(12)]
}
