/**
 * kill -9 while segments with vectors are written, merged and removed: each document can still be found by its own
 * vector.
 */
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { openEngine } from "../src/mod.ts"
import { suitePlan } from "../src/testing/engine-suite.ts"
import { COUNT, vectorOf } from "./crash-vectors.ts"
import { linesUntilKilled } from "./killed.ts"

describe.each(["same thread", "worker"])("crash with vectors in files, writer in the %s", (worker) => {
  it("leaves every document with its vector, and no unused file", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-crash-vectors-"))
    try {
      let imports = 0
      for (let round = 0; round < 4; round++) {
        const lines = await linesUntilKilled(
          "crash-vectors-child.ts",
          path,
          worker,
          round,
          [200, 900, 2_300, 3_900][round]!
        )
        imports += lines.filter((line) => line.startsWith("import ")).length
        const engine = await openEngine({ path, worker: worker === "worker", approximateFrom: Infinity })
        const page = await engine.scan("t", { collection: "c", filter: undefined, limit: 100_000 })
        if (!page.ok) throw new Error(page.error.message)
        if (imports > 0) expect(page.value.ids.length).toBe(COUNT)
        for (const { id, n } of page.value.documents.filter((_document, i) => i % 41 === 0)) {
          const plan = suitePlan("c", {
            vector: {
              field: "embedding",
              vector: vectorOf(Number(String(id).slice(1)), Number(n)),
              k: 1,
              alpha: 0.3,
              distanceThreshold: undefined,
              flatSearchCutoff: 0,
              ef: 10,
              rerankHybridMatches: false
            },
            sort: [{ kind: "vector_distance", order: "asc" }]
          })
          const [answer] = await engine.search("t", [plan])
          if (!answer!.ok) throw new Error(answer!.error.message)
          const [hit] = answer!.value.hits!
          expect([hit!.document.id, hit!.vector_distance! < 1e-6]).toEqual([id, true])
        }
        const segments = engine.usage("t", "c")!.segments
        await engine.close()
        expect((await readdir(join(path, "vectors"))).length).toBeLessThanOrEqual(segments)
      }
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  })
})
