/**
 * Tokens of ASCII text as bytes. An import processes every word of every document, most of them many times, and
 * creating a string for each would dominate its time. Filled by an analyzer, read by code that numbers words.
 */

/** FNV-1a; the analyzer that fills the tokens continues the hash byte by byte. */
export const HASH_SEED = 0x811c9dc5
export const HASH_PRIME = 0x01000193

/** Reused for one text after another. Token `i` is `bytes[ends[i - 1] ?? 0 .. ends[i]]`, lower case. */
export class AsciiTokens {
  bytes = new Uint8Array(4_096)
  ends = new Uint32Array(512)
  hashes = new Uint32Array(512)
  count = 0
  /** Ensures space for the tokens of a text with this many characters. */
  reset(characters: number): void {
    this.count = 0
    if (this.bytes.length < characters) this.bytes = new Uint8Array(characters * 2)
    // A token needs at least one character, and one that separates it from the next.
    const most = (characters >>> 1) + 1
    if (this.ends.length < most) {
      this.ends = new Uint32Array(most * 2)
      this.hashes = new Uint32Array(most * 2)
    }
  }
}
