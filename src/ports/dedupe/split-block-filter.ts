/**
 * Split block Bloom filter (Putze et al. 2007; the layout of Apache Parquet): 256-bit blocks, one bit in each of a
 * block's eight words. A look-up touches one block, which is in one cache line. Blocks are ordered like the first words
 * of fingerprints, so that a filter over sorted fingerprints is written front to back.
 */
const BLOCK_WORDS = 8
/** Bits per id: about 1 in 770 look-ups of an absent id is a false positive, which costs reading a page. */
const FILTER_BITS = 16
const S0 = 0x47b6137b,
  S1 = 0x44974d91,
  S2 = 0x8824ad5b | 0,
  S3 = 0xa2b7289d | 0,
  S4 = 0x705495c7,
  S5 = 0x2df1424b,
  S6 = 0x9efc4947 | 0,
  S7 = 0x5c6bfb31

/** Number of words of a filter for that many ids. */
export const filterWords = (ids: number): number =>
  BLOCK_WORDS * Math.max(1, Math.ceil((ids * FILTER_BITS) / (32 * BLOCK_WORDS)))
/** The factor that maps a fingerprint's first word to its block. */
export const filterScale = (filter: Uint32Array): number => filter.length / BLOCK_WORDS / 2 ** 32

export const filterAdd = (filter: Uint32Array, scale: number, first: number, second: number): void => {
  const at = (((first >>> 0) * scale) | 0) * BLOCK_WORDS
  filter[at]! |= 1 << (Math.imul(second, S0) >>> 27)
  filter[at + 1]! |= 1 << (Math.imul(second, S1) >>> 27)
  filter[at + 2]! |= 1 << (Math.imul(second, S2) >>> 27)
  filter[at + 3]! |= 1 << (Math.imul(second, S3) >>> 27)
  filter[at + 4]! |= 1 << (Math.imul(second, S4) >>> 27)
  filter[at + 5]! |= 1 << (Math.imul(second, S5) >>> 27)
  filter[at + 6]! |= 1 << (Math.imul(second, S6) >>> 27)
  filter[at + 7]! |= 1 << (Math.imul(second, S7) >>> 27)
}

/** False if the fingerprint was certainly not added. Absent ones mostly fail at the first or second word. */
export const filterMayHave = (filter: Uint32Array, scale: number, first: number, second: number): boolean => {
  const at = (((first >>> 0) * scale) | 0) * BLOCK_WORDS
  return (
    ((filter[at]! >>> (Math.imul(second, S0) >>> 27)) & 1) !== 0 &&
    ((filter[at + 1]! >>> (Math.imul(second, S1) >>> 27)) & 1) !== 0 &&
    ((filter[at + 2]! >>> (Math.imul(second, S2) >>> 27)) & 1) !== 0 &&
    ((filter[at + 3]! >>> (Math.imul(second, S3) >>> 27)) & 1) !== 0 &&
    ((filter[at + 4]! >>> (Math.imul(second, S4) >>> 27)) & 1) !== 0 &&
    ((filter[at + 5]! >>> (Math.imul(second, S5) >>> 27)) & 1) !== 0 &&
    ((filter[at + 6]! >>> (Math.imul(second, S6) >>> 27)) & 1) !== 0 &&
    ((filter[at + 7]! >>> (Math.imul(second, S7) >>> 27)) & 1) !== 0
  )
}
