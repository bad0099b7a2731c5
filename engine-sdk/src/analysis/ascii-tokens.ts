/**
 * Tokens of ASCII text as bytes. An import processes every word of every document, most of them many times, and
 * creating a string for each would dominate its time. Filled by an analyzer, read by code that numbers words.
 */
import { TEXT_END } from "./character-classes.ts"

/** FNV-1a; the analyzer that fills the tokens continues the hash byte by byte. */
export const HASH_SEED = 0x811c9dc5
export const HASH_PRIME = 0x01000193
export const tokenHash = (bytes: Uint8Array, start: number, end: number): number => {
  let hash = HASH_SEED
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i], HASH_PRIME)
  return hash >>> 0
}

const encoder = new TextEncoder()
/** Shorter texts are read character by character, because calling the encoder leaves the JavaScript engine. */
const ENCODED_MIN_CHARACTERS = 48

/** The characters of an ASCII text as bytes. Reused for one text after another. */
export class AsciiText {
  bytes = new Uint8Array(4_096)
  /**
   * Fills `bytes`, up to `TEXT_END`; false if the text is not ASCII. Loops over bytes are faster than with
   * `charCodeAt`, which looks at the kind of string again for every character.
   */
  read(text: string): boolean {
    const { length } = text
    // The encoder needs three bytes per character to find out that a text is not ASCII.
    if (this.bytes.length <= length * 3) this.bytes = new Uint8Array(length * 3 + 1)
    const { bytes } = this
    if (length >= ENCODED_MIN_CHARACTERS) {
      if (encoder.encodeInto(text, bytes).written !== length) return false
    } else
      for (let i = 0; i < length; i++) {
        const code = text.charCodeAt(i)
        if (code >= 128) return false
        bytes[i] = code
      }
    bytes[length] = TEXT_END
    return true
  }
}

/**
 * Token `i` is `bytes[ends[i - 1] ?? 0 .. ends[i]]`, lower case: the tokens overwrite the characters of their text
 * (`read`), because they are never longer.
 */
export class AsciiTokens extends AsciiText {
  ends = new Uint32Array(512)
  hashes = new Uint32Array(512)
  count = 0
  /** Ensures space for the text's tokens, too. */
  override read(text: string): boolean {
    this.count = 0
    // A token needs at least one character, and one that separates it from the next.
    const most = (text.length >>> 1) + 1
    if (this.ends.length < most) {
      this.ends = new Uint32Array(most * 2)
      this.hashes = new Uint32Array(most * 2)
    }
    return super.read(text)
  }
}
