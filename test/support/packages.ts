/**
 * Resolves modules as written in an import to the files of this repository: relative ones, and our packages by name.
 */
import { readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

const root = resolve(new URL("../..", import.meta.url).pathname)
const SOURCE = "dowser-source"
type Exported = string | { readonly [condition: string]: string }

interface Package {
  readonly folder: string
  /** Files by subpath; `.` is the name alone. */
  readonly exports: ReadonlyMap<string, string>
}
const folders = (
  JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly workspaces: ReadonlyArray<string> }
).workspaces
export const packages: ReadonlyMap<string, Package> = new Map(
  folders.map((folder) => {
    const read = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
      readonly name: string
      readonly exports?: Readonly<Record<string, Exported>>
    }
    const exports = Object.entries(read.exports ?? {}).map(
      ([subpath, to]) => [subpath, join(folder, typeof to === "string" ? to : to[SOURCE]!)] as const
    )
    return [read.name, { folder, exports: new Map(exports) }] as const
  })
)

/**
 * The file that an import refers to, by its path from the root; undefined for other packages and for what is not
 * exported.
 */
export const resolveModule = (from: string, written: string): string | undefined => {
  if (written.startsWith(".")) return relative(root, resolve(root, dirname(from), written))
  const [, name, subpath] = /^(@dowser\/[^/]+)(\/.+)?$/.exec(written) ?? []
  return name === undefined ? undefined : packages.get(name)?.exports.get(`.${subpath ?? ""}`)
}
