/** Sorts rows of a run by fingerprint: one pass spreads them by their uniformly distributed first word, buckets of a few rows remain. */
import { ROW_WORDS } from "./run-format.ts"

/** Order of two rows by their fingerprints. */
export const compareRows = (a: Uint32Array, at: number, b: Uint32Array, bt: number): number => {
  for (let i = 0; i < 4; i++) if (a[at + i] !== b[bt + i]) return a[at + i]! < b[bt + i]! ? -1 : 1
  return 0
}

/** A sorted copy of the first `count` rows. O(count) for fingerprints, about 0.2 µs a row. */
export const sortRows = (rows: Uint32Array, count: number): Uint32Array => {
  const buckets = 2 ** Math.min(24, Math.max(0, Math.ceil(Math.log2(Math.max(1, count / 2)))))
  const scale = buckets / 2 ** 32
  const ends = new Uint32Array(buckets + 1)
  for (let i = 0; i < count; i++) ends[((rows[i * ROW_WORDS]! * scale) | 0) + 1]++
  for (let i = 1; i <= buckets; i++) ends[i] += ends[i - 1]!
  const sorted = new Uint32Array(count * ROW_WORDS)
  const row = new Uint32Array(ROW_WORDS)
  const next = ends.slice()
  for (let i = 0; i < count; i++) {
    const from = i * ROW_WORDS
    const bucket = (rows[from]! * scale) | 0
    for (let k = 0; k < ROW_WORDS; k++) row[k] = rows[from + k]!
    // Insertion into a bucket of two rows on average.
    let slot = next[bucket]!++
    for (; slot > ends[bucket]! && compareRows(sorted, (slot - 1) * ROW_WORDS, row, 0) > 0; slot--) {
      sorted.copyWithin(slot * ROW_WORDS, (slot - 1) * ROW_WORDS, slot * ROW_WORDS)
    }
    sorted.set(row, slot * ROW_WORDS)
  }
  return sorted
}
