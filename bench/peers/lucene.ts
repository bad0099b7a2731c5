/**
 * Builds and runs the Lucene peer: Maven resolves it once into a folder of the temporary directory, one JVM does the
 * work on one thread.
 */
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Texts } from "../inputs/texts.ts"

interface PeerFigures {
  readonly import_docs_per_s: number
  readonly index_bytes_per_doc: number
  readonly qps: number
  readonly p50_ms: number
  readonly p95_ms: number
  readonly p99_ms: number
  readonly queries: ReadonlyArray<{
    readonly ms: number
    readonly found: number
    readonly ids: ReadonlyArray<string>
    readonly facets: Readonly<Record<string, ReadonlyArray<readonly [string, number]>>>
  }>
}

/** Why the lane cannot run here, or undefined. */
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

export const runLucene = (input: {
  readonly documents: Texts
  readonly schema: unknown
  readonly queries: ReadonlyArray<unknown>
  readonly warm: ReadonlyArray<unknown>
}): PeerFigures => {
  const built = build()
  const work = mkdtempSync(join(tmpdir(), "dowser-lucene-run-"))
  try {
    const file = (name: string, text: string | Uint8Array) => {
      writeFileSync(join(work, name), text)
      return join(work, name)
    }
    mkdirSync(join(work, "index"))
    const run = spawnSync(
      "java",
      [
        "-Xmx3g",
        "-XX:+UseSerialGC",
        "-cp",
        `${join(built, "lib", "*")}:${join(built, "target", "classes")}`,
        "dowser.LucenePeer",
        file("docs.jsonl", input.documents.bytes()),
        file("schema.json", JSON.stringify(input.schema)),
        file("queries.jsonl", input.queries.map((each) => JSON.stringify(each)).join("\n")),
        file("warm.jsonl", input.warm.map((each) => JSON.stringify(each)).join("\n")),
        join(work, "out.json"),
        join(work, "index")
      ],
      { encoding: "utf8", maxBuffer: 1 << 26 }
    )
    if (run.status !== 0) throw new Error(`The Lucene peer failed: ${run.stderr.slice(-800)}`)
    return JSON.parse(readFileSync(join(work, "out.json"), "utf8")) as PeerFigures
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
