/**
 * Blobs as files in a folder of this process, with a subfolder for each organization. A file gets its name when all
 * of it is on disk; until then its name ends in `.new`. A killed process may leave such a file behind.
 */
import { createHash } from "node:crypto"
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Effect, Layer } from "effect"
import { isMissing, PiecesBroken, writePieces } from "../piece-files.ts"
import {
  BlobFailure,
  blobFailure,
  type BlobKey,
  type BlobRange,
  BlobStore,
  isBlobName,
  LISTED_MAX,
  missingBlob,
  type NewBlob,
  pathOf,
  shortBlob
} from "./blob-store.ts"

const UNFINISHED = ".new"
const PIECE_BYTES = 262_144

/** A file name is durable only after its folder has been synced. */
const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
/** Opens the file for writing, and creates its folder even if the last blob in it is being deleted at this moment. */
const opened = async (path: string): Promise<FileHandle> => {
  for (let attempt = 1; ; attempt++) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    try {
      return await open(path, "w", 0o600)
    } catch (error) {
      if (!isMissing(error) || attempt === 3) throw error
    }
  }
}
const written = async (path: string, { length, pieces }: NewBlob): Promise<string> => {
  const hash = createHash("sha256")
  const file = await opened(path)
  try {
    const seen = (piece: Uint8Array) => void hash.update(piece)
    const came = await writePieces(file, { offset: 0, bytesMax: length, pieces, seen })
    if (came !== length) throw shortBlob(length, came)
    await file.sync()
  } finally {
    await file.close()
  }
  return hash.digest("hex")
}
/** Files being written: if two writers want the same file, the second is refused. */
const underWay = new Set<string>()
const put = async (root: string, key: BlobKey, blob: NewBlob): Promise<{ readonly sha256: string }> => {
  const path = join(root, pathOf(key))
  if (underWay.has(path)) throw new BlobFailure({ kind: "store", message: "The blob is being written already." })
  underWay.add(path)
  try {
    const sha256 = await written(path + UNFINISHED, blob)
    await rename(path + UNFINISHED, path)
    await syncFolder(dirname(path))
    return { sha256 }
  } catch (error) {
    await rm(path + UNFINISHED, { force: true })
    if (!(error instanceof PiecesBroken)) throw error
    throw new BlobFailure({ kind: error.kind === "source" ? "source" : "length", message: error.message })
  } finally {
    underWay.delete(path)
  }
}
/** The file is opened before the stream is returned, so deleting it meanwhile does not break the stream. */
const get = async (root: string, key: BlobKey, range: BlobRange | undefined) => {
  try {
    const file = await open(join(root, pathOf(key)), "r")
    return file.createReadStream({ highWaterMark: PIECE_BYTES, ...range })
  } catch (error) {
    throw isMissing(error) ? missingBlob() : error
  }
}
const remove = async (root: string, key: BlobKey): Promise<void> => {
  const path = join(root, pathOf(key))
  await rm(path, { force: true })
  await rm(path + UNFINISHED, { force: true })
  // Deleting an organization's last blob removes the folder too, unless somebody is about to write the next one.
  await rmdir(dirname(path)).catch((error: unknown) => {
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(String((error as { readonly code?: unknown }).code))) throw error
  })
}
/** The file names in a folder that are ids, in order. */
const named = async (folder: string, after: string): Promise<ReadonlyArray<string>> => {
  try {
    const names = (await readdir(folder)).map((name) =>
      name.endsWith(UNFINISHED) ? name.slice(0, -UNFINISHED.length) : name
    )
    return [...new Set(names)]
      .filter((name) => isBlobName(name) && name > after)
      .sort()
      .slice(0, LISTED_MAX)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

const tried = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: blobFailure })
export const layerFiles = (root: string): Layer.Layer<BlobStore> =>
  Layer.succeed(
    BlobStore,
    BlobStore.of({
      put: (key, blob) => tried(() => put(root, key, blob)),
      get: (key, range) => tried(() => get(root, key, range)),
      remove: (key) => tried(() => remove(root, key)),
      organizations: (after) => tried(() => named(root, after)),
      ids: (organizationId, after) => tried(() => named(join(root, organizationId), after))
    })
  )
