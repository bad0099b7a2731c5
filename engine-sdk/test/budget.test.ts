/**
 * Collections open on first use, the least recently used ones are closed to stay within a memory budget, and nothing is
 * lost.
 */
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { openEngine } from "../src/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"

describe.each([false, true])("memory budget, worker %s", (worker) => {
  it("keeps answering from closed collections", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-budget-"))
    const engine = await openEngine({ path, worker, memoryBudgetBytes: 60_000 })
    try {
      const names = ["a", "b", "c", "d"]
      for (const name of names) {
        await engine.createCollection(
          "t",
          suiteSchema(name, [suiteField("name", "string"), suiteField("n", "int32")]),
          1
        )
        await engine.write(
          "t",
          name,
          Array.from({ length: 400 }, (_doc, i) => putOf({ id: String(i), name: `${name} word${i}`, n: i }))
        )
      }
      expect(names.filter((name) => engine.usage("t", name)!.open).length < names.length).toBe(true)
      for (let round = 0; round < 3; round++)
        for (const name of names) {
          const [answer] = await engine.search("t", [
            suitePlan(name, {
              text: suiteText([`word${round}`], ["name"], {
                fields: [{ field: "name", weight: 15, numTypos: 0, prefix: false, infix: "off" }]
              })
            })
          ])
          expect(answer.ok ? answer.value.found : answer.error).toBe(1)
          // A write reaches a collection whether or not it is open.
          const written = await engine.write("t", names[(names.indexOf(name) + 2) % 4], [
            putOf({ id: `x${round}`, name: "late", n: round })
          ])
          expect(written.ok && written.value.every(({ result }) => result.ok)).toBe(true)
        }
      for (const name of names) {
        const [answer] = await engine.search("t", [suitePlan(name, { limit: 0 })])
        expect(answer.ok ? answer.value.found : answer.error).toBe(403)
        expect(engine.describeCollection("t", name)?.num_documents).toBe(403)
      }
    } finally {
      await engine.close()
    }
    const again = await openEngine({ path, worker })
    const [answer] = await again.search("t", [
      suitePlan("c", {
        filter: {
          kind: "string",
          field: "name",
          values: [{ tokens: ["late"], match: "contains", prefix: false }],
          prefixCandidates: 4
        }
      })
    ])
    expect(answer.ok ? answer.value.found : answer.error).toBe(3)
    await again.close()
    // While the engine is open, a snapshot may be in progress; once it is closed, none may be left half written.
    expect((await readdir(join(path, "segments"))).some((name) => name.endsWith(".new"))).toBe(false)
    await rm(path, { recursive: true, force: true })
  })
})
