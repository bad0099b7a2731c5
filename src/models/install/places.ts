/**
 * Where installations are: in the program's own folder, shared by all data folders of a machine, or, if that is not
 * writable (a program owned by root, a read-only image), in the data folder. An installation is a folder named by a
 * hash of everything that is pinned, and appears by one rename: whatever exists is complete, and any number of
 * processes may read it.
 */
import { createHash } from "node:crypto"
import { accessSync, constants, createReadStream, existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import { allFiles, modelsFolder, type Pinned, type PinnedFile } from "./pinned.ts"

/** Name of an installation (`Pinned.id`). */
const NAME = /^[0-9a-f]{16}$/

/** Folders in order of preference. `own`: the folder chosen by the person who started the program. */
export const placesOf = (dataFolder: string, own: string | undefined): ReadonlyArray<string> =>
  own === undefined || own === "" ? [join(modelsFolder, "installed"), join(dataFolder, "models")] : [resolve(own)]

/** An installation of that name with every file at its size. Hashes were checked when it was created. */
export const findInstalled = (places: ReadonlyArray<string>, pinned: Pinned): string | undefined =>
  places.map((place) => join(place, pinned.id)).find((folder) => isWhole(folder, pinned))

export const isWhole = (folder: string, pinned: Pinned): boolean =>
  allFiles(pinned).every((file) => isThere(folder, file))
const isThere = (folder: string, { bytes, path }: PinnedFile): boolean => {
  try {
    return statSync(join(folder, path)).size === bytes
  } catch {
    // The file is missing, or in a folder that this user may not enter: both count as not installed.
    return false
  }
}

/**
 * Other users of the machine also run these files, whoever started the program, and none of them is secret. Called by
 * the installing process before it writes.
 */
export const readableByAll = (): void => {
  process.umask(0o022)
}

/** The first place that can be written to; throws the error of the last one. */
export const writablePlace = (places: ReadonlyArray<string>): string => {
  let failure: unknown
  for (const place of places) {
    try {
      mkdirSync(place, { recursive: true })
      accessSync(place, constants.W_OK)
      return place
    } catch (error) {
      failure = error
    }
  }
  throw new Error(
    `No folder for models can be written: ${failure instanceof Error ? failure.message : String(failure)}`
  )
}

/** Paths of files whose contents differ from their hashes. */
export const wrongFiles = async (folder: string, pinned: Pinned): Promise<ReadonlyArray<string>> => {
  const wrong: Array<string> = []
  for (const { path, sha256 } of allFiles(pinned)) {
    const hash = createHash("sha256")
    for await (const chunk of createReadStream(join(folder, path))) hash.update(chunk as Buffer)
    if (hash.digest("hex") !== sha256) wrong.push(path)
  }
  return wrong
}

/** Also removes those of other versions of the program, but nothing else in these folders. */
export const removeInstalled = (places: ReadonlyArray<string>): ReadonlyArray<string> => {
  const installed = places.flatMap((place) =>
    existsSync(place)
      ? readdirSync(place)
          .filter((name) => NAME.test(name))
          .map((name) => join(place, name))
      : []
  )
  for (const folder of installed) rmSync(folder, { recursive: true })
  return installed
}
