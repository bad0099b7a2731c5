/**
 * Builds and runs the Tantivy peer. Cargo builds it once into a folder of the build cache; one process does the work
 * on one thread.
 */
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { createHash } from "node:crypto"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type PeerFigures, type PeerInput, runPeer } from "./process.ts"

const source = fileURLToPath(new URL("./tantivy", import.meta.url))

const cargo = (args: ReadonlyArray<string>, cwd: string) =>
  spawnSync("cargo", args, { cwd, encoding: "utf8", maxBuffer: 1 << 26 })

/** Runs in a copy: Cargo's lock file names where crates came from and must not enter the repository. */
const inCopy = <A>(run: (folder: string) => A): A => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-tantivy-build-"))
  try {
    cpSync(source, folder, { recursive: true })
    return run(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The reason why the lane cannot run here, or undefined. */
export const tantivyMissing = (): string | undefined => {
  if (existsSync(builtPath())) return undefined
  if (spawnSync("cargo", ["--version"]).status !== 0) return "no cargo"
  return inCopy((folder) => cargo(["fetch"], folder).status) === 0 ? undefined : "the crates of Tantivy cannot be had"
}

/** Path of the program built from this version of the source. */
const builtPath = (): string => {
  const hash = createHash("sha256").update(readFileSync(join(source, "Cargo.toml")))
  for (const file of readdirSync(join(source, "src")).sort()) hash.update(readFileSync(join(source, "src", file)))
  const version = hash.digest("hex").slice(0, 12)
  return fileURLToPath(new URL(`../../node_modules/.cache/dowser-tantivy-peer-${version}`, import.meta.url))
}
/** Built once per machine and version of the source. */
const build = (): string => {
  const built = builtPath()
  if (existsSync(built)) return built
  inCopy((folder) => {
    const run = cargo(["build", "--release"], folder)
    if (run.status !== 0) throw new Error(`cargo failed: ${run.stderr.slice(-600)}`)
    mkdirSync(dirname(built), { recursive: true })
    cpSync(join(folder, "target", "release", "dowser-tantivy-peer"), `${built}.new`)
    renameSync(`${built}.new`, built)
  })
  return built
}

export const runTantivy = (input: PeerInput): PeerFigures => {
  const program = build()
  return runPeer("Tantivy", input, (files) => ({ command: program, arguments: files }))
}
