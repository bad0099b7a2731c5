/**
 * Sorts byte strings without decoding them: four bytes at a time are combined with the string's index into one number,
 * and the runtime sorts numbers natively. Strings that share these four bytes are sorted by the next four.
 */
import { compareBytes } from "./bytes.ts"

/** Shorter runs are sorted by insertion. */
const RUN_MIN = 12
/** 32 bits of text, 3 for how many of its bytes exist, 18 for the index: as much as a double holds exactly. */
const PLACES = 262_144
const LENGTHS = 8

/**
 * Indexes of distinct strings (`bytes[starts[n] .. starts[n + 1]]`) in byte order. Cost: about one number comparison
 * per string comparison of an n log n sort.
 */
export const byteOrder = (bytes: Uint8Array, starts: Uint32Array, size: number): Uint32Array => {
  const order = new Uint32Array(size)
  for (let i = 0; i < size; i++) order[i] = i
  const compare = (a: number, b: number): number =>
    compareBytes(bytes, starts[a], starts[a + 1], bytes, starts[b], starts[b + 1])
  const sortRun = (from: number, to: number, depth: number): void => {
    const count = to - from
    if (count > PLACES) {
      order.subarray(from, to).sort(compare)
      return
    }
    if (count < RUN_MIN) {
      for (let i = from + 1; i < to; i++) {
        const moved = order[i]
        let j = i - 1
        for (; j >= from && compare(order[j], moved) > 0; j--) order[j + 1] = order[j]
        order[j + 1] = moved
      }
      return
    }
    const keys = new Float64Array(count),
      before = order.slice(from, to)
    for (let i = 0; i < count; i++) {
      const at = starts[before[i]] + depth,
        there = Math.min(4, starts[before[i] + 1] - at)
      // A missing byte counts as 0, and a string that ends precedes one that continues with a 0 byte.
      const word =
        (there > 0 ? bytes[at] * 0x1000000 : 0) +
        (there > 1 ? bytes[at + 1] * 0x10000 : 0) +
        (there > 2 ? bytes[at + 2] * 0x100 : 0) +
        (there > 3 ? bytes[at + 3] : 0)
      keys[i] = (word * LENGTHS + there) * PLACES + i
    }
    keys.sort()
    let start = 0,
      last = -1
    for (let i = 0; i < count; i++) {
      const text = Math.floor(keys[i] / PLACES)
      order[from + i] = before[keys[i] - text * PLACES]
      if (text === last) continue
      if (i - start > 1) sortRun(from + start, from + i, depth + 4)
      start = i
      last = text
    }
    if (count - start > 1) sortRun(from + start, to, depth + 4)
  }
  sortRun(0, size, 0)
  return order
}
