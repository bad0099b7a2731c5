/**
 * SHA-256 (FIPS 180-4), synchronous and in any runtime: a variant is assigned inside a search, which cannot wait for
 * the browser's asynchronous implementation, and the same code must run where there is no `node:crypto`.
 */

const primes = (count: number): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime !== 0)) found.push(n)
  return found
}
/** The first 32 bits of a root's fraction; a double has more than enough precision. */
const fractionOf = (root: number): number => Math.floor((root - Math.floor(root)) * 2 ** 32) | 0
const CONSTANTS = Int32Array.from(primes(64), (prime) => fractionOf(Math.cbrt(prime)))
const START = Int32Array.from(primes(8), (prime) => fractionOf(Math.sqrt(prime)))

const BLOCK_BYTES = 64
const LENGTH_BYTES = 8
const words = new Int32Array(64)
const state = new Int32Array(8)

const rotated = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits))

const spread = (bytes: Uint8Array, from: number): void => {
  for (let i = 0; i < 16; i++) {
    const at = from + 4 * i
    words[i] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
  }
  for (let i = 16; i < 64; i++) {
    const a = words[i - 15]!,
      b = words[i - 2]!
    const small = rotated(a, 7) ^ rotated(a, 18) ^ (a >>> 3),
      large = rotated(b, 17) ^ rotated(b, 19) ^ (b >>> 10)
    words[i] = (words[i - 16]! + small + words[i - 7]! + large) | 0
  }
}
const addBlock = (bytes: Uint8Array, from: number): void => {
  spread(bytes, from)
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
  for (let i = 0; i < 64; i++) {
    const chosen = (e & f) ^ (~e & g),
      major = (a & b) ^ (a & c) ^ (b & c)
    const first = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + chosen + CONSTANTS[i]! + words[i]!) | 0
    const second = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + major) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  const sums = [a, b, c, d, e, f, g, h]
  for (let i = 0; i < 8; i++) state[i] = (state[i]! + sums[i]!) | 0
}

/** Length of a message of `length` bytes after padding. */
export const paddedLength = (length: number): number =>
  BLOCK_BYTES * Math.ceil((length + 1 + LENGTH_BYTES) / BLOCK_BYTES)

/**
 * The first 48 bits of the digest of the first `length` of `bytes`, as an integer. `bytes` must have space for
 * `paddedLength(length)`; bytes after the message are overwritten. Some 1.5 µs per block of 64 bytes.
 */
export const first48Bits = (bytes: Uint8Array, length: number): number => {
  const end = paddedLength(length)
  bytes[length] = 0x80
  bytes.fill(0, length + 1, end)
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(end - 4, 8 * length)
  state.set(START)
  for (let from = 0; from < end; from += BLOCK_BYTES) addBlock(bytes, from)
  return (state[0]! >>> 0) * 2 ** 16 + (state[1]! >>> 16)
}
