/**
 * Copies an engine's folder while the engine writes to it. Only documents and schemas are copied; the index is rebuilt
 * from them.
 */
import { join } from "node:path"
import { missingPackage } from "../optional-package.ts"
import { copyEnvironment } from "./copy-environment.ts"

const journalFile = "documents.mdb"

/**
 * Copies everything acknowledged by one moment (without later writes) from the engine's folder `path` into the existing
 * folder `to`, which an engine can open afterwards. Other processes continue to read and write. O(bytes of the
 * journal).
 *
 * @example
 * ```ts
 * import { copyJournal } from "@dowser/engine-sdk/store"
 * import { mkdir } from "node:fs/promises"
 *
 * await mkdir("./copy")
 * await copyJournal("./products", "./copy") // while others go on writing
 * ```
 */
export const copyJournal = async (path: string, to: string): Promise<void> => {
  const lmdb = await import("lmdb").catch((error: unknown) => {
    throw missingPackage("lmdb", "Storage on disk", error)
  })
  await copyEnvironment(lmdb.open, join(path, journalFile), join(to, journalFile), { maxDbs: 8 })
}
