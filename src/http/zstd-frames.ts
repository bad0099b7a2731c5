/**
 * Finds the ends of the frames of a zstd text (RFC 8878, part 3.1), from their headers alone, so that input can be
 * split there and a missing end is noticed. Decoders of several runtimes do neither. Constant memory; one step per
 * block of up to 128 KB.
 */
const MAGIC = 0xfd2fb528,
  SKIPPABLE = 0x184d2a50
const HEADER_BYTES = { magic: 4, skipped: 4, descriptor: 1, block: 3 } as const
const DICTIONARY_ID_BYTES = [0, 1, 2, 4] as const,
  CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const

interface ZstdFrames {
  /** Continues at `from`: returns the open frame's end, or the end of the bytes. Throws if it is not zstd. */
  readonly next: (bytes: Uint8Array, from: number) => number
  /** Whether the bytes so far are one or more complete frames. */
  readonly isWhole: () => boolean
}

export const makeZstdFrames = (): ZstdFrames => {
  let part: keyof typeof HEADER_BYTES = "magic"
  let header = 0,
    headerBytes = 0
  /** Bytes to skip next, and whether the frame ends after them. */
  let skipped = 0,
    isLast = false
  let hasChecksum = false
  let frames = 0

  const readHeader = () => {
    switch (part) {
      case "magic": {
        if (header !== MAGIC && (header & 0xfffffff0) >>> 0 !== SKIPPABLE)
          throw new Error("invalid header of a zstd frame")
        part = header === MAGIC ? "descriptor" : "skipped"
        break
      }
      case "skipped": {
        skipped = header
        isLast = true
        break
      }
      case "descriptor": {
        const isSingleSegment = (header & 0x20) !== 0
        hasChecksum = (header & 4) !== 0
        const sizeFlag = header >> 6
        skipped =
          (isSingleSegment ? 0 : 1) +
          DICTIONARY_ID_BYTES[header & 3]! +
          (sizeFlag === 0 && isSingleSegment ? 1 : CONTENT_SIZE_BYTES[sizeFlag]!)
        part = "block"
        break
      }
      case "block": {
        const kind = (header >> 1) & 3
        if (kind === 3) throw new Error("a zstd frame has a block of no known kind")
        isLast = (header & 1) === 1
        // A block of one repeated byte stores it once.
        skipped = (kind === 1 ? 1 : header >>> 3) + (isLast && hasChecksum ? 4 : 0)
        break
      }
    }
    header = headerBytes = 0
  }
  return {
    next: (bytes, from) => {
      let at = from
      while (at < bytes.length) {
        if (skipped > 0) {
          const step = Math.min(skipped, bytes.length - at)
          skipped -= step
          at += step
        } else {
          header = (header | (bytes[at++]! << (8 * headerBytes++))) >>> 0
          if (headerBytes === HEADER_BYTES[part]) readHeader()
        }
        if (isLast && skipped === 0) {
          isLast = false
          part = "magic"
          frames++
          return at
        }
      }
      return at
    },
    isWhole: () => frames > 0 && part === "magic" && headerBytes === 0
  }
}
