/**
 * The bundle size of an import: small entries stay small, and nothing imports a runtime's own modules unless it must.
 */
import { readFileSync } from "node:fs"
import { beforeAll, expect, it } from "vitest"
import { type EntrySize, measurePackage, sizeOf } from "./package.ts"

let sizes: Readonly<Record<string, EntrySize>>
beforeAll(async () => {
  sizes = await measurePackage()
})
const within = (name: string, folders: ReadonlyArray<string>) =>
  sizes[name].files.filter((file) => folders.some((folder) => file.startsWith(folder)))

it("bundles every entry", () => {
  for (const [name, { minified_bytes }] of Object.entries(sizes))
    expect([name, minified_bytes > 500]).toEqual([name, true])
})
it("needs no module of a runtime before a folder is opened", () => {
  expect(
    Object.entries(sizes)
      .filter(([, { runtime_modules }]) => runtime_modules.length > 0)
      .map(([name]) => name)
  ).toEqual([".", "./memory", "./store", "./remote"])
  expect(sizes["{ createSearch }"].later_bytes).toBeGreaterThan(0)
  expect(sizes["{ createSearch }"].files).not.toContain("store/lmdb-journal.ts")
})
it("keeps the index out of what only parses, checks or analyses", () => {
  const engine = ["index/", "search/relevance/", "store/", "memory/"]
  for (const name of ["./documents", "./schema", "./analysis", "./diversity", "./rules", "./rerank", "./pipeline"])
    expect([name, within(name, engine)]).toEqual([name, []])
  for (const [name, kB_max] of [
    ["./documents", 30],
    ["./schema", 30],
    ["./analysis", 30],
    ["./diversity", 25],
    ["./rules", 40],
    ["./rerank", 25],
    ["./pipeline", 60],
    ["./query", 120],
    ["{ createSearch }", 515]
  ] as const)
    expect([name, sizes[name].minified_bytes < kB_max * 1000]).toEqual([name, true])
})
it("drops what is not used", async () => {
  const { files, minified_bytes } = await sizeOf(`export { ok } from "./src/mod.ts"`)
  expect(files).toEqual(["errors.ts"])
  expect(minified_bytes).toBeLessThan(100)
})
it("is as large as its README says", () => {
  const readme = readFileSync(new URL("../../engine-sdk/README.md", import.meta.url), "utf8")
  const stated = new Map(
    [...readme.matchAll(/^\| `([^`]+)` \| ([\d.]+) \|/gm)].map(([, name, kB]) => [name, Number(kB)])
  )
  // A tolerance of a fifth, so that the table need not change with every commit.
  for (const [name, { gzip_bytes }] of Object.entries(sizes))
    expect([name, Math.abs(((stated.get(name) ?? 0) * 1000) / gzip_bytes - 1) < 0.2]).toEqual([name, true])
  expect([...stated.keys()].sort()).toEqual(Object.keys(sizes).sort())
})
