/**
 * Files of this program are private: documents, events, keys. From here on, files that it and its children create have
 * no permissions for group and others; files of an older version are corrected when its folder is taken. Only a file
 * that a person requests explicitly (`export`) gets that person's mode.
 */
import { chmodSync, chownSync, lstatSync, readdirSync } from "node:fs"
import { join } from "node:path"

let ofUser: number | undefined
/** Idempotent. Returns the umask of the person who started us. */
export const keepPrivate = (): number => {
  const before = process.umask(0o077)
  return (ofUser ??= before)
}

const OTHERS = 0o077
const withoutOthers = (path: string, mode: number): void => {
  if ((mode & OTHERS) !== 0) chmodSync(path, mode & 0o700)
}
/**
 * Corrects a folder and what is below it; links are not changed. `skipped`: names in the folder that belong to another
 * user.
 */
export const makePrivate = (folder: string, skipped: ReadonlySet<string> = new Set()): void => {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (skipped.has(entry.name) || entry.isSymbolicLink()) continue
    const path = join(folder, entry.name)
    if (entry.isDirectory()) makePrivate(path)
    else withoutOthers(path, lstatSync(path).mode)
  }
  withoutOthers(folder, lstatSync(folder).mode)
}

/**
 * Lets one group traverse a folder without listing it: for a program that runs as root with Postgres as another user
 * below it.
 */
export const letPass = (folder: string, gid: number): void => {
  chownSync(folder, lstatSync(folder).uid, gid)
  chmodSync(folder, 0o710)
}
