/** A copy of an LMDB environment that other processes continue to write to. */
import { rmSync } from "node:fs"
import { join } from "node:path"
import type { open as openEnvironment, RootDatabaseOptionsWithPath } from "lmdb"

/** Key in the root database that is put and removed in one transaction, which changes nothing. */
const NOTHING = Buffer.from("copied")

/**
 * Copies the environment at `from` (a folder, or a file that ends in `.mdb`) to `to`, of the same kind, in the state of
 * its newest transaction, and syncs the copy to disk. O(bytes).
 *
 * Copying the bytes is not enough. If the newest transaction was not synced yet, the bytes say so, and opening the copy
 * after a restart of the machine (or with `safeRestore`) goes back to the last synced one. That one is older than the
 * requested state, and later transactions may have reused its pages while the copy was made. So the copy gets one more
 * transaction, which changes nothing and is synced once it is visible.
 *
 * @example
 * ```ts
 * import { copyEnvironment } from "@dowser/engine-sdk/store"
 * import { open } from "lmdb"
 *
 * await copyEnvironment(open, "./products", "./copy")
 * ```
 */
export const copyEnvironment = async (
  open: typeof openEnvironment,
  from: string,
  to: string,
  options: Omit<RootDatabaseOptionsWithPath, "path"> = {}
): Promise<void> => {
  const settings = { ...options, encoding: "binary", keyEncoding: "binary" } as const
  const source = open<Buffer, Buffer>({ ...settings, path: from, readOnly: true })
  try {
    // Not a compacting backup, which refuses an environment that has lost a page.
    await source.backup(to, false)
  } finally {
    await source.close()
  }
  const copy = open<Buffer, Buffer>({ ...settings, path: to, overlappingSync: false })
  try {
    await copy.transaction(() => {
      void copy.put(NOTHING, NOTHING)
      void copy.remove(NOTHING)
    })
    await copy.flushed
  } finally {
    await copy.close()
  }
  rmSync(to.endsWith(".mdb") ? `${to}-lock` : join(to, "lock.mdb"), { force: true })
}
