/** A copy of an LMDB environment that other processes go on writing to. */
import { rmSync } from "node:fs"
import { join } from "node:path"
import type { open as openEnvironment, RootDatabaseOptionsWithPath } from "lmdb"

/** Of the root database; put and taken away again in one transaction. */
const NOTHING = Buffer.from("copied")

/**
 * Copies the environment at `from` (a folder, or a file that ends in `.mdb`) to `to`, of the same kind, as it is at one
 * moment, its newest transaction, and leaves that on disk. O(bytes).
 *
 * The bytes alone are not enough. Where the newest transaction was not on disk yet, they say so, and whoever opens them
 * after a restart of the machine (or with `safeRestore`) goes back to the last one that was. What that one holds is
 * older than what is asked for, and its pages may have been given to later transactions while the copy was made. So the
 * copy gets one transaction more, which changes nothing and is on disk when it is visible.
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
    // Not the compacting kind: it refuses an environment that has lost a page.
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
