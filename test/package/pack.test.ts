/**
 * The package as its users get it: packed, installed into an empty folder without a network or a cache, and run from
 * there as plain JavaScript. The example is the one in its README, with the output printed below it.
 */
import { spawnSync } from "node:child_process"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  denoRuntime,
  environmentWithoutNpm,
  nodeRuntime,
  ownNodeRuntime,
  type Runtime
} from "../support/node-binaries.ts"
import { readmeExample } from "../support/readme-example.ts"

const root = new URL("../..", import.meta.url).pathname
const sdk = join(root, "engine-sdk")
const work = mkdtempSync(join(tmpdir(), "engine-sdk-pack-"))
const project = join(work, "project")
const programs = join(root, "test", "package", "programs")

const run = (command: ReadonlyArray<string>, cwd: string): string => {
  const { status, stderr, stdout } = spawnSync(command[0], command.slice(1), {
    cwd,
    encoding: "utf8",
    env: {
      ...environmentWithoutNpm(),
      NO_COLOR: "1",
      DENO_NO_UPDATE_CHECK: "1",
      npm_config_cache: join(work, "cache"),
      npm_config_offline: "true"
    }
  })
  if (status !== 0) throw new Error(`${command.join(" ")} ended with ${status}:\n${stdout}\n${stderr}`)
  return stdout
}
interface Packed {
  readonly filename: string
  readonly files: ReadonlyArray<{ readonly path: string }>
}
let packed: Packed

beforeAll(() => {
  mkdirSync(project)
  packed = (JSON.parse(run(["npm", "pack", "--json", "--pack-destination", work], sdk)) as ReadonlyArray<Packed>)[0]
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "a-shop", private: true, type: "module" }))
  run(["npm", "install", "--no-audit", "--no-fund", join(work, packed.filename)], project)
  for (const name of readdirSync(programs)) copyFileSync(join(programs, name), join(project, name))
})
afterAll(() => rmSync(work, { recursive: true, force: true }))

describe("the packed engine-sdk", () => {
  it("contains JavaScript, declarations and the documents for its readers, and nothing else", () => {
    const paths = packed.files.map(({ path }) => path)
    expect(paths.filter((path) => !/^dist\/.*\.(js|d\.ts)$/.test(path)).sort()).toEqual([
      "ARCHITECTURE.md",
      "LICENSE",
      "README.md",
      "package.json"
    ])
    expect(paths).toContain("dist/store/writer-worker.js")
  })
  it("needs no other package", () => {
    expect(readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."))).toEqual(["@dowser"])
    expect(readdirSync(join(project, "node_modules", "@dowser"))).toEqual(["engine-sdk"])
  })
  it("exports what the sources export", () => {
    const { exports } = JSON.parse(readFileSync(join(sdk, "package.json"), "utf8")) as {
      readonly exports: Record<string, string | { readonly types: string; readonly default: string }>
    }
    const sources = (
      JSON.parse(readFileSync(join(sdk, "deno.json"), "utf8")) as { readonly exports: Record<string, string> }
    ).exports
    const { "./package.json": _own, ...entries } = exports
    const built = (source: string, ending: string) => source.replace("./src/", "./dist/").replace(/\.ts$/, ending)
    expect(entries).toEqual(
      Object.fromEntries(
        Object.entries(sources).map(([name, source]) => [
          name,
          { "dowser-source": source, types: built(source, ".d.ts"), default: built(source, ".js") }
        ])
      )
    )
    for (const source of Object.values(sources))
      for (const ending of [".js", ".d.ts"])
        expect(existsSync(join(project, "node_modules", "@dowser", "engine-sdk", built(source, ending)))).toBe(true)
  })
  it("types a program that depends on nothing else", () => {
    const flags = [
      "--noEmit",
      "--strict",
      "--target",
      "ES2022",
      "--module",
      "NodeNext",
      "--lib",
      "ES2023,DOM",
      "--types",
      "",
      "--skipLibCheck",
      "false"
    ]
    expect(run(["node", join(root, "node_modules", "typescript", "bin", "tsc"), ...flags, "types.ts"], project)).toBe(
      ""
    )
  })
})

const runtimes: ReadonlyArray<readonly [string, () => Runtime]> = [
  ["Node 22", () => nodeRuntime(22)],
  ["Node 24", () => nodeRuntime(24)],
  ["Deno", denoRuntime],
  ["this machine's Node", ownNodeRuntime]
]
describe.each(runtimes)("on %s", (name, find) => {
  let runtime: Runtime
  beforeAll(() => {
    runtime = find()
  })

  it("runs the README's example", (context) => {
    if (runtime.missing !== undefined) return context.skip(`package lane, ${name}: ${runtime.missing}`)
    const { output, program } = readmeExample()
    writeFileSync(join(project, "example.mjs"), program)
    expect(run([...runtime.command, "example.mjs"], project)).toBe(output)
  })
  it("says which package a feature needs, and works without it", (context) => {
    if (runtime.missing !== undefined) return context.skip(`package lane, ${name}: ${runtime.missing}`)
    expect(JSON.parse(run([...runtime.command, "without-options.mjs", join(work, "nothing")], project))).toEqual({
      disk: "OptionalPackageMissing: Storage on disk needs the package `lmdb`: npm install lmdb",
      stemming: "Invalid: Stemming for the locale `fr` needs the package `@orama/stemmers`.",
      unstemmed: 1,
      nearest: "y"
    })
  })
  it("keeps documents in a folder, with the writer in a thread", (context) => {
    if (runtime.missing !== undefined) return context.skip(`package lane, ${name}: ${runtime.missing}`)
    const durable = join(work, `durable-${name.replace(/\W+/g, "-")}`)
    mkdirSync(join(durable, "node_modules"), { recursive: true })
    copyFileSync(join(project, "package.json"), join(durable, "package.json"))
    copyFileSync(join(programs, "durable.mjs"), join(durable, "durable.mjs"))
    run(["npm", "install", "--no-audit", "--no-fund", "--no-save", join(work, packed.filename)], durable)
    // As if it had been installed: a link to the project's own copy, with its dependencies.
    symlinkSync(join(root, "node_modules", "lmdb"), join(durable, "node_modules", "lmdb"))
    expect(JSON.parse(run([...runtime.command, "durable.mjs", join(durable, "documents")], durable))).toEqual({
      found: 3,
      ids: ["c", "b", "a"]
    })
  })
})
