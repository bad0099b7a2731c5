// The dependencies of a copy of the project: those from the registry are the project's, but the packages of the
// repository are the copy's, because otherwise changes there would not take effect.
import { mkdirSync, readdirSync, readlinkSync, symlinkSync } from "node:fs"
import { join, resolve } from "node:path"

const SCOPE = "@dowser"

/** `root`: a clone with everything installed; `copy`: the same files, without `node_modules`. */
export const linkPackages = (root, copy) => {
  const installed = join(root, "node_modules"),
    linked = join(copy, "node_modules")
  mkdirSync(join(linked, SCOPE), { recursive: true })
  for (const name of readdirSync(installed)) if (name !== SCOPE) symlinkSync(join(installed, name), join(linked, name))
  for (const name of readdirSync(join(installed, SCOPE))) {
    const workspace = resolve(installed, SCOPE, readlinkSync(join(installed, SCOPE, name)))
    symlinkSync(join(copy, workspace.slice(resolve(root).length + 1)), join(linked, SCOPE, name))
  }
}
