/** Tarballs of pinned packages, from the registry by npm itself, which knows proxies and mirrors, or from a folder. */
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { createReadStream, existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import type { PinnedPackage } from "./pinned.ts"

const FETCH_MS = 15 * 60_000
const ERROR_CHARACTERS = 2_000

/** In the format of npm's lock files. */
const integrityOf = async (file: string): Promise<string> => {
  const hash = createHash("sha512")
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
  return `sha512-${hash.digest("base64")}`
}
const tarballsIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".tgz"))
    .map((name) => join(folder, name))

/** The packages' files in a folder, whatever their names; throws an error that lists missing ones. */
export const tarballsFrom = async (
  folder: string,
  packages: ReadonlyArray<PinnedPackage>
): Promise<ReadonlyMap<string, string>> => {
  if (!existsSync(folder)) throw new Error(`There is no folder ${folder}.`)
  const found = new Map<string, string>()
  for (const file of tarballsIn(folder)) found.set(await integrityOf(file), file)
  const missing = packages.filter(({ integrity }) => !found.has(integrity))
  if (missing.length > 0) {
    const names = missing.map(({ name, version }) => `${name}@${version}`).join(" ")
    throw new Error(
      `${folder} has no tarball of ${names}: on a machine that reaches a registry, \`npm pack ${names}\` makes them.`
    )
  }
  return new Map(packages.map(({ integrity, name }) => [name, found.get(integrity)!]))
}

/** The npm that started the program, or the one on the machine. */
const npmCommand = (): ReadonlyArray<string> => {
  const { npm_execpath: script, npm_node_execpath: node } = process.env
  if (script?.endsWith(".js") && node !== undefined && existsSync(script)) return [node, script]
  return [process.platform === "win32" ? "npm.cmd" : "npm"]
}
/** Settings of an outer npm call would affect this one; its own cache is removed with the folder. */
const environment = (cache: string): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^npm_(config_(?!registry|.*proxy|cafile|fetch)|package|lifecycle)/.test(name)
    )
  ),
  npm_config_cache: cache,
  npm_config_update_notifier: "false"
})

const fetchOne = ({ name, version }: PinnedPackage, folder: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const [command, ...first] = npmCommand()
    const given = [...first, "pack", `${name}@${version}`, "--ignore-scripts", "--loglevel=error", "--pack-destination"]
    const npm = spawn(command!, [...given, folder], {
      cwd: folder,
      env: environment(join(folder, "cache")),
      stdio: ["ignore", "ignore", "pipe"],
      timeout: FETCH_MS
    })
    let stderr = ""
    npm.stderr.on("data", (chunk: Buffer) => {
      stderr = (stderr + chunk.toString("utf8")).slice(-ERROR_CHARACTERS)
    })
    npm.on("error", (error) => reject(new Error(`npm could not be started: ${error.message}`)))
    npm.on("exit", (code, signal) => {
      if (code === 0) return resolve()
      const why = stderr.split("\n").find((line) => /^npm (ERR!|error) (?!code|A complete)/.test(line))
      reject(new Error(`npm could not fetch ${name}@${version}: ${why ?? signal ?? `exit code ${code}`}`))
    })
  })

/** Downloads into the folder, one after another. */
export const fetchTarballs = async (
  folder: string,
  packages: ReadonlyArray<PinnedPackage>,
  report: (name: string, done: number) => void
): Promise<ReadonlyMap<string, string>> => {
  for (const [at, each] of packages.entries()) {
    report(each.name, at / packages.length)
    await fetchOne(each, folder)
  }
  return tarballsFrom(folder, packages)
}
