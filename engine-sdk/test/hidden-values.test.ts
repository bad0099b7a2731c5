/**
 * Values of `store: false` fields follow every kind of write, and those left behind by a drop or a crash never reappear
 * elsewhere.
 */
import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import type { SearchEngine } from "../src/engine.ts"
import { openEngine } from "../src/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"

const schema = suiteSchema("c", [suiteField("name", "string"), suiteField("secret", "string", { store: false })])
const found = async (engine: SearchEngine, field: string, token: string): Promise<unknown> => {
  const [answer] = await engine.search("t", [
    suitePlan("c", {
      filter: {
        kind: "string",
        field,
        values: [{ tokens: [token], match: "equals", prefix: false }],
        prefixCandidates: 4
      }
    })
  ])
  return answer.ok ? answer.value.hits?.map(({ document }) => document) : answer.error
}

describe.each([false, true])("values that are not stored, worker %s", (worker) => {
  it("are replaced, kept by a partial update, removed by a replacement, and the same after a restart", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-hidden-"))
    try {
      let engine = await openEngine({ path, worker })
      await engine.createCollection("t", schema, 1)
      await engine.write("t", "c", [
        putOf({ id: "1", name: "a", secret: "old" }),
        putOf({ id: "2", name: "b", secret: "kept" }),
        putOf({ id: "3", name: "c", secret: "lost" })
      ])
      await engine.write("t", "c", [
        putOf({ id: "1", name: "a", secret: "new" }),
        putOf({ id: "2", name: "bb" }, "update"),
        putOf({ id: "3", name: "c" })
      ])
      const check = async (): Promise<void> => {
        expect(await found(engine, "secret", "old")).toEqual([])
        expect(await found(engine, "secret", "new")).toEqual([{ id: "1", name: "a" }])
        expect(await found(engine, "secret", "kept")).toEqual([{ id: "2", name: "bb" }])
        expect(await found(engine, "secret", "lost")).toEqual([])
      }
      await check()
      // Without a snapshot, everything is indexed again from the stored values.
      const copy = `${path}-copy`
      await cp(path, copy, { recursive: true })
      await engine.close()
      await rm(path, { recursive: true, force: true })
      await cp(copy, path, { recursive: true })
      await rm(copy, { recursive: true, force: true })
      engine = await openEngine({ path, worker })
      await check()
      await engine.close()
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  })

  it("a rebuilt index contains what is stored now, and brings nothing back", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-rewrite-"))
    try {
      const engine = await openEngine({ path, worker })
      await engine.createCollection("t", schema, 1)
      await engine.write("t", "c", [putOf({ id: "1", name: "a", secret: "s" }), putOf({ id: "2", name: "b" })])
      await engine.write("t", "c", [putOf({ id: "1", name: "later" }, "update"), { kind: "delete", id: "2" }])
      const written = await engine.write("t", "c", [
        { ...putOf({ id: "1", name: "a" }), rewrite: true },
        { ...putOf({ id: "2", name: "b" }), rewrite: true }
      ] as never)
      expect(
        written.ok && written.value.map(({ result }) => (result.ok ? result.value.changed : result.error.kind))
      ).toEqual([true, "NotFound"])
      expect(await found(engine, "secret", "s")).toEqual([{ id: "1", name: "later" }])
      expect(await found(engine, "name", "b")).toEqual([])
      await engine.close()
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  })
})

describe("leftovers", () => {
  it("of a drop that a crash interrupted are removed at the next start", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-sweep-"))
    try {
      const first = await openEngine({ path })
      await first.createCollection("other", suiteSchema("c", [suiteField("name", "string")]), 1)
      await first.write("other", "c", [putOf({ id: "1", name: "theirs" })])
      await first.close()
      // The state after a crash between the record and the documents.
      const { LmdbJournal } = await import("../src/store/lmdb-journal.ts")
      const journal = await LmdbJournal.open(path)
      await (
        journal as unknown as { databases: { records: { remove(key: Uint8Array): Promise<unknown> } } }
      ).databases.records.remove(Buffer.from([0x63, 0, 0, 0, 1]))
      await journal.close()
      const second = await openEngine({ path })
      expect((await readdir(join(path, "segments"))).filter((name) => name.startsWith("1-"))).toEqual([])
      await second.createCollection("t", schema, 1)
      await second.close()
      const third = await openEngine({ path })
      expect(await found(third, "name", "theirs")).toEqual([])
      expect(third.describeCollection("t", "c")?.num_documents).toBe(0)
      await third.close()
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  })
  it("a segment file left by a crash is overwritten, not taken for a new segment of that number", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-stale-"))
    try {
      const first = await openEngine({ path })
      await first.createCollection("t", schema, 1)
      await writeFile(join(path, "segments", "1-1.seg"), "not this")
      await first.write("t", "c", [putOf({ id: "1", name: "right" })])
      await first.close()
      const { LmdbJournal } = await import("../src/store/lmdb-journal.ts")
      const journal = await LmdbJournal.open(path)
      const { allocatePlain } = await import("../src/index/sections.ts")
      expect((await journal.loadIndex(1, allocatePlain))?.segments.length).toBe(1)
      await journal.close()
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  })
})
