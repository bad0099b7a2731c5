/** Feeds as files in a folder of this process, for an installation with a single process. */
import { createReadStream } from "node:fs"
import { mkdir, open, readdir, rm, stat, truncate } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { isMissing, PiecesBroken, writePieces } from "../piece-files.ts"
import { type Append, FEED_PIECE_BYTES, FeedStore, FeedStoreFailure, storeFailure } from "./feed-store.ts"

const IDS_MAX = 100_000
const SUFFIX = ".feed"
/** The program generates the ids; one that could leave the folder is refused. */
const fileOf = (folder: string, id: string): string => {
  if (!/^[A-Za-z0-9_]{1,64}$/.test(id))
    throw new FeedStoreFailure({ kind: "store", message: "This is no id of a feed." })
  return join(folder, `${id}${SUFFIX}`)
}
const lengthOf = async (file: string): Promise<number> => {
  try {
    return (await stat(file)).size
  } catch (error) {
    if (isMissing(error)) return 0
    throw error
  }
}
const append = async (folder: string, given: Append): Promise<number> => {
  const path = fileOf(folder, given.id)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await lengthOf(path)) !== given.offset)
    throw new FeedStoreFailure({ kind: "offset", message: "There are more or fewer bytes." })
  const file = await open(path, given.offset === 0 ? "w" : "r+", 0o600)
  try {
    return await writePieces(file, given)
  } catch (error) {
    throw error instanceof PiecesBroken
      ? new FeedStoreFailure({ kind: error.kind, message: error.message })
      : storeFailure(error)
  } finally {
    await file.sync()
    await file.close()
  }
}
const ids = async (folder: string): Promise<ReadonlyArray<string>> => {
  try {
    const names = await readdir(folder)
    return names
      .filter((name) => name.endsWith(SUFFIX))
      .slice(0, IDS_MAX)
      .map((name) => name.slice(0, -SUFFIX.length))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

const tried = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: storeFailure })
export const layerFiles = (folder: string): Layer.Layer<FeedStore> =>
  Layer.succeed(
    FeedStore,
    FeedStore.of({
      append: (given) => tried(() => append(folder, given)),
      length: (id) => tried(async () => lengthOf(fileOf(folder, id))),
      read: (id) => createReadStream(fileOf(folder, id), { highWaterMark: FEED_PIECE_BYTES / 4 }),
      truncate: (id, length) => tried(() => truncate(fileOf(folder, id), length)),
      remove: (id) => tried(() => rm(fileOf(folder, id), { force: true })),
      ids: tried(() => ids(folder))
    })
  )
