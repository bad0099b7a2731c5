/**
 * Runtimes to run a published package on: Deno and pinned Node releases. The Node binaries are npm packages with a
 * lockfile of their own (`test/package/runtimes`), so that a fresh clone that only starts the program does not fetch
 * 375 MB for it.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"

const root = new URL("../..", import.meta.url).pathname
const folder = join(root, "test", "package", "runtimes")

/** A program to start scripts with, or why there is none. */
export type Runtime =
  | { readonly command: ReadonlyArray<string>; readonly missing?: undefined }
  | { readonly missing: string; readonly command?: undefined }

/** Without the npm settings of an outer call, which would affect an inner one. */
export const environmentWithoutNpm = (): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)))

/** Runs `npm ci` in the folder if it is missing or older than its lockfile. Returns the reason if that fails. */
const install = (): string | undefined => {
  const marker = join(folder, "node_modules", ".package-lock.json")
  if (existsSync(marker) && statSync(marker).mtimeMs >= statSync(join(folder, "package-lock.json")).mtimeMs)
    return undefined
  const { status, stderr } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: folder,
    env: environmentWithoutNpm(),
    encoding: "utf8"
  })
  return status === 0 ? undefined : `npm ci in test/package/runtimes failed: ${stderr.split("\n")[0]}`
}
/** Node of that major version. Installed on first use: some seconds. */
export const nodeRuntime = (major: 22 | 24): Runtime => {
  const failure = install()
  const binary = join(folder, "node_modules", `node-${major}-${process.platform}-${process.arch}`, "bin", "node")
  if (existsSync(binary)) return { command: [binary] }
  return {
    missing:
      failure ??
      `npm has no binary of Node ${major} for ${process.platform}-${process.arch} among those that test/package/runtimes names`
  }
}
/** The minimum that the package's `engines` promises. */
const NODE_MIN = [20, 16]
/** The machine's own `node`, of any version. */
export const ownNodeRuntime = (): Runtime => {
  const { stdout } = spawnSync("node", ["-p", "process.versions.node"], { encoding: "utf8" })
  if (!stdout) return { missing: "this machine has no node" }
  const [major, minor] = stdout.split(".").map(Number)
  return major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])
    ? { command: ["node"] }
    : { missing: `Node ${stdout.trim()} is older than ${NODE_MIN.join(".")}` }
}
export const denoRuntime = (): Runtime => {
  const scope = join(root, "node_modules", "@deno")
  const platform = existsSync(scope)
    ? readdirSync(scope).find((name) => existsSync(join(scope, name, "deno")))
    : undefined
  return platform === undefined
    ? { missing: "no Deno binary was installed for this platform" }
    : { command: [join(scope, platform, "deno"), "run", "-A", "--no-prompt", "--quiet"] }
}
