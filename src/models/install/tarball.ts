/**
 * Extracts files from an npm tarball whose integrity has been checked: read block by block, so that a library of 200 MB
 * for other platforms is skipped without being kept.
 */
import { createReadStream } from "node:fs"
import { createGunzip } from "node:zlib"

const BLOCK = 512
/** Whether an entry is a file; all others are skipped. */
const isFile = (kind: number): boolean => kind === 0 || kind === 0x30

const textOf = (header: Buffer, from: number, length: number): string => {
  const field = header.subarray(from, from + length)
  const end = field.indexOf(0)
  return field.toString("utf8", 0, end < 0 ? length : end)
}
interface Entry {
  /** Without the top folder of the package. */ readonly path: string
  readonly bytes: number
  readonly isFile: boolean
}
const entryOf = (header: Buffer): Entry | undefined => {
  const name = textOf(header, 0, 100)
  if (name === "") return undefined
  const prefix = textOf(header, 345, 155)
  const bytes = Number.parseInt(textOf(header, 124, 12).trim(), 8)
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw new Error("The archive has an entry without a size.")
  const path = (prefix === "" ? name : `${prefix}/${name}`).split("/").slice(1).join("/")
  return { path, bytes, isFile: isFile(header[156]!) }
}

/** Chunks of every file that `isWanted`, in the archive's order; `isLast` marks the last chunk of each. */
export async function* filesOf(
  tarball: string,
  isWanted: (path: string) => boolean
): AsyncGenerator<{ readonly path: string; readonly piece: Buffer; readonly isLast: boolean }> {
  let kept = Buffer.alloc(0)
  let entry: Entry | undefined
  /** Remaining bytes of the entry, and of the padding of its last block. */
  let left = 0,
    filling = 0
  for await (const chunk of createReadStream(tarball).pipe(createGunzip()) as AsyncIterable<Buffer>) {
    let data = kept.length === 0 ? chunk : Buffer.concat([kept, chunk])
    kept = Buffer.alloc(0)
    while (data.length > 0) {
      if (left > 0 || filling > 0) {
        const piece = data.subarray(0, left)
        left -= piece.length
        if (piece.length > 0 && entry!.isFile && isWanted(entry!.path))
          yield { path: entry!.path, piece, isLast: left === 0 }
        const fill = data.subarray(piece.length, piece.length + filling).length
        if (left === 0) filling -= fill
        data = data.subarray(piece.length + (left === 0 ? fill : 0))
        continue
      }
      if (data.length < BLOCK) {
        kept = Buffer.from(data)
        break
      }
      entry = entryOf(data.subarray(0, BLOCK))
      data = data.subarray(BLOCK)
      left = entry?.bytes ?? 0
      filling = (BLOCK - (left % BLOCK)) % BLOCK
    }
  }
  if (left > 0) throw new Error("The archive ends in the middle of a file.")
}
