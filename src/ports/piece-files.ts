/** Writes bytes that arrive in chunks to a file, for the stores of feeds and of blobs. */
import type { FileHandle } from "node:fs/promises"

/** `source`: the input ended early, and what arrived is in the file. `too large`: nothing beyond the bound is. */
export class PiecesBroken extends Error {
  readonly kind: "source" | "too large"
  constructor(kind: "source" | "too large", message: string) {
    super(message)
    this.kind = kind
  }
}
interface Written {
  readonly pieces: AsyncIterable<Uint8Array>
  /** Position of the first byte in the file. */ readonly offset: number
  readonly bytesMax: number
  /** Called with each chunk before it is written. */ readonly seen?: (piece: Uint8Array) => void
}

export const isMissing = (error: unknown): boolean => (error as { readonly code?: unknown }).code === "ENOENT"

/** Returns the number of bytes afterwards. Reads no faster than it writes. */
export const writePieces = async (file: FileHandle, { bytesMax, offset, pieces, seen }: Written): Promise<number> => {
  let length = offset
  const iterator = pieces[Symbol.asyncIterator]()
  for (;;) {
    const { done, value } = await iterator.next().catch((error: unknown) => {
      throw new PiecesBroken("source", error instanceof Error ? error.message : String(error))
    })
    if (done === true) return length
    if (length + value.length > bytesMax) {
      await iterator.return?.()
      throw new PiecesBroken("too large", `It has more than ${bytesMax} bytes.`)
    }
    seen?.(value)
    for (let at = 0; at < value.length;)
      at += (await file.write(value, at, value.length - at, length + at)).bytesWritten
    length += value.length
  }
}
