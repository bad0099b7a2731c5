/**
 * Builds and runs the Lucene peer. Maven resolves it once into a folder of the temporary directory; one JVM does the
 * work on one thread.
 */
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type PeerFigures, type PeerInput, runPeer } from "./process.ts"

/** The reason why the lane cannot run here, or undefined. */
export const luceneMissing = (): string | undefined =>
  spawnSync("java", ["-version"]).status !== 0
    ? "no Java"
    : spawnSync("mvn", ["-version"]).status !== 0
      ? "no Maven"
      : undefined

/** Jars and classes, resolved once per machine and version of the source. */
const build = (): string => {
  const source = fileURLToPath(new URL("./lucene", import.meta.url))
  const version = String(readFileSync(join(source, "src/main/java/dowser/LucenePeer.java")).length)
  const built = fileURLToPath(new URL(`../../node_modules/.cache/dowser-lucene-peer-${version}`, import.meta.url))
  if (existsSync(built)) return built
  const fresh = mkdtempSync(join(tmpdir(), "dowser-lucene-build-"))
  cpSync(source, fresh, { recursive: true })
  for (const args of [
    ["dependency:copy-dependencies", "-DincludeScope=runtime", `-DoutputDirectory=${join(fresh, "lib")}`],
    ["compile"]
  ]) {
    const run = spawnSync("mvn", ["-B", "-ntp", "-q", ...args], { cwd: fresh, encoding: "utf8" })
    if (run.status !== 0) throw new Error(`Maven failed: ${(run.stdout + run.stderr).slice(-600)}`)
  }
  mkdirSync(dirname(built), { recursive: true })
  cpSync(fresh, built, { recursive: true })
  rmSync(fresh, { recursive: true, force: true })
  return built
}

export const runLucene = (input: PeerInput): PeerFigures => {
  const built = build()
  return runPeer("Lucene", input, (files) => ({
    command: "java",
    arguments: [
      "-Xmx3g",
      "-XX:+UseSerialGC",
      "-cp",
      `${join(built, "lib", "*")}:${join(built, "target", "classes")}`,
      "dowser.LucenePeer",
      ...files
    ]
  }))
}
