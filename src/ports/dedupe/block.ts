/**
 * A block is what one admission leaves in the log: rows of 16 bytes, the fingerprints of the new ids, in sections by
 * organization. A section begins with a row that no fingerprint can equal (64 fixed bits); it names the organization by
 * a tag and counts its rows. Rows before any section are of no known organization (blocks of earlier versions).
 */
import { FINGERPRINT_WORDS, type FingerprintKey } from "@dowser/log/fingerprint"

const MARK_0 = 0xd0e5b10c
const MARK_1 = 0x5ec7104d
/** Tag of rows that name no organization, and of organizations for which a run's table has no room. */
const TAG_UNKNOWN = 0

/** 32 bits that identify an organization. Two organizations with the same tag share one bound, and nothing else. */
export const organizationTag = ([a, b, c, d]: FingerprintKey): number => {
  const mixed = Math.imul(a ^ Math.imul(b ^ (b >>> 15), 0x9e3779b1), 0x85ebca6b) ^ Math.imul(c ^ (d >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/** Writes the row that begins a section, at `at`. */
export const beginSection = (words: Uint32Array, at: number, tag: number, rows: number): void => {
  words[at] = MARK_0
  words[at + 1] = MARK_1
  words[at + 2] = tag
  words[at + 3] = rows
}

/**
 * The words of a block; copied only if the bytes are not aligned to words. Bytes after the last complete row are
 * ignored.
 */
export const wordsOf = (block: Uint8Array): Uint32Array => {
  const rows = Math.floor(block.byteLength / (4 * FINGERPRINT_WORDS))
  return block.byteOffset % 4 === 0
    ? new Uint32Array(block.buffer, block.byteOffset, rows * FINGERPRINT_WORDS)
    : // Not `slice`, which returns a view of the same bytes for a Buffer.
      new Uint32Array(Uint8Array.from(block.subarray(0, rows * 4 * FINGERPRINT_WORDS)).buffer)
}

/** Calls `visit` for each fingerprint row of `words[from..to]`, in order; returns the number of rows. */
export const eachRow = (
  words: Uint32Array,
  from: number,
  to: number,
  visit: (words: Uint32Array, at: number, tag: number) => void
): number => {
  let tag = TAG_UNKNOWN
  let rows = 0
  for (let at = from; at + FINGERPRINT_WORDS <= to; at += FINGERPRINT_WORDS) {
    if (words[at] === MARK_0 && words[at + 1] === MARK_1) tag = words[at + 2]!
    else {
      visit(words, at, tag)
      rows++
    }
  }
  return rows
}
