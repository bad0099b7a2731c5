/** How much an import merges: less while it runs, and least where nobody searches. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import type { SegmentView } from "../src/index/reader.ts"
import { createEngine, openEngine } from "../src/mod.ts"
import { mergeableOf } from "../src/store/merge-policy.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"

const CHUNK_DOCS = 4_096
const viewsOf = (count: number, docs = CHUNK_DOCS): ReadonlyArray<SegmentView> =>
  Array.from({ length: count }, () => ({ segment: { docs }, deleted: undefined, deletedCount: 0 }) as SegmentView)

describe("which segments are merged", () => {
  it("is three of a size without an import, eight during one, thirty-two if nobody searches", () => {
    for (const [importing, fanOut] of [
      ["no", 3],
      ["searched", 8],
      ["unsearched", 32]
    ] as const) {
      expect(mergeableOf(viewsOf(fanOut - 1), importing), importing).toBeUndefined()
      expect(mergeableOf(viewsOf(fanOut), importing)?.length, importing).toBe(fanOut)
    }
  })
  it("is not more than sixteen at a time, or thirty-two, if they are too many", () => {
    expect(mergeableOf(viewsOf(40), "searched")?.length).toBe(16)
    expect(mergeableOf(viewsOf(40), "unsearched")?.length).toBe(32)
  })
})

const WRITES = 24
const schema = suiteSchema("c", [suiteField("name", "string")])
describe.each(["memory", "one thread"])("an import, %s", (kind) => {
  it("keeps the segments of one organization few while it is searched, and leaves those of another", async () => {
    const path = kind === "memory" ? undefined : await mkdtemp(join(tmpdir(), "engine-merging-"))
    const engine = path === undefined ? createEngine() : await openEngine({ path })
    try {
      for (const namespace of ["searched", "unsearched"]) await engine.createCollection(namespace, schema, 1)
      const segments = (namespace: string) => engine.usage(namespace, "c")!.segments
      const write = (namespace: string, nth: number) =>
        engine.write(
          namespace,
          "c",
          Array.from({ length: CHUNK_DOCS }, (_document, i) => putOf({ id: `${nth}-${i}`, name: `name ${i}` }))
        )
      let changes = 0
      for (let nth = 0; nth < WRITES; nth++) {
        await engine.search("searched", [suitePlan("c")])
        await write("searched", nth)
        // Written to all the time, so that it does not become one segment because nobody writes; in less time than an
        // import counts as running after its last chunk.
        const writing = async () => {
          await engine.write("searched", "c", [putOf({ id: "one", name: `one ${changes++}` })])
          return segments("searched")
        }
        await expect.poll(writing, { timeout: 1_300, interval: 5 }).toBeLessThan(17)
      }
      for (let nth = 0; nth < WRITES; nth++) await write("unsearched", nth)
      expect(segments("unsearched")).toBeGreaterThanOrEqual(WRITES)
      await expect.poll(() => segments("unsearched"), { timeout: 30_000 }).toBe(1)
    } finally {
      await engine.close()
      if (path !== undefined) await rm(path, { recursive: true, force: true })
    }
  }, 60_000)
})
