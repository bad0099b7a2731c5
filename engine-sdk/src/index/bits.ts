/**
 * Sets of documents as bits in 32-bit words. Functions here allocate only if their name says so, because these loops
 * run for every filter and every facet.
 */
export type Bits = Uint32Array
/** A set that may be cached elsewhere, so it may only be read or copied. */
export interface ReadonlyBits {
  readonly length: number
  readonly [word: number]: number
  slice(): Bits
}

export const bitsOf = (size: number): Bits => new Uint32Array((size + 31) >>> 5)
export const hasBit = (bits: ReadonlyBits, index: number): boolean => (bits[index >>> 5] & (1 << (index & 31))) !== 0
export const setBit = (bits: Bits, index: number): void => {
  bits[index >>> 5] |= 1 << (index & 31)
}
export const clearBit = (bits: Bits, index: number): void => {
  bits[index >>> 5] &= ~(1 << (index & 31))
}

/** Number of set bits in one word. */
export const popcount32 = (word: number): number => {
  let v = word - ((word >>> 1) & 0x55555555)
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333)
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
export const countBits = (bits: ReadonlyBits): number => {
  let total = 0
  for (let i = 0; i < bits.length; i++) if (bits[i] !== 0) total += popcount32(bits[i])
  return total
}
export const hasAnyBit = (bits: ReadonlyBits): boolean => {
  for (let i = 0; i < bits.length; i++) if (bits[i] !== 0) return true
  return false
}
/** Sets the first `size` bits and clears the rest of the last word. */
export const fillBits = (bits: Bits, size: number): Bits => {
  bits.fill(0xffffffff)
  if ((size & 31) !== 0 && bits.length > 0) bits[bits.length - 1] = ((1 << (size & 31)) - 1) >>> 0
  return bits
}
export const andInto = (target: Bits, other: ReadonlyBits): Bits => {
  for (let i = 0; i < target.length; i++) target[i] &= other[i]
  return target
}
export const orInto = (target: Bits, other: ReadonlyBits): Bits => {
  for (let i = 0; i < target.length; i++) target[i] |= other[i]
  return target
}
export const andNotInto = (target: Bits, other: ReadonlyBits): Bits => {
  for (let i = 0; i < target.length; i++) target[i] &= ~other[i]
  return target
}
/** The complement within `size` documents, in place. */
export const notInto = (target: Bits, size: number): Bits => {
  for (let i = 0; i < target.length; i++) target[i] = ~target[i]
  if ((size & 31) !== 0 && target.length > 0) target[target.length - 1] &= (1 << (size & 31)) - 1
  return target
}
/**
 * Calls `visit` with every set index, ascending. V8 compiles this form of the loop, here and elsewhere, to integers.
 * Without `| 0`, and with the lowest bit cleared by `^=`, a loop may become seven times slower: a list of 36,000
 * documents of 100,000 took .20 instead of .028 ms in some runs and .03 in others (presumably in doubles, as `-word`
 * of the highest bit is no 32-bit integer).
 */
export const eachBit = (bits: ReadonlyBits, visit: (index: number) => void): void => {
  for (let w = 0; w < bits.length; w++)
    for (let word = bits[w] | 0; word !== 0; word &= word - 1) visit((w << 5) + 31 - Math.clz32(word & -word))
}
