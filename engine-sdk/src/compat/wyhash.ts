/**
 * wyhash, version 5 with its published secret and seed 0 (the algorithm is in the public domain): 64 bits of a byte
 * string. Used only where an order of the reference engine depends on it. About a microsecond per call, because 64-bit
 * products are bigints here.
 */
const SECRET = [
  0xa0761d6478bd642fn,
  0xe7037ed1a0b428dbn,
  0x8ebc6af09c88c6e3n,
  0x589965cc75374cc3n,
  0x1d8e4e27c47d124fn,
  0x72b22b96e169b471n
] as const
const LOW = 0xffff_ffff_ffff_ffffn
const STRIPE_BYTES = 64

/** High and low half of the product, folded. */
const fold = (a: bigint, b: bigint): bigint => {
  const product = a * b
  return (product >> 64n) ^ (product & LOW)
}
const mix = (a: bigint, b: bigint): bigint => a ^ b ^ fold(a, b)

/** The hash as an unsigned number. O(bytes). */
export const wyhash = (bytes: Uint8Array): bigint => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const eight = (at: number): bigint => view.getBigUint64(at, true)
  const pair = (at: number, secret: number, seed: bigint, other = at + 8): bigint =>
    mix(eight(at) ^ SECRET[secret], eight(other) ^ seed)
  const length = bytes.length
  let seed: bigint = SECRET[4]
  let at = 0,
    left = length
  if (left > STRIPE_BYTES) {
    const lanes = [seed, seed, seed, seed]
    for (; left > STRIPE_BYTES; left -= STRIPE_BYTES, at += STRIPE_BYTES)
      for (let lane = 0; lane < 4; lane++) lanes[lane] = pair(at + lane * 16, lane, lanes[lane])
    seed = lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3]
  }
  const end = at + left
  let hash: bigint
  if (left > 32) hash = pair(at, 0, seed) ^ pair(at + 16, 1, seed) ^ pair(end - 32, 2, seed) ^ pair(end - 16, 3, seed)
  else if (left > 16) hash = pair(at, 0, seed) ^ pair(end - 16, 1, seed)
  else if (left >= 8) hash = pair(at, 0, seed, end - 8)
  else if (left >= 4)
    hash = mix(BigInt(view.getUint32(at, true)) ^ SECRET[0], BigInt(view.getUint32(end - 4, true)) ^ seed)
  else
    hash = mix(
      BigInt(left === 0 ? 0 : (bytes[at] << 16) | (bytes[at + (left >> 1)] << 8) | bytes[end - 1]) ^ SECRET[0],
      seed
    )
  return fold(hash ^ BigInt(length), SECRET[5])
}
