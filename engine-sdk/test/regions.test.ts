/** Memory for segments is lent: whatever happens to a segment, its memory is returned exactly once. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { allocatePlain, type Region } from "../src/index/sections.ts"
import { LmdbJournal } from "../src/store/lmdb-journal.ts"
import { Writer } from "../src/store/writer.ts"
import { putOf, suiteField, suiteSchema } from "../src/testing/engine-suite.ts"
import { randomOf } from "./random.ts"

const schema = suiteSchema("goods", [suiteField("name", "string", { facet: true })])
const put = (id: string, i: number) => putOf({ id, name: `name ${i}` })

describe("memory of segments", () => {
  it("equals the need of the published segments, through single writes, merges, deletions and a drop", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-regions-"))
    const lent = new Set<Region>()
    const live = new Map<number, Region>()
    try {
      const writer = new Writer(
        await LmdbJournal.open(path),
        (event) => {
          if (event.kind === "published") {
            for (const { id, region } of event.publication.added) live.set(id, region)
            for (const id of event.publication.removed) live.delete(id)
          } else if (event.kind === "dropped" || event.kind === "closed") live.clear()
        },
        {
          allocate: (bytes) => {
            const region = allocatePlain(bytes)
            lent.add(region)
            return region
          },
          release: (region) => {
            expect(lent.delete(region), "given back once").toBe(true)
          }
        }
      )
      writer.start()
      await writer.create("t", schema, 1)
      const settled = async (): Promise<void> => {
        for (let before = -1; before !== lent.size;) {
          before = lent.size
          for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve))
        }
      }
      const rest = () => expect(lent.size).toBe(live.size)
      for (let i = 0; i < 400; i++) await writer.write("t", "goods", [put("1", i)], false)
      await settled()
      rest()
      const { next } = randomOf(5)
      for (let i = 0; i < 400; i++) {
        const id = String(Math.floor(next() * 20))
        await writer.write("t", "goods", [next() < 0.3 ? { kind: "delete", id } : put(id, i)], false)
      }
      await settled()
      rest()
      await writer.write(
        "t",
        "goods",
        Array.from({ length: 3_000 }, (_, i) => put(`m${i}`, i)),
        false
      )
      await settled()
      rest()
      await writer.drop("t", "goods")
      await settled()
      expect(lent.size).toBe(0)
      await writer.close()
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  })
})
