/**
 * Files of this program are private: documents, events, keys. From here on whatever it and its children create has no
 * permissions for group and others; files of an older version are corrected when its folder is taken. Only what a
 * person requests as a file of their own (`export`) keeps the person's mode.
 */
import { chmodSync, chownSync, lstatSync, readdirSync } from "node:fs"
import { join } from "node:path"

let ofUser: number | undefined
/** Idempotent. Answers the mask that the person who started us has. */
export const keepPrivate = (): number => {
  const before = process.umask(0o077)
  return (ofUser ??= before)
}

const OTHERS = 0o077
const withoutOthers = (path: string, mode: number): void => {
  if ((mode & OTHERS) !== 0) chmodSync(path, mode & 0o700)
}
/**
 * Corrects a folder and what is below it; links are left alone. `skipped`: names in the folder that belong to another
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
 * Lets one group pass through a folder, without seeing what is in it: where root runs the program and Postgres is
 * another user below it.
 */
export const letPass = (folder: string, gid: number): void => {
  chownSync(folder, lstatSync(folder).uid, gid)
  chmodSync(folder, 0o710)
}
